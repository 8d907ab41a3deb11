"""Twenty-odd mistakes that people make with the API, made with the official SDK over a real socket.

Each raises the SDK's own error class with the vendor's words, in a plain answer and in a streamed one: a refusal comes before
the stream, as plain JSON.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anthropic
import pytest

from clew.simulator.server import stance
from clew.testing import Simulator
from tests.manifest import refuses
from tests.simulator.judging import CACHED, assistant, call, result, text, user

OPUS, MANUAL_MODEL = "claude-opus-5-5", "claude-opus-4-5"
MANUAL = {"type": "enabled", "budget_tokens": 2048}
TOOL = {
    "name": "look",
    "description": "Looks.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
}
NEVER_MADE = "EuYBCkQIARgCIkCv"


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator(stance=stance()) as running:
        yield running


@pytest.fixture(scope="module")
def client(simulator: Simulator) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=simulator.url, api_key=simulator.key, max_retries=0) as sdk:
        yield sdk


def looped(client: anthropic.Anthropic, model: str = MANUAL_MODEL) -> dict[str, Any]:
    """A tool loop after its first call: the model thought and called, the tool answered."""
    settings = {"model": model, "max_tokens": 4096, "tools": [TOOL]}
    settings |= {"thinking": MANUAL} if model == MANUAL_MODEL else {}
    asked = user("Look around.")
    answer = client.messages.create(messages=[asked], **settings).model_dump(exclude_none=True)["content"]
    assert [block["type"] for block in answer if block["type"] != "text"] == ["thinking", "tool_use"]
    results = [result(block["id"]) for block in answer if block["type"] == "tool_use"]
    return {**settings, "messages": [asked, {"role": "assistant", "content": answer}, user(*results)]}


def plain(**changes: Any) -> dict[str, Any]:
    return {"model": OPUS, "max_tokens": 1024, "messages": [user("Hi.")], **changes}


def first_thought(request: dict[str, Any]) -> dict[str, Any]:
    return next(block for block in request["messages"][1]["content"] if block["type"] == "thinking")


Make = Callable[[anthropic.Anthropic], dict[str, Any]]


def _thought(**changes: Any) -> Make:
    def make(client: anthropic.Anthropic) -> dict[str, Any]:
        request = looped(client)
        first_thought(request).update(changes)
        return request

    return make


def _thinking_left_out(client: anthropic.Anthropic) -> dict[str, Any]:
    request = looped(client)
    content = request["messages"][1]["content"]
    request["messages"][1]["content"] = [block for block in content if block["type"] == "tool_use"]
    return request


def _history_edited(client: anthropic.Anthropic) -> dict[str, Any]:
    request = looped(client, OPUS)
    request["messages"][0] = user("Look around!")
    return request


def _result_left_out(client: anthropic.Anthropic) -> dict[str, Any]:
    request = looped(client)
    request["messages"][2] = user("Never mind.")
    return request


def _fixed(**changes: Any) -> Make:
    return lambda client: plain(**changes)


@dataclass(frozen=True)
class Mistake:
    """What is sent, and what the SDK must raise: the class, and words that the message holds."""

    name: str
    rule: str
    make: Make
    words: str
    error: type[anthropic.APIStatusError] = anthropic.BadRequestError
    headers: tuple[tuple[str, str], ...] = ()


BUDGET = {"model": MANUAL_MODEL, "max_tokens": 2048}
MISTAKES = [
    Mistake(
        "a model that does not exist",
        "R5.model-unknown",
        _fixed(model="claude-opus-9"),
        "model: claude-opus-9",
        anthropic.NotFoundError,
    ),
    Mistake(
        "a sampling parameter under the new version",
        "R2.temperature",
        _fixed(extra_body={"temperature": 1}),
        "temperature: Extra inputs are not permitted",
    ),
    Mistake(
        "an invented field",
        "R4.field-unknown",
        _fixed(extra_body={"max_output_tokens": 5}),
        "max_output_tokens: Extra inputs are not permitted",
    ),
    Mistake(
        "an unknown beta",
        "R3.beta-unknown",
        _fixed(),
        "Unexpected value(s) `invalid-beta-name` for the `anthropic-beta` header.",
        headers=(("anthropic-beta", "invalid-beta-name"),),
    ),
    Mistake(
        "a beta field without its header",
        "R51.gated",
        _fixed(extra_body={"context_management": {"edits": []}}),
        "context_management: Extra inputs are not permitted",
    ),
    Mistake(
        "a budget below the minimum",
        "R11.budget-minimum",
        _fixed(**BUDGET, thinking={"type": "enabled", "budget_tokens": 1000}),
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    Mistake(
        "a budget that leaves no room",
        "R11.budget-not-below-max",
        _fixed(**BUDGET, thinking=MANUAL),
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
    ),
    Mistake(
        "manual thinking on a new model",
        "R10.enabled-unsupported",
        _fixed(max_tokens=4096, thinking=MANUAL),
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"',
    ),
    Mistake(
        "adaptive thinking on an old model",
        "R10.adaptive-unsupported",
        _fixed(model=MANUAL_MODEL, thinking={"type": "adaptive"}),
        "adaptive thinking is not supported on this model",
    ),
    Mistake(
        "thinking off where it is always on",
        "R10.disabled-unsupported",
        _fixed(thinking={"type": "disabled"}),
        '"thinking.type.disabled" is not supported for this model.',
    ),
    Mistake(
        "an effort that the model lacks",
        "R12.effort-level",
        _fixed(model=MANUAL_MODEL, output_config={"effort": "max"}),
        "This model does not support effort level 'max'. Supported levels: high, low, medium.",
    ),
    Mistake(
        "a forced tool with thinking",
        "R49.forced-tool-with-manual-thinking",
        lambda client: {**looped(client), "tool_choice": {"type": "any"}},
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    Mistake(
        "prefill on a new model",
        "R20.prefill",
        _fixed(messages=[user("Hi."), assistant("{")]),
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    Mistake(
        "an empty text",
        "R22.empty-text",
        _fixed(messages=[user("Hi.", "")]),
        "messages: text content blocks must be non-empty",
    ),
    Mistake(
        "an empty question",
        "R22.user-empty",
        _fixed(messages=[user("")]),
        "messages.0: user messages must have non-empty content",
    ),
    Mistake(
        "a call without its result",
        "R26.unanswered",
        _result_left_out,
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_",
    ),
    Mistake(
        "a result without its call",
        "R27.unexpected-result",
        _fixed(messages=[user("Hi."), assistant("Hello."), user(result("toolu_lost"))], tools=[TOOL]),
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_lost.",
    ),
    Mistake(
        "an id used twice",
        "R25.ids-not-unique",
        _fixed(messages=[user("Hi."), assistant(call(), call()), user(result())], tools=[TOOL]),
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    Mistake(
        "five cache marks",
        "R58.too-many-marks",
        _fixed(messages=[user(*(text(f"Part {n}.", cache_control=CACHED) for n in range(5)))]),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    Mistake(
        "a cache mark on thinking",
        "R33.cache-control",
        _thought(cache_control=CACHED),
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
    Mistake(
        "unsigned thinking",
        "R33.empty-signature",
        _thought(signature=""),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    Mistake(
        "another vendor's thinking",
        "R33.invalid-signature",
        _thought(signature=NEVER_MADE),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    Mistake(
        "edited thinking",
        "R34.text-edited",
        _thought(thinking="I thought something else."),
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
    ),
    Mistake(
        "thinking left out of a tool loop",
        "R35.tool-loop",
        _thinking_left_out,
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    ),
    Mistake(
        "an edited history",
        "R44.conversation",
        _history_edited,
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
    ),
]
PARAMETERS = [pytest.param(mistake, id=mistake.name, marks=[refuses(f"rule:{mistake.rule}")]) for mistake in MISTAKES]


def told(caught: anthropic.APIStatusError) -> tuple[str, str, bool]:
    """The message, the simulator's tag, and whether body and header name the same request."""
    body: Any = caught.body
    same = body["request_id"] == caught.request_id == caught.response.headers["request-id"]
    return body["error"]["message"], caught.response.headers["x-sim-rule"], same


@pytest.mark.slow
@pytest.mark.parametrize("mistake", PARAMETERS)
def test_a_classic_mistake_raises_the_sdks_error_with_the_vendors_text(
    client: anthropic.Anthropic, mistake: Mistake
) -> None:
    """R62: envelope, request id, and the rule that was broken."""
    request = {**mistake.make(client), "extra_headers": dict(mistake.headers)}
    with pytest.raises(mistake.error) as plainly:
        client.messages.create(**request)
    with pytest.raises(mistake.error) as streamed, client.messages.stream(**request) as stream:
        stream.until_done()
    for caught in (plainly, streamed):
        message, rule, same = told(caught.value)
        assert message.startswith(mistake.words)
        assert (rule, same) == (mistake.rule, True)


@pytest.mark.slow
@refuses("rule:R1.credential-invalid")
def test_a_wrong_key_raises_the_authentication_error(simulator: Simulator) -> None:
    """R1: before anything else is looked at."""
    with (
        anthropic.Anthropic(base_url=simulator.url, api_key="sim-invalid", max_retries=0) as stranger,
        pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"),
    ):
        stranger.messages.create(**plain(model="claude-opus-9"))


@pytest.mark.slow
@refuses("rule:R7.over-cap")
def test_more_output_than_the_model_has_raises_while_streaming(client: anthropic.Anthropic) -> None:
    """R7: the SDK itself refuses so many tokens without a stream, so only the stream reaches the vendor."""
    words = "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-opus-4-5"
    with (
        pytest.raises(anthropic.BadRequestError, match=words),
        client.messages.stream(**plain(model=MANUAL_MODEL, max_tokens=64_001)) as stream,
    ):
        stream.until_done()


@pytest.mark.slow
def test_the_same_loops_without_a_mistake_are_answered(client: anthropic.Anthropic) -> None:
    """The mistakes above are the only thing wrong with those requests."""
    for model in (OPUS, MANUAL_MODEL):
        assert client.messages.create(**looped(client, model)).stop_reason in ("end_turn", "tool_use")
