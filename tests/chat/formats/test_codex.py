"""Codex' session files: what becomes of their lines. `tests.clients.test_codex` imports one that Codex itself wrote."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from clew.chat.formats import FORMATS, READABLE, format_of
from clew.chat.formats.format import BrokenLine, ImportContext, NumberedLine, ReadItem, Skipped
from clew.model.origin import Origin
from clew.model.recording import Recording
from clew.model.turn import TokenUsage, TurnRecord
from clew.thinking.seal import Seal, Sealer

SEALER = Sealer({"k1": b"a secret of thirty-two bytes, or more"}, current="k1")


class Nothing:
    """No recordings."""

    def by_id(self, id: str) -> None: ...
    def by_key(self, key: bytes) -> None: ...
    def by_tool(self, id: str) -> Sequence[Recording]:
        return ()

    def by_place(self, place: bytes) -> Sequence[Recording]:
        return ()


def line(kind: str, **payload: Any) -> bytes:
    return json.dumps({"timestamp": "2026-11-18T13:05:18.600Z", "type": kind, "payload": payload}).encode()


def item(kind: str, **fields: Any) -> bytes:
    return line("response_item", type=kind, **fields)


def said(role: str, text: str) -> bytes:
    part = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": part, "text": text}])


USAGE = {"input_tokens": 30, "cached_input_tokens": 10, "cache_write_input_tokens": 5, "output_tokens": 7}
ROLLOUT = [
    line("session_meta", id="0199", session_id="0199", model_provider="clew"),
    said("developer", "You are Codex."),
    said("user", "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"),
    line("turn_context", model="gpt-5.5", cwd="/w"),
    said("user", "Have a look."),
    line("event_msg", type="item_completed"),
    item("reasoning", id="rs_1", summary=[{"type": "summary_text", "text": "Hm."}], content=None, encrypted_content="gAAA"),
    item("function_call", id="fc_1", name="exec_command", arguments='{"cmd":"ls"}', call_id="call_1"),
    item("custom_tool_call", id="ctc_1", name="apply_patch", input="*** Begin", call_id="call_2"),
    line("token_usage_record", usage=USAGE),
    item("function_call_output", call_id="call_1", output="a\n"),
    item("custom_tool_call_output", call_id="call_2", output="done"),
    said("assistant", "Done."),
    said("user", "And now?"),
]


def read(*lines: bytes) -> list[ReadItem]:
    format = format_of(b"\n".join(lines))
    assert format is not None and format.read is not None
    context = ImportContext(principal="local", known=Nothing(), thread_of=lambda session, agent: None, at=1.0, sealer=SEALER)
    return list(format.read((NumberedLine(number, raw) for number, raw in enumerate(lines, 1)), context))


def turns(*lines: bytes) -> Iterator[TurnRecord]:
    return (found for found in read(*lines) if isinstance(found, TurnRecord))


def test_a_session_becomes_turns_with_their_questions() -> None:
    first, second, last = turns(*ROLLOUT)

    assert first.recording and second.recording
    kinds = [[json.loads(raw)["type"] for raw in each.blocks] for each in (first.recording, second.recording)]
    assert kinds == [["thinking", "tool_use", "tool_use"], ["text"]]
    assert first.recording.said.ids == ("call_1", "call_2")
    assert (first.exchange.session, first.exchange.asked_model, first.title) == ("0199", "gpt-5.5", "Have a look.")
    assert first.exchange.usage == TokenUsage(input=15, output=7, cache_read=10, cache_written=5)
    assert second.recording.followed == first.recording.id
    assert (last.recording, last.exchange.outcome, last.title) == (None, "failed", "And now?")
    assert {each.exchange.thread for each in (first, second, last)} == {first.exchange.thread}


def test_a_seal_brings_the_makers_whole_block_back() -> None:
    """As it was said, and under its maker's name, whatever became of the summary."""
    origin = Origin("anthropic", "claude", "claude-opus-5-5")
    whole = {"payload": b"EuYB", "kind": "thinking", "text": "All of it.", "key": bytes(32)}
    seal = Seal("local", origin, exchange="ex1", index=0, **whole)
    reasoning = item("reasoning", summary=[], encrypted_content=SEALER.mint(seal))
    [turn] = turns(*ROLLOUT[:5], reasoning, said("assistant", "Yes."))

    assert turn.recording
    assert (turn.recording.id, turn.recording.origin) == ("ex1", origin)
    assert json.loads(turn.recording.blocks[0]) == {"type": "thinking", "thinking": "All of it.", "signature": "EuYB"}


def test_a_line_that_cannot_be_read_does_not_end_the_import() -> None:
    found = read(*ROLLOUT[:6], b'{"timestamp":"', *ROLLOUT[6:])
    assert [each.line for each in found if isinstance(each, BrokenLine)] == [7]
    assert len([each for each in found if isinstance(each, TurnRecord)]) == 3
    assert Skipped("event_msg") in found


def test_an_interrupted_answer_is_not_whole() -> None:
    aborted = line("event_msg", type="turn_aborted", reason="interrupted")
    [first, _] = turns(*ROLLOUT[:9], aborted, said("user", "Go on."))
    assert first.recording and (first.recording.whole, first.exchange.outcome) == (False, "cut")


def test_it_is_read_and_not_written() -> None:
    assert ("codex" in READABLE, "codex" in FORMATS) == (True, False)
