"""What a client of the Responses API sends back of an answer, and whose thoughts its maker gets for it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clew.store.text import exchange_line
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.engine.chatting import chat
from tests.engine.gate import KEY, Gate, claude
from tests.engine.talk import refusals
from tests.gateway.responding import MODEL, THINKS, TOOL, Json, asked_of, create, response, result_of
from tests.manifest import proves

OTHER_KEY = "the-key-of-another"
LOOP = "[[scenario:loop]] "


@pytest.fixture
def sim(simulators: StartSimulator) -> Simulator:
    return simulators(scenario="thinking", stance={"prefix_enforcement": "on"})


@pytest.fixture
def gate(tmp_path: Path, sim: Simulator) -> Iterator[Gate]:
    """Without a store: a seal is all that it knows of an answer."""
    with Gate(tmp_path, claude(sim), others={OTHER_KEY: "somebody"}, store=False) as gate:
        yield gate


def user(words: str) -> Json:
    return {"role": "user", "content": words}


def flipped(seal: str) -> str:
    """With another letter in the middle."""
    at = len(seal) // 2
    return seal[:at] + ("A" if seal[at] != "A" else "B") + seal[at + 1 :]


SPOILT = {"flipped": flipped, "cut": lambda seal: seal[:-7], "empty": lambda seal: "clew2."}


@proves("case:96")
@pytest.mark.parametrize("how", [*SPOILT, "of another principal"])
def test_a_seal_that_does_not_open_takes_its_thought_along_and_nothing_else(gate: Gate, sim: Simulator, how: str) -> None:
    """The request is answered, without that thought, and the log says why it is missing."""
    said = response(create(gate, [user("Hello")], store=False))["output"]
    spoil = SPOILT.get(how, str)
    items = [{**item, "encrypted_content": spoil(item["encrypted_content"])} if "summary" in item else item for item in said]
    key = OTHER_KEY if how == "of another principal" else KEY
    answer = create(gate, [user("Something else"), *items, user("And now?")], key=key, store=False)

    assert answer.status == 200
    assert refusals(sim) == []
    blocks = asked_of(sim)[-1]["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["text"]
    assert "left-out=1" in answer.headers["x-clew-thinking"]


def test_the_log_says_which_api_the_client_speaks_and_names_places_in_its_own_request(
    tmp_path: Path, sim: Simulator
) -> None:
    own = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
    said = {"role": "assistant", "content": "Yes."}
    with Gate(tmp_path, claude(sim)) as gate:
        create(gate, [user("Hello"), own, said, user("And now?")])
        assert gate.store is not None
        [exchange] = gate.store.exchanges("local", limit=1)

    assert exchange.dialect == "openai-responses"
    assert "client: Responses" in exchange_line(exchange)
    assert ("input.1", "left out") in [(change.path, change.what) for change in exchange.changes]


@proves("case:119")
def test_threads_of_one_session_at_once_get_each_their_own(tmp_path: Path, simulators: StartSimulator) -> None:
    """The vendor numbers its calls anew in each conversation, so the two have the same ids; and the client lost its thoughts."""
    kimi = simulators(kind="kimi-chat", realm="kimi")
    with Gate(tmp_path, chat(kimi, "kimi")) as gate, ThreadPoolExecutor(2) as pool:
        threads = [Thread(gate, name, f"{LOOP}{name} reads a file.") for name in ("first", "second")]
        for _ in range(3):
            list(pool.map(Thread.step, threads))

    assert refusals(kimi) == []
    bodies = asked_of(kimi)
    for thread in threads:
        [last] = [body for body in bodies if len(body["messages"]) == 5 and thread.words in str(body["messages"][0])]
        answers = [message for message in last["messages"] if message["role"] == "assistant"]
        assert [message["reasoning_content"] for message in answers] == thread.thoughts[:2]
    ids = [[call["id"] for message in body["messages"] for call in message.get("tool_calls", ())] for body in bodies[-2:]]
    assert ids[0] == ids[1] != []


class Thread:
    """A thread of Codex': it sends everything back but the thoughts."""

    def __init__(self, gate: Gate, name: str, words: str) -> None:
        self.words = words
        self.thoughts: list[str] = []
        self._gate = gate
        self._name = name
        self._items: list[Json] = [user(words)]

    def step(self) -> None:
        body = {"model": MODEL, "tools": [TOOL], "reasoning": THINKS, "input": self._items, "store": False}
        heads = {"authorization": f"Bearer {KEY}", "anthropic-version": "", "session-id": "s", "thread-id": self._name}
        said = response(self._gate.ask(body, path="/v1/responses", headers=heads))["output"]
        self.thoughts += [item["summary"][0]["text"] for item in said if item["type"] == "reasoning"]
        kept = [item for item in said if item["type"] != "reasoning"]
        self._items += [*kept, *(result_of(item) for item in kept if item["type"] == "function_call")]
