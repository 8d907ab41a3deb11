"""A refusal for thinking is repaired before the client sees it, said, and remembered by the answer's strand alone."""

from __future__ import annotations

import pytest

from clew.model.change import Change
from clew.pipeline.thinking.open import REFUSED_BEFORE
from clew.settings.values import ThinkingSettings
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.build import Json, assistant, user
from tests.engine.conftest import Gating
from tests.engine.gate import Gate, claude, other
from tests.engine.kept import exchange_of
from tests.engine.talk import Direct, Talk, asked_of, body_bytes, last_asked, raw_of, refusals, thoughts, thoughts_in
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

INVALID = "messages.1.content.0: Invalid `signature` in `thinking` block"


def spoilt(message: Json) -> Json:
    """An answer whose first signature has another end."""
    first, *rest = message["content"]
    return assistant({**first, "signature": first["signature"][:-8] + "AAAAAAA="}, *rest)


@public("gateway")
@proves("req:S1-38", "req:C7")
def test_a_history_from_before_the_gateway_passes_as_it_came(gate: Gate, a: Simulator) -> None:
    """S1-38: signatures that nobody recorded go to the first-party backend, byte for byte."""
    talk = Talk(Direct(a))
    talk.says("Before clew.")
    talk.gate = gate
    answer = talk.says("With clew.")
    assert [body_bytes(a).count(raw_of(block)) for block in thoughts(talk.messages)[:-1]] == [1, 1, 1]
    assert answer.headers["x-clew-thinking"] == "kept=3, restored=0, left-out=0, handed-over=0, healed=0"
    assert refusals(a) == []


@proves("req:S1-38")
def test_a_history_from_before_the_gateway_that_is_refused_is_repeated_once_without_it(gate: Gate, a: Simulator) -> None:
    """S1-38: one retry, which the client does not see."""
    talk = Talk(Direct(a), tools=[])
    talk.says("Before clew.")
    talk.says("Still before.")
    talk.messages[1] = spoilt(talk.messages[1])
    talk.gate = gate
    before = len(asked_of(a))
    answer = talk.says("With clew.")
    assert refusals(a) == [INVALID]
    assert [len(thoughts_in(body)) for body in asked_of(a)[before:]] == [2, 0]
    assert answer.headers["x-clew-thinking"] == "kept=0, restored=0, left-out=0, handed-over=0, healed=2"


@public("gateway")
@proves("req:S1-46")
@pytest.mark.parametrize(
    "words",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0: Invalid signature in thinking block",
        "***.***.content.0: Invalid `data` in `redacted_thinking` block",
        "messages.1.content.0.thinking.signature: Field required",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
        "These blocks must remain as they were in the original response.",
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
        "Invalid thinking block signature",
        "messages.1.content.0: invalid thinking block signature",
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_refusal_for_a_signature_is_healed_whatever_its_words(gate: Gate, a: Simulator, words: str, stream: bool) -> None:
    """S1-46: R33, R34, R44."""
    talk = Talk(gate, tools=[], stream=stream)
    talk.says("One.")
    a.fault(f"status 400 type=invalid_request_error message='{words}'")
    answer = talk.says("Two.")
    assert [len(thoughts_in(body)) for body in asked_of(a)[1:]] == [1, 0]
    assert answer.headers["x-clew-thinking"].endswith("healed=1")


@pytest.mark.parametrize(
    ("status", "words"),
    [(422, INVALID), (500, f"litellm.BadRequestError: AnthropicException - {INVALID}"), (502, f"HTTP 400: {INVALID}")],
)
def test_a_refusal_inside_a_proxys_failure_is_healed(gate: Gate, a: Simulator, status: int, words: str) -> None:
    """LiteLLM and others repeat the vendor's words under a status of their own."""
    talk = Talk(gate, tools=[])
    talk.says("One.")
    a.fault(f"status {status} type=api_error message='{words}'")
    answer = talk.says("Two.")
    assert [len(thoughts_in(body)) for body in asked_of(a)[1:]] == [1, 0]
    assert answer.headers["x-clew-thinking"].endswith("healed=1")


def test_a_server_that_fails_is_asked_the_same_again(gate: Gate, a: Simulator) -> None:
    """Whatever its words are about, nothing says that it refused."""
    talk = Talk(gate, tools=[])
    talk.says("One.")
    a.fault(f"status 500 type=api_error message='{INVALID}'")
    answer = talk.says("Two.")
    assert [len(thoughts_in(body)) for body in asked_of(a)[1:]] == [1, 1]
    assert answer.headers["x-clew-thinking"].endswith("healed=0")


def test_a_refusal_that_comes_as_an_event_is_healed_too(gate: Gate, a: Simulator) -> None:
    """U7: nothing has reached the client yet."""
    talk = Talk(gate, tools=[])
    talk.says("One.")
    a.fault(f"error invalid_request_error after=1 message='{INVALID}'")
    answer = talk.says("Two.")
    assert [len(thoughts_in(body)) for body in asked_of(a)[1:]] == [1, 0]
    assert "error" not in answer.kinds
    assert answer.kinds.count("message_start") == 1


@public("gateway")
@proves("req:C23")
def test_a_repair_lasts_and_only_for_what_follows_it(gate: Gate, a: Simulator) -> None:
    """C23, against prefix checks: an edit by the client costs one refusal for each branch, and none after it."""
    talk = Talk(gate)
    talk.says("One.")
    talk.says("Two.")
    talk.messages[0] = user("One, but edited.")
    fork = talk.fork()

    answer = talk.says("Three.")
    kept = thoughts_in(last_asked(a))
    assert len(refusals(a)) == 1
    assert kept == thoughts(talk.messages)[4:-1]
    found = exchange_of(gate, answer)
    assert (found.heals, found.outcome) == (0, "whole")

    talk.says("Four.")
    talk.says("Five.")
    assert len(refusals(a)) == 1
    assert thoughts_in(last_asked(a)) == thoughts(talk.messages)[4:-1]

    fork.says("Three, on a fork from before the repair.")
    assert len(refusals(a)) == 2
    fork.says("Four, on the fork.")
    talk.says("Six.")
    assert len(refusals(a)) == 2


@proves("req:C23")
def test_what_was_healed_is_in_the_header_and_in_the_store(gate: Gate, a: Simulator) -> None:
    """Law 6."""
    talk = Talk(gate, tools=[])
    talk.says("One.")
    talk.says("Two.")
    talk.messages[0] = user("One, but edited.")
    answer = talk.says("Three.")
    assert answer.headers["x-clew-thinking"] == "kept=0, restored=0, left-out=0, handed-over=0, healed=2"
    found = exchange_of(gate, answer)
    assert found.changes == tuple(
        Change("heal", f"messages.{index}.content.0", "healed", "refused (R44)") for index in (1, 3)
    )
    assert (found.heals, found.attempts, found.status, found.outcome) == (1, 1, 200, "whole")


def test_an_edit_in_the_middle_costs_only_what_came_after_it(gate: Gate, a: Simulator) -> None:
    """The index names the first block that fails: what stands before it is as good as ever."""
    talk = Talk(gate, tools=[])
    talk.says("One.")
    talk.says("Two.")
    talk.says("Three.")
    talk.messages[2] = user("Two, but edited.")
    talk.says("Four.")
    assert thoughts_in(last_asked(a)) == thoughts(talk.messages)[:1]
    talk.says("Five.")
    assert thoughts_in(last_asked(a)) == [*thoughts(talk.messages)[:1], *thoughts(talk.messages)[3:-1]]
    assert len(refusals(a)) == 1


@pytest.mark.parametrize("stream", [True, False])
def test_what_no_repair_helps_goes_to_the_client_in_the_vendors_words(gate: Gate, a: Simulator, stream: bool) -> None:
    """Design §4: thrice at most, and only as long as there is something to leave out."""
    talk = Talk(gate, tools=[], stream=stream)
    for words in ("One.", "Two.", "Three."):
        talk.says(words)
    a.fault(f"status 400 type=invalid_request_error message='{INVALID}'", times=None)
    talk.messages.append(user("Four."))
    before = len(asked_of(a))
    answer = talk.send()
    assert (answer.status, answer.json["error"]) == (400, {"type": "invalid_request_error", "message": INVALID})
    assert answer.headers["content-type"] == "application/json"
    assert 2 <= len(asked_of(a)) - before <= 4
    found = exchange_of(gate, answer)
    assert (found.outcome, found.status, found.kind) == ("refused", 400, "messages")


def test_any_other_refusal_is_the_clients_to_read_at_once(gate: Gate, a: Simulator) -> None:
    """U5: one request, the vendor's status, words and headers."""
    talk = Talk(gate)
    talk.messages = [user("One.")]
    answer = talk.send(max_tokens=0)
    direct = Direct(a).ask({**talk.body, "max_tokens": 0})
    assert len(asked_of(a)) == 2
    assert (answer.status, answer.json["error"]) == (direct.status, direct.json["error"])
    assert answer.headers["request-id"] == answer.json["request_id"]
    assert answer.headers["x-clew-backend"] == "claude"
    assert refusals(a)[0] == answer.json["error"]["message"]


def test_a_cut_at_the_end_of_a_message_costs_what_was_cut_and_nothing_else(
    gating: Gating, simulators: StartSimulator
) -> None:
    """R37: the next request repeats the repaired one, with all that went ahead of the message."""
    strict = simulators(stance={"prefix_enforcement": "on", "trailing_thinking": "reject"})
    talk = Talk(gating(claude(strict)), tools=[])
    for scenario in ("thinking", "trailing-thinking", "thinking", "thinking"):
        answer = talk.says(f"[[scenario:{scenario}]]")
    assert answer.headers["x-clew-thinking"] == "kept=3, restored=0, left-out=1, handed-over=0, healed=0"
    assert len(refusals(strict)) == 1


def test_a_repair_is_paid_for_once_also_where_nothing_is_restored(gating: Gating, a: Simulator) -> None:
    """`restore = false` puts nothing back; what was refused stays out all the same, and what came after it goes."""
    talk = Talk(gating(claude(a), thinking=ThinkingSettings(restore=False)), tools=[])
    talk.says("One.")
    talk.messages[0] = user("One, edited.")
    for words in ("Two.", "Three.", "Four."):
        answer = talk.says(words)
    assert answer.headers["x-clew-thinking"] == "kept=2, restored=0, left-out=1, handed-over=0, healed=0"
    assert len(refusals(a)) == 1


def test_a_repair_towards_another_vendor_of_the_dialect_is_paid_for_once(gating: Gating, simulators: StartSimulator) -> None:
    """A vendor that can no longer read what it signed (its keys are new): what it refused once does not go again, what it
    signs from then on does."""
    old, new = (simulators(kind="compat", realm=realm) for realm in ("old", "new"))
    talk = Talk(gating(other(old)), tools=[])
    talk.says("One.")
    talk.says("Two.")
    fork = talk.fork()
    talk.gate = gate = gating(other(new))

    told = [talk.says(words).headers["x-clew-thinking"] for words in ("Three.", "Four.", "Five.")]
    assert len(refusals(new)) == 1
    assert [len(thoughts_in(body)) for body in asked_of(new)] == [2, 0, 1, 2]
    assert [words.rpartition("healed=")[2] for words in told] == ["2", "0", "0"]
    last = exchange_of(gate, talk.says("Six."))
    assert [change.why for change in last.changes if change.what == "left out"] == [REFUSED_BEFORE] * 2

    fork.gate = gate
    fork.says("Three, on a fork from before the repair.")
    fork.says("Four, on the fork.")
    assert len(refusals(new)) == 2


def test_a_repair_towards_another_vendor_lasts_while_others_answer(
    gating: Gating, simulators: StartSimulator, a: Simulator
) -> None:
    old, new = (simulators(kind="compat", realm=realm) for realm in ("old", "new"))
    talk = Talk(gating(other(old)), tools=[])
    talk.says("One.")
    talk.gate = gate = gating(other(new), claude(a))
    talk.says("Two.")
    gate.use("claude")
    talk.says("Three.")
    gate.use("glm")
    talk.says("Four.")
    talk.says("Five.")
    assert len(refusals(new)) == 1
    assert [len(thoughts_in(body)) for body in asked_of(new)] == [1, 0, 1, 2]
