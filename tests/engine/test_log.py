"""The log of requests: which lines at which level, with which fields; and what never stands in one."""

import io
import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from clew.engine.log.request_log import RequestLog, open_log
from clew.exchange.redact import Redactor
from clew.model.change import Change
from clew.thinking.registry.table import ThinkingRegistry
from tests.build import assistant, thinking, user
from tests.engine.logs import Wanted, Written
from tests.manifest import proves
from tests.store.turns import recorded, turn

LEFT_OUT = Change("thinking", "messages.1.content.0", "left out", "made by glm")
RESTORED = Change("thinking", "messages.3.content.0", "restored", "the client dropped it")
ELSEWHERE = Change("tool_structure", "messages.4.content.1", "left out", "answers the same call again")


@proves("req:S1-41")
def test_a_switch_is_an_info_line_with_both_backends_and_both_sessions() -> None:
    """S1-41; the session is the backend epoch of this process."""
    written = Written()
    written.log.switched("claude", "glm")
    written.log.switched("glm", "claude")
    assert written.lines() == [
        switch("claude", "glm", 0, 1),
        switch("glm", "claude", 1, 2),
    ]


def switch(old: str, new: str, before: int, after: int) -> dict[str, object]:
    sessions = {"old_session": before, "new_session": after}
    return {"level": "info", "event": "backend switch", "old_backend": old, "new_backend": new, **sessions}


@proves("req:S1-41")
def test_no_switch_no_line() -> None:
    """S1-41."""
    written = Written(level="trace", debug=True)
    written.log.switched("claude", "claude")
    assert written.lines() == []
    assert written.log.epoch == 0


@proves("req:S1-42")
def test_a_recorded_block_is_a_debug_line_with_hash_session_and_a_short_preview() -> None:
    """S1-42; the preview ends between characters, never inside one."""
    answer = recorded("r", blocks=(json.dumps(thinking("日本🎏é" * 40, "s")).encode(),))
    written = Written(level="debug", debug=True, thinking_text=True)
    written.log.switched("", "claude")
    written.log.finished(turn(answer).exchange, answer)
    [line] = [line for line in written.lines() if line["event"] == "recorded"]
    assert line == {
        "level": "debug",
        "event": "recorded",
        "exchange": "r",
        "hash": answer.keys[0].hex()[:16],
        "session": 1,
        "content_preview": ("日本🎏é" * 40)[:50],
        "backend": "claude",
        "type": "thinking",
    }


@proves("req:S1-42", "req:S1-45")
def test_the_preview_is_a_length_unless_thinking_is_asked_for() -> None:
    """S1-45: thinking text is hidden."""
    answer = recorded("r")
    written = Written(level="trace", debug=True, full_body=True)
    written.log.finished(turn(answer).exchange, answer)
    written.log.body("x", "answer", answer.blocks[0])
    text = written.text()
    assert '"content_length":10' in text
    assert "Thought" not in text
    assert "content_preview" not in text


@proves("req:S1-43")
def test_a_request_has_one_summary_with_its_counts() -> None:
    """S1-43, by origin: nothing is cleaned up, what a reader takes is confirmed, what it does not is filtered."""
    answer = recorded("r")
    written = Written(known=7)
    written.log.decided("x-r", (LEFT_OUT, RESTORED, ELSEWHERE), ["messages.5.content.0", "messages.7.content.0"])
    written.log.finished(turn(answer).exchange, answer)
    assert written.lines() == [
        {
            "level": "info",
            "event": "request",
            "exchange": "x-r",
            "thread": "t",
            "asked": "claude-opus-5-5",
            "backend": "claude",
            "model": "claude-opus-5-5",
            "dialect": "anthropic",
            "outcome": "whole",
            "status": 200,
            "seconds": 2.5,
            "first_byte": 0.5,
            "attempts": 1,
            "input": 10,
            "output": 20,
            "cache_read": 30,
            "cache_written": 40,
            "estimated": False,
            "session": 0,
            "confirmed": 2,
            "cleanup_old_session": 0,
            "cleanup_confirmed_unused": 0,
            "cleanup_orphaned": 0,
            "filtered_from_request": 1,
            "cache_size_after": 8,
        }
    ]


@proves("req:S1-41")
def test_the_session_policy_counts_the_switches_of_its_registry() -> None:
    """A choice is another line, without numbers: the registry counts when a request goes to another backend."""
    registry, written = ThinkingRegistry(), Written()
    written.log.follow(written.log.wanted, by_sessions=True)
    for backend in ("claude", "claude", "glm"):
        written.log.filtered("x-r", registry.filter_request({"messages": []}, 0.0, backend=backend))
    written.log.switched("claude", "glm")
    assert written.lines() == [
        switch("", "claude", 0, 1),
        switch("claude", "glm", 1, 2),
        {"level": "info", "event": "backend chosen", "old_backend": "claude", "new_backend": "glm"},
    ]


@proves("req:S1-42")
def test_the_session_policy_tells_of_each_registration_confirmation_and_cleanup() -> None:
    """One hash in all three; the beginning of the thought only where it is asked for."""
    registry = ThinkingRegistry()
    block = thinking("A thought.", "s")
    history = {"messages": [user("Hi"), assistant(block)]}
    for shows in (True, False):
        written = Written(level="debug", debug=True, thinking_text=shows)
        registry.filter_request({"messages": []}, 0.0, backend=f"claude {shows}")
        written.log.registered("x", registry.register_blocks([block], 0.0))
        written.log.filtered("x", registry.filter_request(history, 1.0))
        written.log.filtered("x", registry.filter_request({"messages": [user("Hi"), assistant(thinking("B", "s"))]}, 2.0))
        lines = written.lines()
        assert [(line["event"], line.get("rule")) for line in lines] == [
            ("block registered", None),
            ("block confirmed", None),
            ("block cleaned up", "confirmed unused"),
        ]
        assert len({(line["hash"], line["session"]) for line in lines}) == 1
        assert lines[0].get("content_preview") == ("A thought." if shows else None)


@proves("req:S1-43")
def test_the_session_policy_gives_the_counts_of_its_document() -> None:
    """S1-43: the document's own example: a block of the session before is cleaned up and filtered."""
    registry, written = ThinkingRegistry(), Written(level="trace", debug=True)
    registry.notify_backend("anthropic")
    registry.register_blocks([thinking("A")], 0.0)
    registry.notify_backend("glm")
    filtered = registry.filter_request({"messages": [user("Hi"), assistant(thinking("A"))]}, 1.0)
    written.log.filtered("x-r", filtered)
    written.log.finished(turn(recorded("r")).exchange, None)
    cleaned, traced, summary = written.lines()
    assert (cleaned["event"], cleaned["rule"], cleaned["session"]) == ("block cleaned up", "old session", 1)
    counts = ("confirmed", "cleanup_old_session", "cleanup_confirmed_unused", "cleanup_orphaned", "filtered_from_request")
    assert traced == block("x-r", "messages.1.content.0", "removed", "not made in this session")
    assert {name: summary[name] for name in (*counts, "cache_size_after", "session")} == {
        "confirmed": 0,
        "cleanup_old_session": 1,
        "cleanup_confirmed_unused": 0,
        "cleanup_orphaned": 0,
        "filtered_from_request": 1,
        "cache_size_after": 0,
        "session": 2,
    }


@proves("req:S1-44")
def test_each_block_is_traced_with_its_reason() -> None:
    """S1-44; what is not thinking is not traced here."""
    written = Written(level="trace", debug=True)
    written.log.decided("x", (LEFT_OUT, RESTORED, ELSEWHERE), ["messages.5.content.0"])
    assert written.lines() == [
        block("x", "messages.5.content.0", "kept", "sent as it came"),
        block("x", "messages.1.content.0", "removed", "made by glm"),
        block("x", "messages.3.content.0", "restored", "the client dropped it"),
    ]


def block(exchange: str, path: str, decision: str, why: str) -> dict[str, object]:
    return {"level": "trace", "event": "block", "exchange": exchange, "path": path, "decision": decision, "why": why}


@proves("req:S1-44", "req:S1-45")
@pytest.mark.parametrize(
    ("wanted", "events"),
    [
        ({"level": "trace", "debug": False}, ["request"]),
        ({"level": "info", "debug": False, "full_body": True}, ["request"]),
        ({"level": "warning", "debug": False}, []),
        ({"level": "info", "debug": True}, ["body", "recorded", "request"]),
        ({"level": "trace", "debug": True}, ["block", "body", "recorded", "request"]),
    ],
)
def test_debug_lines_need_the_debug_switch_and_traces_their_level(wanted: dict[str, object], events: list[str]) -> None:
    """S1-45: `enabled = false` is no debug output; S1-44: no decision per block at INFO."""
    answer, written = recorded("r"), Written(**wanted)
    written.log.decided("x-r", (LEFT_OUT,), 3)
    written.log.body("x-r", "sent", b"{}")
    written.log.finished(turn(answer).exchange, answer)
    assert [line["event"] for line in written.lines()] == events


@proves("req:S1-45")
def test_a_body_is_its_length_or_whole_or_indented() -> None:
    """S1-45."""
    raw = json.dumps({"model": "m", "messages": [user("Hi")]}).encode()
    short, whole, pretty = (
        Written(debug=True),
        Written(debug=True, full_body=True),
        Written(debug=True, full_body=True, pretty_print=True),
    )
    for written in (short, whole, pretty):
        written.log.body("x", "sent", raw)
    head = {"level": "debug", "event": "body", "exchange": "x", "which": "sent", "bytes": len(raw)}
    assert short.lines() == [head]
    assert whole.lines() == [head | {"body": json.loads(raw)}]
    text = pretty.text()
    assert json.loads(text)["body"] == json.loads(raw)
    assert '\n  "body": {\n    "model": "m",\n' in text


@proves("req:S1-45", "fault:X12")
def test_keys_and_tokens_are_in_no_line() -> None:
    """S1-45, X12: not from a body, a reason, an exception or a library's own message."""
    canary = "canary-0123456789"
    written = Written(debug=True, level="trace", full_body=True, thinking_text=True, secrets=(canary,))
    written.log.body("x", "sent", json.dumps({"a": f"is {canary} here", "x-api-key": "abc", canary: [canary]}).encode())
    written.log.decided("x", (Change("thinking", "p", "left out", f"Bearer abcdefgh and {canary}"),), 0)
    written.logger.warning("dialling https://user:pass@host/?key=abc with %s", canary)
    try:
        raise ValueError(f"authorization: Basic {canary}")
    except ValueError:
        written.logger.exception("oops")
    text = written.text()
    assert len(text.splitlines()) == 4
    assert [leak for leak in (canary, "abcdefgh", "user:pass", "key=abc", '"abc"') if leak in text] == []


@proves("fault:X18")
def test_a_field_cannot_begin_a_line_or_move_a_cursor() -> None:
    """X18: newline, escapes, separators, a megabyte, half a character."""
    hostile = "a\r\nb\x1b[2J\x9bc\u2028d\u202ee\ud800f" + "x" * 1_000_000
    written = Written(level="trace", debug=True)
    written.log.decided("x", (Change("thinking", "p", "left out", hostile),), 0)
    text = written.text()
    assert text.count("\n") == 1
    assert len(text) < 3000
    assert text.rstrip("\n").isprintable()
    assert json.loads(text)["why"].startswith("a\r\nb\x1b[2J\x9bc\u2028d\u202ee")


def test_new_settings_hold_from_the_next_line_on() -> None:
    written = Written()
    written.log.body("x", "sent", b"{}")
    written.log.follow(Wanted(debug=True))
    written.log.body("y", "sent", b"{}")
    assert [line["exchange"] for line in written.lines()] == ["y"]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def root() -> logging.Logger:
    """The root logger, put back as it was."""
    logger = logging.getLogger()
    kept, level = logger.handlers[:], logger.level
    logger.handlers.clear()
    yield logger
    logger.handlers[:] = kept
    logger.setLevel(level)


def test_people_at_a_terminal_get_pairs_and_nothing_of_another_library_is_lost(root: logging.Logger) -> None:
    """reliability 4.10: exceptions and other libraries' messages go through the same redaction."""
    out = _Terminal()
    sink = open_log(Wanted(), Redactor(["canary-1"]), out=out)
    RequestLog(Wanted()).switched("claude", "g\x1bl m")
    logging.getLogger("asyncio").warning("slow: canary-1")
    logging.getLogger("asyncio").info("not told")
    sink.close()
    lines = [line[9:] for line in out.getvalue().splitlines()]
    assert lines == [
        'INFO    backend switch old_backend=claude new_backend="g\\u001bl m" old_session=0 new_session=1',
        'WARNING asyncio message="slow: [redacted]"',
    ]


def test_lines_that_wait_are_written_though_their_file_is_closed_by_then(root: logging.Logger, tmp_path: Path) -> None:
    """`clew run` closes its log file as soon as the client is gone."""
    with (tmp_path / "run.log").open("a") as out:
        sink = open_log(Wanted(), Redactor(), out=out)
        RequestLog(Wanted()).switched("claude", "glm")
    sink.close()
    assert '"new_backend":"glm"' in (tmp_path / "run.log").read_text()


@pytest.mark.slow
def test_a_process_that_ends_writes_its_last_lines() -> None:
    """Nobody has to close the log."""
    code = "from clew.engine.log.request_log import RequestLog, open_log; from clew.exchange.redact import Redactor; "
    code += "from tests.engine.logs import Wanted; open_log(Wanted(), Redactor()); RequestLog(Wanted()).switched('a', 'b')"
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120)
    assert json.loads(ran.stderr)["event"] == "backend switch"
