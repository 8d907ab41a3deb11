"""Flaws of the founding designs that the projection resolves, each shown from request to request."""

import json
from typing import Any

import anthropic
import pytest

from clew import BudgetRules, Facts, Options, StreamAssembler, check, parse_budget_wish, project
from clew.pipeline.heal import heal, refusal_in
from clew.testing import Simulator
from clew.wire.requests import encode
from tests.build import GLM, assistant, raw, request, target, text, thinking, tool_result, tool_use, user
from tests.manifest import accepts, proves, public
from tests.pipeline.targets import current_models, model


def budget_of(*messages: Any, **rules: Any) -> int:
    """The budget that this history gets on a model with manual thinking."""
    facts = Facts(options=Options(budget=BudgetRules(**rules)))
    body = json.loads(
        project(raw(*messages, model="claude-haiku-4-5", max_tokens=64000), model("claude-haiku-4-5"), facts).body
    )
    return body.get("thinking", {}).get("budget_tokens", 0)


TURN = [
    user("ultrathink about it"),
    assistant(thinking("t", "s1"), tool_use("toolu_1")),
    user(tool_result("toolu_1")),
]
NEXT = [*TURN, assistant("done"), user("and now this")]


@public("library")
@proves("req:C30")
def test_a_keyword_holds_for_its_turn_and_the_change_comes_at_the_turns_border() -> None:
    """C30: all requests of one turn are alike, so the cache is lost at most once for each turn."""
    assert [budget_of(*TURN[:1]), budget_of(*TURN), budget_of(*NEXT)] == [31999, 31999, 0]
    assert budget_of(*NEXT, scope="any") == 31999


@public("library")
@proves("req:C30")
@pytest.mark.parametrize(
    "pasted",
    [
        user(tool_result("toolu_1", "ultrathink")),
        user(tool_result("toolu_1", [text("ultrathink")])),
    ],
)
def test_what_a_tool_says_is_nobodys_wish(pasted: dict[str, Any]) -> None:
    assert budget_of(user("hi"), assistant(tool_use("toolu_1")), pasted) == 0


@public("library")
@proves("req:C31")
@pytest.mark.parametrize("words", ["ultrathink", "please think ultra hard", "Think ultrahard, then answer"])
def test_one_matcher_knows_every_phrase_and_the_older_split_can_be_chosen(words: str) -> None:
    assert parse_budget_wish(words).tokens == 31999
    assert parse_budget_wish(words, strict=True).tokens == (31999 if words == "ultrathink" else 0)


@public("library")
@proves("req:C32")
@pytest.mark.parametrize("name", current_models())
@pytest.mark.parametrize("given", [{"type": "enabled", "budget_tokens": 31999}, {"type": "adaptive"}, {"type": "disabled"}])
def test_no_model_is_ever_asked_for_a_mode_that_it_rejects(name: str, given: dict[str, Any]) -> None:
    """C32: both directions, for each row of the table."""
    projection = project(raw(user("hi"), model=name, thinking=given, max_tokens=64000), model(name))
    assert check(projection.body) == ()


@public("library")
@proves("req:C22")
def test_a_projection_leaves_its_input_alone_and_writes_only_what_it_changes() -> None:
    """C22: for its maker the very bytes go; for another vendor all but the thought are the same, and the given ones stay."""
    thought = thinking("Hm. \u2028", "c2ln")
    body = raw(user("One."), assistant(thought, "Yes."), user("Two."))
    before = bytearray(body)
    assert project(body, model()).body is body
    sent = project(body, target(GLM))
    cut = body.replace(json.dumps(thought).encode() + b", ", b"").replace(b"claude-opus-5-5", b"glm-5")
    assert (sent.body, [change.path for change in sent.changes]) == (cut, ["messages.1.content.0", "model"])
    assert body == before


def event(kind: str, **fields: Any) -> bytes:
    return b"data: " + json.dumps({"type": kind, **fields}).encode() + b"\n\n"


@public("library")
@proves("req:C29")
def test_a_second_signature_replaces_the_first_and_an_unsigned_thought_is_found() -> None:
    """C29: also by the check of the request that would send it back."""
    assembler = StreamAssembler()
    assembler.feed(event("message_start", message={"role": "assistant", "content": []}))
    for index, signatures in enumerate((["old", "new"], [])):
        assembler.feed(
            event("content_block_start", index=index, content_block={"type": "thinking", "thinking": "", "signature": ""})
        )
        assembler.feed(event("content_block_delta", index=index, delta={"type": "thinking_delta", "thinking": "Hm."}))
        for each in signatures:
            assembler.feed(event("content_block_delta", index=index, delta={"type": "signature_delta", "signature": each}))
        [block] = assembler.feed(event("content_block_stop", index=index))
        assert block.unsigned == (signatures == [])
    assembler.feed(event("message_stop"))
    content = assembler.finish()["content"]
    assert content == [thinking("Hm.", "new"), thinking("Hm.", "")]
    assert [found.rule for found in check(raw(user("a"), assistant(*content, "b"), user("c")))] == ["R33.empty-signature"]


@accepts("rule:R79")
@pytest.mark.parametrize(
    "words",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
        "These blocks must remain as they were in the original response.",
    ],
)
def test_a_refused_request_is_never_sent_again_unchanged(words: str) -> None:
    """R79: each repair differs from all that was refused before it, and there is an end to repairs."""
    going = request(
        user("a"), assistant(thinking("t", "s1"), text("x")), user("b"), assistant(thinking("u", "s2"), text("y")), user("c")
    )
    refused, tried = [encode(going)], ()
    refusal = refusal_in(400, words)
    assert refusal is not None
    while (healed := heal(going, refusal, model(), Facts(), tried)) is not None:
        going, tried = healed.request, (*tried, healed.remedy)
        assert encode(going) not in refused
        refused.append(encode(going))
    assert 1 < len(refused) <= 4


@pytest.mark.slow
@accepts("rule:R79")
def test_nor_does_the_official_sdk_send_it_again(simulator: Simulator) -> None:
    history: Any = [user("a"), assistant(thinking("t", "forged"), text("x")), user("b")]
    with (
        anthropic.Anthropic(base_url=simulator.url, api_key=simulator.key, max_retries=5) as client,
        pytest.raises(anthropic.BadRequestError, match="Invalid `signature` in `thinking` block"),
    ):
        client.messages.create(model="claude-opus-4-8", max_tokens=100, messages=history)
    assert len(simulator.journal()) == 1
