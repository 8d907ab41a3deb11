"""What is tried after a backend refused a request for its reasoning."""

from __future__ import annotations

import time

import pytest

from clew.dialects.openai_chat.options import ChatRequestOptions
from tests.dialects.openai_chat.encoding import repaired


def _all_tried(options: ChatRequestOptions, words: str) -> list[str]:
    tried: list[str] = []
    while (found := repaired(options, 400, words, tried)) is not None:
        tried.append(found.name)
        options = found.options
    return tried


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("The reasoning_content in the thinking mode must be passed back to the API.", ["fill", "off"]),
        ("Missing reasoning_content field in the assistant message at message index 1", ["fill", "off"]),
        ("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2", ["fill", "off"]),
        ("The `reasoning_content` field is not allowed in the input messages (messages[1]).", ["none"]),
        ("'messages.2' : property 'reasoning_content' is unsupported", ["none"]),
        ("Unknown parameter: 'messages[1].reasoning_content'.", ["none"]),
        ("Function call is missing a thought_signature in functionCall parts.", ["signatures", "off"]),
        ("Corrupted thought signature.", ["entries", "off"]),
        ("Unable to submit request because thought_signature is invalid.", ["entries", "off"]),
        ("The signature in the reasoningContent block is invalid", ["entries", "off"]),
        ("encrypted content missing recognized prefix", ["entries", "off"]),
        ("messages.1.content.0: Invalid `signature` in `thinking` block", ["entries", "off"]),
        ("The encrypted content gAAA could not be verified. Reason: it could not be decrypted", ["entries", "off"]),
        ("Thinking mode does not support this tool_choice", ["free tools", "off"]),
        ("Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model.", ["levels", "effort"]),
        ("{'message': \"Invalid value: 'max'\",\n 'param': 'reasoning_effort'}", ["levels", "effort"]),
        ("Unsupported parameter: 'reasoning_effort' is not supported with this model.", ["effort"]),
        ("thinking_token_budget is set but reasoning_config is not configured.", ["budget", "effort"]),
        ("The thinking_budget parameter must be a positive integer and not greater than 38912", ["budget", "effort"]),
        ('"llama3.1:8b" does not support thinking', ["effort"]),
        ('think value "medium" is not supported for this model', ["effort"]),
        ("Unexpected role 'user' after role 'tool'", ["roles"]),
        ("After the optional system message, conversation roles must alternate user and assistant roles", ["roles"]),
        ("The request signature we calculated does not match the signature you provided.", []),
        ("prompt is too long", []),
    ],
)
def test_each_refusal_has_its_own_repairs_and_none_is_tried_twice(words: str, names: list[str]) -> None:
    """dialects 3, step 5 and its table."""
    assert _all_tried(ChatRequestOptions(knob="deepseek"), words) == names


@pytest.mark.parametrize("status", [401, 403, 404, 413, 429, 500, 502, 529])
def test_only_a_refusal_is_about_reasoning(status: int) -> None:
    """A signature that is refused with a 403 is a credential's; a server that fails may quote anything."""
    assert repaired(ChatRequestOptions(), status, "Corrupted thought signature.") is None


@pytest.mark.parametrize(
    ("status", "words", "name"),
    [
        (
            422,
            '{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","messages",2,"assistant",'
            '"reasoning_content"],"msg":"Extra inputs are not permitted","input":"I think"}]}}',
            "none",
        ),
        (422, "reasoning_content is missing in assistant tool call message at index 1", "fill"),
        (
            500,
            '{"error":{"message":"litellm.BadRequestError: DeepseekException - The reasoning_content in the thinking mode must be '
            'passed back to the API.","type":null,"param":null,"code":"500"}}',
            "fill",
        ),
        (
            502,
            '{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\\"type\\":\\"error\\",\\"error\\":'
            '{\\"type\\":\\"invalid_request_error\\",\\"message\\":\\"messages.1.content.0: Invalid `signature` in `thinking` block'
            '\\"}}","provider_name":"Anthropic"}}}',
            "entries",
        ),
        (503, '{"error":{"code":503,"message":"upstream: {\\"code\\": 400, Corrupted thought signature."}}', "entries"),
    ],
)
def test_a_refusal_is_one_in_a_validators_status_and_inside_a_proxys_failure(status: int, words: str, name: str) -> None:
    """dialects 2.26, 2.3: LiteLLM and OpenRouter repeat the vendor's words under a status of their own."""
    found = repaired(ChatRequestOptions(), status, words)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "qwen3-32b is not a multimodal model"),
        (400, "Invalid content type. image_url is only supported by certain models."),
        (404, "No endpoints found that support image input"),
        (422, "messages[1]: unknown variant `image_url`, expected `text`"),
        (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    ],
)
def test_a_backend_that_cannot_see_is_asked_without_images_once(status: int, words: str) -> None:
    """dialects 7, case 66: a conversation that holds an image goes on at a model that reads only text."""
    found = repaired(ChatRequestOptions(), status, words)
    assert found is not None
    assert (found.options, found.name) == (ChatRequestOptions(images="omit"), "images")
    assert repaired(found.options, status, words, ("images",)) is None


def test_a_failure_that_is_not_about_images_is_no_repair() -> None:
    assert [repaired(ChatRequestOptions(), status, "reasoning_content is missing") for status in (404, 413, 500)] == [
        None
    ] * 3


def test_a_repair_says_what_it_changes() -> None:
    found = repaired(ChatRequestOptions(missing="empty"), 400, "reasoning_content is missing")
    assert found is not None
    assert (found.options.missing, found.options.missing_on) == ("space", "all")
    assert found.why == "the backend missed reasoning: asked again with a placeholder in every answer"


def test_words_of_the_request_that_an_error_quotes_are_not_its_own() -> None:
    """FastAPI's servers send the whole input back; it is large, and it speaks of all that a refusal could be about."""
    quoted = "reasoning_content tool_choice thinking blocks " * 20_000
    began = time.thread_time()

    assert repaired(ChatRequestOptions(), 400, f"Corrupted thought signature. {quoted}") == repaired(
        ChatRequestOptions(), 400, "Corrupted thought signature."
    )
    assert repaired(ChatRequestOptions(knob="deepseek"), 400, f"messages: Field required {'x' * 4000} {quoted}") is None
    assert time.thread_time() - began < 10
