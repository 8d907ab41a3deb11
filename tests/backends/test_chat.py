"""What a backend in Chat Completions wants, and how it answers, by model."""

from typing import Any

import pytest

from clew.backends.presets import presets
from clew.backends.row import Backend, Manner, Quirks, chat_options_of, target_of
from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatRequestOptions
from clew.exchange.backend_dialect import backend_dialect
from clew.model.facts.chat_backends import validators


def backend(**fields: Any) -> Backend:
    return Backend(**{"name": "x", "url": "http://127.0.0.1:1/v1", "realm": "x", "dialect": "openai-chat"} | fields)


def of_preset(name: str) -> Backend:
    row = presets()[name].speaking("openai-chat")
    assert row is not None
    return backend(quirks=row.quirks, wire=row.wire, speech=row.speech, by_model=row.by_model)


def test_a_backend_that_nobody_knows_reads_every_field_and_is_asked_for_nothing() -> None:
    """Leading tags count; reasoning goes back under the name that it came in; nothing stands in for what is missing."""
    unknown = backend()
    assert (
        chat_options_of(unknown, "m").request,
        chat_options_of(unknown, "m").answer,
        backend_dialect(unknown, "m").own_path,
    ) == (
        ChatRequestOptions(),
        ChatAnswerOptions(),
        "",
    )
    assert (
        ChatRequestOptions().knob,
        ChatRequestOptions().missing,
        ChatAnswerOptions().tags,
        unknown.quirks.unique_tool_ids,
    ) == ("", "nothing", "leading", False)


def test_the_first_pattern_that_fits_counts_however_the_name_is_spelt() -> None:
    rules = {"zai/*": Manner(wire=ChatRequestOptions(knob="glm")), "*": Manner(speech=ChatAnswerOptions(tags="never"))}
    row = backend(wire=ChatRequestOptions(knob="qwen"), by_model=rules)
    assert [chat_options_of(row, model).request.knob for model in ("ZAI/GLM-5", "other")] == ["glm", ""]
    assert [chat_options_of(row, model).answer.tags for model in ("zai/glm", "other")] == ["leading", "never"]
    assert chat_options_of(backend(wire=ChatRequestOptions(knob="qwen")), "any").request.knob == "qwen"


def test_what_stands_in_for_missing_reasoning_is_said_by_the_quirk_alone() -> None:
    row = backend(quirks=Quirks(missing="space"), by_model={"b*": Manner(quirks=Quirks(missing="empty"))})
    assert [chat_options_of(row, model).request.missing for model in ("a", "b")] == ["space", "empty"]
    assert [target_of(row, model).missing for model in ("a", "b")] == ["space", "empty"]


def test_a_path_of_the_rows_own_is_appended_instead() -> None:
    row = backend(path="/chat/completions?api-version=1")
    assert backend_dialect(row, "m").own_path == "/chat/completions?api-version=1"


@pytest.mark.parametrize(
    ("preset", "model", "said"),
    [
        ("openrouter", "deepseek/deepseek-v4", ("reasoning", True, "empty", "openrouter")),
        ("openrouter", "deepseek/deepseek-r1-0528", ("reasoning", True, "nothing", "openrouter")),
        ("openrouter", "anthropic/claude-opus-5.5", ("reasoning", False, "nothing", "openrouter")),
        ("openrouter", "openai/gpt-oss-120b", ("reasoning", True, "nothing", "openrouter")),
        ("openrouter", "openai/gpt-5.6", ("reasoning", False, "nothing", "openrouter")),
        ("deepseek", "deepseek-v4-pro", ("reasoning_content", True, "empty", "deepseek")),
        ("deepseek-r1", "deepseek-reasoner", ("", True, "nothing", "always_on")),
        ("kimi", "kimi-k3", ("reasoning_content", True, "space", "kimi_k3")),
        ("kimi", "kimi-k2.6", ("reasoning_content", True, "space", "thinking_type")),
        ("kimi", "kimi-k2-turbo", ("reasoning_content", True, "nothing", "")),
        ("zai", "glm-5.3", ("reasoning_content", True, "nothing", "glm")),
        ("zai", "glm-4.6", ("reasoning_content", True, "nothing", "thinking_type")),
        ("minimax", "MiniMax-M2.5", ("reasoning_details", False, "nothing", "always_on")),
        ("minimax", "MiniMax-M3", ("reasoning_details", False, "nothing", "minimax_m3")),
        ("qwen", "qwen3-235b-a22b-thinking-2507", ("reasoning_content", True, "nothing", "always_on")),
        ("groq", "openai/gpt-oss-20b", ("reasoning", True, "nothing", "gpt_oss")),
        ("groq", "qwen/qwen3-32b", ("reasoning", True, "nothing", "groq_qwen")),
        ("groq", "llama-3.3-70b", ("reasoning", True, "nothing", "")),
        ("openrouter", "moonshotai/kimi-k3", ("reasoning", True, "space", "openrouter")),
        ("together", "zai-org/GLM-5.3", ("reasoning_content", True, "nothing", "together")),
        ("fireworks", "accounts/fireworks/models/gpt-oss-20b", ("reasoning_content", True, "nothing", "gpt_oss")),
        ("gemini", "gemini-2.5-flash", ("extra_content", False, "nothing", "gemini")),
        ("gemini", "gemini-3.8-flash", ("extra_content", False, "nothing", "gemini_3")),
        ("xai", "grok-4.3", ("", True, "nothing", "reasoning_effort")),
        ("xai", "grok-4", ("", True, "nothing", "")),
        ("openai", "gpt-4.1", ("", True, "nothing", "")),
        ("vllm", "any", ("reasoning", True, "nothing", "vllm")),
        ("llamacpp", "any", ("reasoning_content", True, "nothing", "llamacpp")),
    ],
)
def test_each_models_reasoning_goes_back_as_its_maker_wants(preset: str, model: str, said: tuple[object, ...]) -> None:
    """Dialects §2 and §4: field, plain text or not, what stands in for missing reasoning, knob."""
    wire = chat_options_of(of_preset(preset), model).request
    assert (wire.reasoning, wire.reasoning_text, wire.missing, wire.knob) == said


def test_reasoning_that_comes_in_a_field_may_have_to_go_back_between_tags() -> None:
    """Cerebras: GLM wants it so, gpt-oss in the field."""
    cerebras = of_preset("cerebras")
    assert [chat_options_of(cerebras, model).request.between for model in ("zai-glm-4.7", "gpt-oss-120b")] == [
        ("<think>", "</think>"),
        (),
    ]


def test_what_is_always_sent_is_the_models_own() -> None:
    """Groq takes include_reasoning or reasoning_format, by model, and refuses the other."""
    groq = of_preset("groq")
    always = [
        chat_options_of(groq, model).request.always for model in ("openai/gpt-oss-20b", "qwen/qwen3-32b", "llama-3.3-70b")
    ]
    assert always == [{"include_reasoning": True}, {"reasoning_format": "parsed"}, {}]


def test_the_reasoning_of_earlier_turns_is_asked_to_be_read_where_a_model_can() -> None:
    """docs.qwencloud.com names the models; all of that reasoning goes back, so it may as well be read."""
    qwen = of_preset("qwen")
    models = ("qwen3.7-max", "qwen3.6-plus-2026-04-02", "qwen3.8-flash", "qwen3.6-flash", "qwen3-235b-a22b-thinking-2507")
    assert [chat_options_of(qwen, model).request.always for model in models] == [{"preserve_thinking": True}] * 3 + [{}] * 2


@pytest.mark.parametrize(
    ("name", "model", "check"),
    [
        ("gemini", "gemini-2.5-pro", "gemini"),
        ("kimi", "kimi-k2.6", "kimi"),
        ("mistral", "magistral-medium", "mistral"),
        ("llamacpp", "any", "llamacpp"),
        ("openai", "gpt-5", "openai"),
        ("azure", "deployment", "openai"),
        ("deepseek", "deepseek-v4", ""),
    ],
)
def test_schemas_are_fitted_where_a_backends_check_is_known_to_be_narrow(name: str, model: str, check: str) -> None:
    assert chat_options_of(of_preset(name), model).request.validator == check


@pytest.mark.parametrize("name", [name for name, row in presets().items() if row.speaking("openai-chat")])
def test_a_row_names_only_checks_that_there_are(name: str) -> None:
    row = of_preset(name)
    wires = [row.wire, *(manner.wire for manner in row.by_model.values())]
    assert {wire.validator for wire in wires} <= {"", *validators()}
