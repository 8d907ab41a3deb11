"""What the gateway's bench sends is legal and like a client's, and its clock loses nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.streams import ChatStreamReader
from clew.dialects.shape import AnswerContext
from clew.model.assemble import Assembler, assemble
from clew.model.lifecycle import STRICT
from clew.wire.events import decode_event
from clew.wire.sse import SseReader
from tests.test_manifest import ROOT

BURN = """
import sys, threading, time
def burn():
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass
sys.stdin.readline()
for _ in range(3):
    thread = threading.Thread(target=burn)
    thread.start()
    thread.join()
print("burnt", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("count", [10, 300])
def test_the_stream_is_legal_and_as_long_as_it_says(bench: dict[str, ModuleType], count: int) -> None:
    written = "".join(bench["traffic"].events(count)).encode()
    events = [decode_event(each) for each in SseReader().feed(written)]
    assembler = Assembler(STRICT)
    for event in events:
        assembler.feed(event)

    thoughts, texts = bench["traffic"].said(count)
    thinking, text = assembler.message()["content"]
    assert len(events) == count
    assert (thinking["type"], thinking["thinking"]) == ("thinking", "".join(thoughts))
    assert (text["type"], text["text"]) == ("text", "".join(texts))


def test_the_stream_of_chunks_is_as_long_and_says_words_of_the_same_kind(bench: dict[str, ModuleType]) -> None:
    written = "".join(bench["traffic"].chunks(300)).encode()
    stream = ChatStreamReader(AnswerContext(model="m"), ChatOptions())
    thinking, text = assemble([*stream.feed(written), *stream.flush()])["content"]

    thoughts, texts = bench["traffic"].said(305)
    assert written.count(b"\n\n") == 300
    assert (thinking["type"], thinking["thinking"]) == ("thinking", "".join(thoughts))
    assert (text["type"], text["text"]) == ("text", "".join(texts))


def test_a_call_is_legal_in_both_dialects_and_says_the_same(bench: dict[str, ModuleType]) -> None:
    told = "".join(bench["traffic"].tool_events(300)).encode()
    assembler = Assembler(STRICT)
    for event in map(decode_event, SseReader().feed(told)):
        assembler.feed(event)
    chunks = "".join(bench["traffic"].tool_chunks(300)).encode()
    stream = ChatStreamReader(AnswerContext(model="m"), ChatOptions())

    [own] = assembler.message()["content"]
    [translated] = assemble([*stream.feed(chunks), *stream.flush()])["content"]
    assert (told.count(b"\n\n"), chunks.count(b"\n\n")) == (300, 300)
    assert own["name"] == translated["name"] == "Write"
    assert len(own["input"]["content"]) > 2000 < len(translated["input"]["content"])


def _request(bench: dict[str, ModuleType], turns: int) -> tuple[dict[str, Any], tuple[str, ...], int]:
    """What a session sends after so many answers: its body, its head, and how many bytes that is."""
    session = bench["sessions"].Session(bench["claude_code"].ClaudeCode("agent"), 7)
    for _ in range(turns):
        session.hear("".join(bench["traffic"].agent_events(300)).encode())
    return json.loads(session.body()), session.headers, len(session.body())


def _shape(value: Any) -> Any:
    """Names and kinds, in their order; texts, and what a capture leaves out, are all alike."""
    if isinstance(value, dict):
        return {name: "" if name in ("properties", "input") else _shape(each) for name, each in value.items()}
    return [_shape(each) for each in value] if isinstance(value, list) else type(value).__name__


def _captured(name: str) -> Any:
    return json.loads((ROOT / "tests/fixtures/captures" / name).read_text())


def test_a_session_sends_what_claude_code_was_seen_to_send(bench: dict[str, ModuleType]) -> None:
    """The first request and the third, name by name in their order; but for what the model happened to say."""
    first, later = _captured("cc_first_request_opus55.json"), _captured("cc_tool_loop_thinking_returned.json")
    later["body"]["messages"][4]["content"].insert(1, {"type": "text", "text": ""})
    sent, _, size = _request(bench, 0)
    after_two, headers, _ = _request(bench, 2)

    assert json.dumps(_shape(sent)) == json.dumps(_shape(first["body"]))
    assert json.dumps(_shape(after_two)) == json.dumps(_shape(later["body"]))
    assert abs(size - first["bytes"]) < 1000
    own = {"x-api-key", "Connection", "Host", "Content-Length"}
    names = [line.split(": ")[0] for line in later["headers"]]
    assert [line.split(": ")[0] for line in headers] == [name for name in names if name not in own]


def test_a_session_has_one_name_in_its_head_and_in_its_body(bench: dict[str, ModuleType]) -> None:
    body, headers, _ = _request(bench, 1)

    name = bench["sessions"].name_of(7)
    assert json.loads(body["metadata"]["user_id"])["session_id"] == name
    assert f"X-Claude-Code-Session-Id: {name}" in headers
    assert bench["sessions"].name_of(8) != name


def test_a_session_tells_again_what_it_heard(bench: dict[str, ModuleType]) -> None:
    """The answer goes back as its stream said it, with the result of its call behind it; only the cache mark moves on."""
    first, _, _ = _request(bench, 0)
    second, _, _ = _request(bench, 1)
    assembler = Assembler(STRICT)
    for event in map(decode_event, SseReader().feed("".join(bench["traffic"].agent_events(300)).encode())):
        assembler.feed(event)

    *before, answer, results = second["messages"]
    [system] = first["messages"][1]["content"]
    assert before == [first["messages"][0], {**first["messages"][1], "content": system["text"]}]
    assert answer == {"role": "assistant", "content": assembler.message()["content"]}
    assert [block["type"] for block in answer["content"]] == ["thinking", "text", "tool_use"]
    [result] = results["content"]
    assert result["tool_use_id"] == answer["content"][2]["id"]
    assert (system["cache_control"], result["cache_control"]) == ({"type": "ephemeral"}, {"type": "ephemeral"})
    assert {**second, "messages": []} == {**first, "messages": []}


@pytest.mark.parametrize("size", [1_000_000, 4_000_000])
def test_a_grown_session_is_as_large_as_it_says_and_the_mock_finds_its_word(bench: dict[str, ModuleType], size: int) -> None:
    """A load numbers it where ten zeros are: what was never seen from its first words on, a next turn in its last alone. The
    mock looks for its word in the last 64 KB."""
    grown, session = bench["grown"], bench["grown"].grown(bench["claude_code"].ClaudeCode("agent"), 4_999_999_999, size)
    stream = "".join(bench["traffic"].agent_events(300)).replace("0" * 10, "0000000123").encode()
    for _ in range(grown.TURNS):
        session.hear(stream)
    fresh, known = session.counted(fresh=True), session.counted(fresh=False)

    stamp = b"0" * 10
    assert abs(len(known) - size) < size / 20
    assert (fresh.count(stamp), known.count(stamp)) == (3, 1)
    assert fresh.index(stamp) < 2000
    assert len(json.loads(known)["messages"]) == 2 + 2 * grown.TURNS
    assert json.loads(known)["messages"][-1]["content"][0]["content"].startswith("toolu_" + stamp.decode())
    assert known.count(b"answer:agent pace:0") == known[-65536:].count(b"answer:agent pace:0") == 1


def test_a_peer_without_its_program_is_left_out_with_a_word_how_to_name_it(
    bench: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    peers = bench["peer_targets"]
    monkeypatch.delenv("BIFROST", raising=False)
    monkeypatch.setenv("CLIPROXYAPI", "/nowhere/server")

    assert peers.left_out("litellm") == ""
    assert peers.left_out("bifrost") == "bifrost is left out: set BIFROST to the path of its program to have it measured."
    assert peers.left_out("cliproxyapi") == (
        "cliproxyapi is left out: CLIPROXYAPI is /nowhere/server, and no program is there."
    )
    monkeypatch.setenv("BIFROST", sys.executable)
    assert peers.left_out("bifrost") == ""


def test_the_named_programs_are_asked_where_they_take_messages(
    bench: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    backend, cases = bench["backend"].Backend(4711), {case.key: case for case in bench["cases"].CASES}
    for variable in ("BIFROST", "CLIPROXYAPI"):
        monkeypatch.setenv(variable, sys.executable)

    bifrost, proxy = (bench["peer_targets"].PEERS[name](tmp_path, backend) for name in ("bifrost", "cliproxyapi"))
    asked = [(each.path(cases["stream"]), each.model(cases["translated"])) for each in (bifrost, proxy)]
    configs = [json.loads(next(each.folder.glob("config.*")).read_text()) for each in (bifrost, proxy)]
    assert asked == [("/anthropic/v1/messages", "openai/mock"), ("/v1/messages", "chat")]
    assert configs[0]["providers"]["anthropic"]["network_config"]["base_url"] == "http://127.0.0.1:4711"
    assert configs[1]["claude-api-key"][0]["base-url"] == "http://127.0.0.1:4711"
    assert (bifrost.command[0], proxy.command[0]) == (sys.executable, sys.executable)


def test_silence_is_waited_for_until_nothing_is_put_off(
    bench: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that writes a quarter of a second after the last request, and once more: all of it is in the case's time."""
    machine, now = bench["machine"], [100.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(machine, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    monkeypatch.setattr(machine, "cpu_of", lambda pids: 0.01 * sum(now[0] >= at for at in (100.25, 100.5)))

    machine.settle([1], 0.4)
    assert machine.cpu_of([1]) == 0.02
    assert 100.9 <= now[0] < 101.2


def test_every_part_that_has_a_clock_is_a_function_of_the_gateway(bench: dict[str, ModuleType]) -> None:
    parts = {**bench["parts"].PARTS, **bench["parts"].STATEMENTS}
    named = [name for names in parts.values() for name in names]

    assert len({bench["part_clocks"].function_named(name) for name in named}) == len(named)


def test_the_clock_of_a_part_stands_still_while_another_part_runs_inside(
    bench: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0]
    monkeypatch.setattr(bench["part_clocks"], "time", SimpleNamespace(thread_time_ns=lambda: now[0]))

    def spend(nanoseconds: int) -> None:
        now[0] += nanoseconds

    clocks = bench["part_clocks"].Clocks()
    inner = clocks.timed("inner", spend)

    def outer() -> None:
        spend(3)
        inner(10)
        spend(4)

    clocks.timed("outer", outer)()
    assert clocks.taken() == {threading.current_thread().name: {"inner": 10, "outer": 7}}


@pytest.mark.slow
def test_the_clock_keeps_the_time_of_threads_that_have_ended(bench: dict[str, ModuleType]) -> None:
    """A sum over the threads that are there would say nothing of 0.3 s."""
    with subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        before = bench["machine"].cpu_of([child.pid])
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "burnt\n"
        spent = bench["machine"].cpu_of([child.pid]) - before
        child.stdin.write("\n")
    assert 0.3 <= spent < 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "given", "told"),
    [
        ("core.py", ("--rounds", "1"), "stream of 300 events"),
        ("store.py", ("--rounds", "1", "--blocks", "10"), "one look-up"),
        *(
            (script, ("--help",), "usage: ")
            for script in ("gateway.py", "compare.py", "parts.py", "peers.py", "policies.py")
        ),
    ],
)
def test_a_script_still_runs(script: str, given: tuple[str, ...], told: str) -> None:
    """Nobody else calls what they call. Those that need a compiler, a peer or minutes are only loaded, with all they use."""
    ran = subprocess.run(
        [sys.executable, str(ROOT / "bench" / script), *given], capture_output=True, text=True, timeout=60, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert told in ran.stdout
