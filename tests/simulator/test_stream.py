"""The answer on the wire: the vendor's grammar, the same message streamed and whole."""

import json
from typing import Any

from clew.simulator.anthropic.memory import CacheUse
from clew.simulator.anthropic.replies import MessageAnswer, events, message
from clew.simulator.identity import IdMaker
from clew.simulator.interfaces import Prompt
from clew.simulator.player import TurnContext, play_turn
from clew.simulator.script import (
    Act,
    CallTool,
    Pause,
    Say,
    ScriptTurn,
    SendBlock,
    SendEvent,
    SendPings,
    SetPace,
    SetUsage,
    Think,
    ThinkRedacted,
)
from clew.simulator.steps import Send, Silence, body_of
from clew.simulator.turns import state_of
from tests.manifest import accepts
from tests.simulator.standin import Hashing
from tests.simulator.wire import TOOL, read_events

REQUEST: Any = {"model": "m", "max_tokens": 1000, "tools": [TOOL], "messages": [{"role": "user", "content": "hi"}]}
ADAPTIVE = Prompt(thinking="adaptive", interleaved=True, input_tokens=100)


def written(
    *acts: Act, prompt: Prompt = ADAPTIVE, betas: frozenset[str] = frozenset(), max_tokens: int = 1000
) -> MessageAnswer:
    context = TurnContext(
        request={**REQUEST, "max_tokens": max_tokens},
        prompt=prompt,
        signer=Hashing(),
        state=state_of(REQUEST),
        ids=IdMaker(0).ids("a", "p", b"b"),
        betas=betas,
    )
    cache = CacheUse(read=20, written_5m=3, written_1h=7)
    return MessageAnswer(id="msg_1", model="m", answer=play_turn(ScriptTurn(acts), context), prompt=prompt, cache=cache)


def streamed(whole: MessageAnswer) -> list[dict[str, Any]]:
    return read_events(body_of(events(whole)))


USAGE = {
    "input_tokens": 70,
    "cache_creation_input_tokens": 10,
    "cache_read_input_tokens": 20,
    "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 7},
    "output_tokens": 1,
    "service_tier": "standard",
    "inference_geo": "not_available",
}


@accepts("rule:R65", "rule:R66", "rule:R67", "rule:R73")
def test_a_stream_follows_the_vendors_grammar_event_by_event() -> None:
    whole = written(Think("hm"), ThinkRedacted("x"), Say("ok"), CallTool("get_weather", {"city": "a"}))
    thinking, redacted, _, call = whole.answer.content
    assert streamed(whole) == [
        {
            "type": "message_start",
            "message": {
                "model": "m",
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "stop_details": None,
                "container": None,
                "diagnostics": None,
                "usage": USAGE,
            },
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "signature_delta", "signature": thinking["signature"]},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": redacted},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "ok"}},
        {"type": "content_block_stop", "index": 2},
        {"type": "content_block_start", "index": 3, "content_block": {**call, "input": {}}},
        {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": ""}},
        {
            "type": "content_block_delta",
            "index": 3,
            "delta": {"type": "input_json_delta", "partial_json": '{"city":"a"}'},
        },
        {"type": "content_block_stop", "index": 3},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None, "stop_details": None, "container": None},
            "usage": {
                "input_tokens": 70,
                "cache_creation_input_tokens": 10,
                "cache_read_input_tokens": 20,
                "output_tokens": whole.answer.output_tokens,
                "output_tokens_details": {"thinking_tokens": 2},
            },
        },
        {"type": "message_stop"},
    ]


@accepts("rule:R66")
def test_a_call_that_was_cut_has_no_stop_event() -> None:
    kinds = [event["type"] for event in streamed(written(CallTool("get_weather", {"city": "x" * 90}), max_tokens=5))]
    assert kinds == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "message_delta",
        "message_stop",
    ]


@accepts("rule:R65")
def test_padding_stands_before_the_last_brace_and_changes_no_value() -> None:
    plain, padded = written(Say("hello")), written(Say("hello"), SetPace(padding=5))
    assert streamed(padded) == streamed(plain)
    lines = [line for line in body_of(events(padded)).split(b"\n") if line.startswith(b"data: ")]
    assert {len(line) - len(line[:-1].rstrip()) - 1 for line in lines} > {0}
    assert all(line.endswith(b"}") for line in lines)


def test_the_token_count_beta_puts_an_estimate_on_the_last_thinking_delta() -> None:
    """R66."""
    beta = frozenset({"thinking-token-count-2026-05-13"})
    deltas = [event["delta"] for event in streamed(written(Think("12345678"), betas=beta)) if "delta" in event]
    assert deltas[0] == {"type": "thinking_delta", "thinking": "12345678", "estimated_tokens": 2}


def test_transformations_are_in_the_start_and_edits_in_the_delta() -> None:
    """R46, R67."""
    dropped: Any = {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "model_binding_mismatch"}
    edit: Any = {"type": "clear_thinking_20251015", "cleared_thinking_turns": 1, "cleared_input_tokens": 9}
    prompt = Prompt(transformations=(dropped,), applied_edits=(edit,))
    whole = written(Say("a"), prompt=prompt)
    told = streamed(whole)
    assert told[0]["message"]["input_transformations"] == [dropped]
    assert told[-2]["context_management"] == {"applied_edits": [edit]}
    assert message(whole)["input_transformations"] == [dropped]
    assert message(whole)["context_management"] == {"applied_edits": [edit]}
    assert "input_transformations" not in message(written(Say("a")))


def test_a_script_sets_the_numbers_of_the_usage() -> None:
    """R73."""
    numbers = {"input_tokens": 5, "output_tokens": 9, "thinking_tokens": 4}
    whole = written(Say("a"), SetUsage(numbers))
    usage: Any = message(whole)["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (5, 9)
    assert usage["output_tokens_details"] == {"thinking_tokens": 4}
    assert streamed(whole)[0]["message"]["usage"]["output_tokens"] == 1


def test_pauses_pings_blocks_and_odd_events_come_where_the_script_has_them() -> None:
    block: Any = {"type": "hologram", "shape": "cube"}
    steps = list(events(written(Say("a"), Pause(0.5), SendPings(2, 0.1), SendEvent("odd", "no json"), SendBlock(block))))
    after = steps[5:]
    assert after[:5] == [Silence(0.5), steps[2], Silence(0.1), steps[2], Silence(0.1)]
    assert after[5] == Send(b"event: odd\ndata: no json\n\n", "odd")
    assert isinstance(after[6], Send)
    assert json.loads(after[6].data.split(b"data: ")[1])["content_block"] == block
