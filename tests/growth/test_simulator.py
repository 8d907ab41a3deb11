"""A simulator's journal, answers and judges with n and 4n of each thing, through all that writes or reads them."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from clew.http.message import HttpRequest, RequestHead
from clew.simulator.answers import ModelAnswer
from clew.simulator.anthropic.judge import judge
from clew.simulator.anthropic.memory import CacheUse, GivenThinking, PromptCache
from clew.simulator.anthropic.replies import MessageAnswer, events, message
from clew.simulator.anthropic.server import MessagesServer
from clew.simulator.fault_effects import apply_faults
from clew.simulator.faults import FaultQueue, parse
from clew.simulator.identity import IdMaker
from clew.simulator.interfaces import Account, BlockFate, JudgeVerdict, Prompt
from clew.simulator.journal import Journal, JournalEntry, entries_json
from clew.simulator.openai_chat.judge import judge_chat
from clew.simulator.openai_chat.memory import AnswerMemory
from clew.simulator.openai_chat.vendors import chat_vendors
from clew.simulator.openai_responses.judge.judging import judge_responses
from clew.simulator.openai_responses.memory import GivenOutput, OutputMemory
from clew.simulator.openai_responses.server import ResponsesModel
from clew.simulator.openai_responses.stream import events as response_events
from clew.simulator.openai_responses.vendors import responses_vendors
from clew.simulator.player import PlayedTurn, TurnContext, play_turn
from clew.simulator.script import Act, CallTool, Pause, Say, ScriptTurn, SendBlock, SendEvent, SendPings, Think
from clew.simulator.server import stance
from clew.simulator.steps import body_of
from clew.simulator.turns import state_of
from clew.simulator.vendor_server import SimulatorSettings, control_answer
from tests.growth.requests import REQUESTS
from tests.growth.work import check_growth, each_with

N = 32
FEW = 24
"""For requests that are decoded: Python reuses some 80 free objects of each type, and only the rest of 4n would count."""

pytestmark = pytest.mark.slow


def request(body: bytes = b"{}", *headers: tuple[str, str], path: str = "/v1/messages", method: str = "POST") -> HttpRequest:
    return HttpRequest(RequestHead(method, path, (("x-api-key", "sim-a-1"), *headers), "1.1", keep_alive=True), body)


# The journal.


class Record(NamedTuple):
    """One request, and what is recorded about it."""

    request: HttpRequest
    verdict: JudgeVerdict = JudgeVerdict()
    answer: ModelAnswer = ModelAnswer(items=(), stop_reason="end_turn")


def fates(n: int) -> JudgeVerdict:
    blocks = (BlockFate(path=f"messages.{i}.content.0", maker="m", fate="kept") for i in range(n))
    return JudgeVerdict(prompt=Prompt(blocks=tuple(blocks)))


def said(n: int) -> ModelAnswer:
    return ModelAnswer(items=played(ScriptTurn((Say("Hello."),) * n)).items, stop_reason="end_turn")


RECORDS: dict[str, Callable[[int], list[Record]]] = {
    "requests": lambda n: [Record(request())] * n,
    "headers": lambda n: [Record(request(b"{}", *((f"x-{i}", "1") for i in range(n))))],
    "members of a body": lambda n: [Record(request(json.dumps(list(range(n))).encode()))],
    "lines of a body": lambda n: [Record(request(b"[1" + b",\n1" * n + b"]"))],
    "bytes of a body that is no JSON": lambda n: [Record(request(b"x" * 1000 * n))],
    "bytes of a body that is no text": lambda n: [Record(request(b"\xff" * 1000 * n))],
    "thinking blocks": lambda n: [Record(request(), fates(n))],
    "blocks of an answer": lambda n: [Record(request(), answer=said(n))],
    "faults of an answer": lambda n: [Record(request(), answer=played(ScriptTurn((parse("lump"),) * n)))],
    "large bodies": lambda n: [Record(request(b"x" * 40_000))] * n,
}


def write(records: list[Record], journal: Journal) -> list[JournalEntry]:
    entries: list[JournalEntry] = []
    for record in records:
        entry = journal.open(record.request, "req_1", "a")
        entry.record_verdict(record.verdict)
        turn = PlayedTurn(answer=record.answer, scenario="default", turn=0)
        entry.record_answer(turn, id="msg_1", model="m", stop="end_turn", stream=True)
        journal.close(entry, "whole")
        entries.append(entry)
    return entries


def to_file(records: list[Record], file: Path) -> None:
    journal = Journal(file, body_budget=400_000)
    write(records, journal)
    journal.close_file()
    file.unlink()


def polled(records: list[Record], file: Path) -> None:
    """A test that asks after each request for what is new."""
    journal = Journal()
    for number, record in enumerate(records):
        write([record], journal)
        entries_json(journal.since(number))


def read_whole(records: list[Record], file: Path) -> None:
    journal = Journal()
    write(records, journal)
    entries_json(journal.since())


def read_one_by_one(records: list[Record], file: Path) -> None:
    journal = Journal()
    for entry in write(records, journal):
        found = journal.find(entry.n)
        assert found is entry
        found.as_json()


def over_http(records: list[Record], file: Path) -> None:
    simulator = MessagesServer(SimulatorSettings(stance=stance()), judge)
    for entry in write(records, simulator.journal):
        control_answer(simulator, request(path=f"/_sim/journal/{entry.n}/body", method="GET"))
    control_answer(simulator, request(path="/_sim/journal?since=0", method="GET"))
    control_answer(simulator, request(path="/_sim/reset"))


JOURNAL_READERS: dict[str, Callable[[list[Record], Path], None]] = {
    "a file": to_file,
    "a test that polls": polled,
    "a test at its end": read_whole,
    "a test, entry by entry": read_one_by_one,
    "the control routes": over_http,
}


# Answers.


class Unsigned:
    """A signer whose work does not grow."""

    def sign(self, text: str, *, answer: object) -> str:
        return "c2ln"

    def redact(self, text: str, *, answer: object) -> str:
        return "c2ln"


ASKED: dict[str, Any] = {
    "model": "claude-opus-5",
    "max_tokens": 1_000_000,
    "messages": [{"role": "user", "content": "Hello."}],
    "tools": [{"name": "look", "input_schema": {"type": "object"}}],
}
PROMPT = Prompt(thinking="adaptive", interleaved=True)


def played(turn: ScriptTurn) -> ModelAnswer:
    ids = IdMaker(0).ids("a", "/v1/messages", b"")
    return play_turn(turn, TurnContext(request=ASKED, prompt=PROMPT, signer=Unsigned(), state=state_of(ASKED), ids=ids))


ACTS: dict[str, Callable[[int], tuple[Act, ...]]] = {
    "thoughts": lambda n: (Think("Hm."),) * n,
    "texts": lambda n: (Say("Hello."),) * n,
    "a long text": lambda n: (Say("Hello. " * n),),
    "calls": lambda n: (CallTool("look", {"a": 1}),) * n,
    "members of an input": lambda n: (CallTool("look", {f"key {i}": i for i in range(n)}),),
    "blocks": lambda n: (SendBlock({"type": "odd"}),) * n,
    "events": lambda n: (SendEvent("odd", "{}"),) * n,
    "pings": lambda n: (SendPings(n, 0.1),),
    "pauses": lambda n: (Pause(0.1),) * n,
}


def whole(acts: tuple[Act, ...]) -> MessageAnswer:
    return MessageAnswer(id="msg_1", model="m", answer=played(ScriptTurn(acts)), prompt=PROMPT, cache=CacheUse())


def spoilt(acts: tuple[Act, ...]) -> None:
    steps = (*events(whole(acts)),)
    for fault in ("cut at=1000000", "bad-json after=3", "omit ping", "repeat ping", "index-gap 1", "no-usage", "drip 16"):
        body_of(apply_faults([parse(fault)], steps, "req_1"))


def remembered(acts: tuple[Act, ...]) -> None:
    given = GivenThinking()
    for block in whole(acts).answer.content:
        given.record([block])


ANSWER_WRITERS: dict[str, Callable[[tuple[Act, ...]], object]] = {
    "a stream": lambda acts: body_of(events(whole(acts))),
    "a message": lambda acts: message(whole(acts)),
    "a stream that goes wrong": spoilt,
    "the memory of given thinking": remembered,
}


# Judges.


def judged(raw: bytes) -> None:
    judge(
        raw,
        {"anthropic-version": "2023-06-01"},
        kind="anthropic",
        account=Account(name="a"),
        stance=stance({"without_grades": list("ABCD")}),
        path="/v1/messages",
    )


def judged_as_chat(raw: bytes) -> None:
    vendor = chat_vendors()["openrouter"]
    judge_chat(raw, vendor=vendor, stance=stance({"without_grades": list("ABCD")}), memory=AnswerMemory(b"secret"))


def judged_as_responses(raw: bytes) -> None:
    vendor, lax = responses_vendors()["openai-responses"], stance({"without_grades": list("ABCD")})
    memory = OutputMemory(b"secret")
    items = tuple(item for item in json.loads(raw)["input"] if item.get("type") in ("reasoning", "function_call"))
    memory.record(
        "a", GivenOutput(model="m", items=items, thoughts={f"rs_{n}": f"{n:04}, a thought." for n in range(len(items))})
    )
    verdict = judge_responses(raw, vendor=vendor, stance=lax, memory=memory, account="a")
    assert verdict.case is not None
    ids = IdMaker(0, "call").ids("a", "/", raw)
    _, whole = ResponsesModel(scenario="interleaved", seed=0).answer(verdict.case, ids=ids, created=0)
    for _ in response_events(whole):
        pass


def cached(raw: bytes) -> None:
    PromptCache(lambda: 0.0).use(json.loads(raw), owner="a", minimum=0)


JUDGES: dict[str, Callable[[bytes], None]] = {"Messages": judged, "Chat Completions": judged_as_chat, "the cache": cached}


def responses_request(*items: Any, **more: Any) -> bytes:
    question = {"role": "user", "content": "Hi."}
    return json.dumps({"model": "gpt-5.6", "input": [question, *items], **more}).encode()


def step(n: int, thought: str = "") -> tuple[Any, ...]:
    """Reasoning, a call and its output."""
    reasoning = {"type": "reasoning", "id": f"rs_{n}", "summary": [{"type": "summary_text", "text": thought}]}
    call = {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": "look", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": f"call_{n}", "output": f"{n:04}, a thought."}
    return reasoning, call, output


RESPONSES: dict[str, Callable[[int], bytes]] = {
    "steps": lambda n: responses_request(*(item for i in range(n) for item in step(i))),
    "reasoning in a row": lambda n: responses_request(*(step(i)[0] for i in range(n))),
    "messages": lambda n: responses_request(*({"role": "assistant", "content": f"{i}"} for i in range(n))),
    "parts": lambda n: responses_request({"role": "user", "content": [{"type": "input_text", "text": "a"}] * n}),
    "tools": lambda n: responses_request(tools=[{"type": "function", "name": f"t{i}"} for i in range(n)]),
    "tools in a namespace": lambda n: responses_request(
        tools=[{"type": "namespace", "name": "ns", "tools": [{"type": "custom", "name": f"t{i}"} for i in range(n)]}]
    ),
    "text": lambda n: responses_request({"role": "user", "content": "0001, a thought." * n}),
}


@pytest.mark.parametrize("repeated", list(RESPONSES))
def test_a_judged_and_answered_request_to_responses_costs_work_in_proportion(repeated: str) -> None:
    check_growth(RESPONSES[repeated], judged_as_responses, FEW)


@pytest.mark.parametrize(("repeated", "reader"), each_with(RECORDS, JOURNAL_READERS))
def test_a_journal_costs_work_in_proportion(repeated: str, reader: str, tmp_path: Path) -> None:
    check_growth(RECORDS[repeated], partial(JOURNAL_READERS[reader], file=tmp_path / "journal"), N)


@pytest.mark.parametrize(("repeated", "writer"), each_with(ACTS, ANSWER_WRITERS))
def test_an_answer_costs_work_in_proportion(repeated: str, writer: str) -> None:
    check_growth(ACTS[repeated], ANSWER_WRITERS[writer], N)


@pytest.mark.parametrize(("repeated", "reader"), each_with(REQUESTS, JUDGES))
def test_a_judged_request_costs_work_in_proportion(repeated: str, reader: str) -> None:
    check_growth(REQUESTS[repeated], JUDGES[reader], FEW)


def test_a_queue_of_faults_costs_work_in_proportion() -> None:
    def take_all(faults: list[str]) -> None:
        queue = FaultQueue()
        for fault in faults:
            queue.put(parse(fault))
        for _ in faults:
            assert queue.take("/v1/messages") is not None
        queue.waiting()

    check_growth(lambda n: ["lump"] * n, take_all, N)
