"""An agent's session of forty turns, as Claude Code has it: each turn says all that was said, and the answers in it are
those that came, put together from their streams.

Some sessions go side by side, each on a connection of its own. A stretch of their turns is measured on one target after the
other, so that it shows how the cost of a turn grows with what came before it, and a slow moment hits all targets alike. The
client is not measured.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from cases import SESSION
from claude_code import PATH, ClaudeCode, marked
from loads import Load
from machine import the_core
from measuring import Bench
from progress import say
from targets import Target
from traffic import STAMP

__all__ = ["FIRST_NUMBER", "LONG", "USUAL", "Caller", "Plan", "Session", "Sessions", "answered", "blocks_in", "name_of"]

TENTH = 10
RESULT = 5_000
"""Letters that a tool brings."""
_STAMP = STAMP.encode()
_LAST_CHUNK = b"\r\n0\r\n\r\n"
FIRST_NUMBER = 5_000_000_000
"""Of a session: no answer of the mock has such a number."""


def name_of(number: int) -> str:
    """A session's own id. That of number 0 has the ten zeros that a load counts up."""
    return f"cb88942d-f4ee-4889-a4b5-a3{number:010d}"


class Session:
    """What one client said and heard. `number` tells it from others, `result` is how much each tool brings."""

    def __init__(self, client: ClaudeCode, number: int, result: int = RESULT) -> None:
        self._client = client
        self._result = client.words(result)
        self._last: list[dict[str, Any]] = client.opening(f"{number:010d}: go on.")
        self._said: list[bytes] = []
        self.number = number
        self.headers = client.headers(name_of(number))

    def body(self) -> bytes:
        """All that was said so far, with a cache mark on the last of it."""
        *rest, last = self._last
        messages = [*self._said, *map(_encoded, rest), _encoded(marked(last))]
        return self._client.body(name_of(self.number), b",".join(messages))

    def counted(self, *, fresh: bool) -> bytes:
        """The same for a load, which puts another number into it each time: into the last result, so that only that is
        new; or also into the first question and the session's name, so that nobody has seen any of it."""
        before, said, rest = self.body().rpartition(b'"content":"toolu_')
        body = before + said + _STAMP + rest[len(_STAMP) :]
        return body.replace(b"%010d" % self.number, _STAMP) if fresh else body

    def hear(self, stream: bytes) -> None:
        """An answer came; its calls have their results at once."""
        blocks = blocks_in(stream)
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        self._said += map(_encoded, self._last)
        self._said.append(_encoded({"role": "assistant", "content": blocks}))
        self._last = [{"role": "user", "content": [self._brought(id) for id in calls]}]

    def _brought(self, id: str) -> dict[str, Any]:
        return {"tool_use_id": id, "type": "tool_result", "content": f"{id}\n{self._result}", "is_error": False}


def blocks_in(stream: bytes) -> list[dict[str, Any]]:
    """The blocks of a streamed answer, as they go back with the next turn."""
    told = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith(b"data: ")]
    blocks: list[dict[str, Any]] = [event["content_block"] for event in told if event["type"] == "content_block_start"]
    for event in told:
        if event["type"] == "content_block_delta":
            _add(blocks[event["index"]], event["delta"])
    return [{**block, "input": json.loads(block["input"])} if block.get("input") else block for block in blocks]


def _add(block: dict[str, Any], delta: dict[str, str]) -> None:
    for name, words in delta.items():
        if name == "partial_json":
            block["input"] = (block["input"] or "") + words
        elif name != "type":
            block[name] += words


def _encoded(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


class Caller:
    """A session with one target, on a connection that is kept. It reads as much at a time as has come: the client of the
    standard library reads chunk by chunk, which takes several times what the gateway takes for the answer."""

    def __init__(self, target: Target, session: Session) -> None:
        self.session = session
        self._port = target.port
        self._connection = self._connected()
        lines = (f"POST {PATH} HTTP/1.1", f"Host: 127.0.0.1:{target.port}", *session.headers, *target.headers)
        self._head = "\r\n".join(lines).encode()

    def _connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._port), timeout=60)

    def renew(self) -> None:
        """Go on with a new connection: servers close those that were silent for long."""
        self.close()
        self._connection = self._connected()

    def ask(self, body: bytes) -> bytes:
        self._connection.sendall(b"%b\r\nContent-Length: %d\r\n\r\n" % (self._head, len(body)))
        self._connection.sendall(body)
        answer = bytearray()
        while not answer.endswith(_LAST_CHUNK):
            read = self._connection.recv(1 << 18)
            answer += read
            if not read:
                break
        head, _, chunks = bytes(answer).partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 ") or b"message_stop" not in chunks:
            sys.exit(f"a session was answered {head!r}: {chunks[-500:]!r}")
        return _joined(chunks)

    def turn(self) -> None:
        self.session.hear(self.ask(self.session.body()))

    def close(self) -> None:
        self._connection.close()


def _joined(chunks: bytes) -> bytes:
    """What these chunks say."""
    found: list[bytes] = []
    at = 0
    while (end := chunks.find(b"\r\n", at)) >= 0 and (size := int(chunks[at:end], 16)):
        found.append(chunks[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
    return b"".join(found)


def answered(callers: Sequence[Caller]) -> Load:
    """One turn of each, side by side."""
    core, bodies, answers = the_core(1), [caller.session.body() for caller in callers], [b""] * len(callers)

    def ask(number: int) -> None:
        os.sched_setaffinity(0, {core})
        answers[number] = callers[number].ask(bodies[number])

    with ThreadPoolExecutor(SESSION.connections) as pool:
        list(pool.map(ask, range(len(callers))))
    for caller, answer in zip(callers, answers, strict=True):
        caller.session.hear(answer)
    return Load(**dict.fromkeys(Load.__dataclass_fields__, 0) | {"done": len(answers)})


class Plan(NamedTuple):
    """How many sessions go side by side, and their turns in stretches, of which each is measured as one."""

    many: int
    stretches: tuple[int, ...]
    result: int = RESULT

    @property
    def turns(self) -> int:
        return sum(self.stretches)


USUAL = Plan(16, (7, 5, 23, 5))
"""Forty turns. The tenth is one of five, and so is the last."""
LONG = Plan(2, (40, 160, 160, 40), result=500)
"""Four hundred turns of little each: the history is long, and what is new is not."""


class Sessions:
    """`measure` a round; `spent` has what each round took."""

    def __init__(self, bench: Bench, plan: Plan = USUAL, first: int = FIRST_NUMBER) -> None:
        """`first` is the number of the first session. No two of a run may have the same."""
        self._bench = bench
        self._plan = plan
        self._first = first
        self._client = ClaudeCode(SESSION.answer)
        self._turns: dict[str, list[list[float]]] = {}

    def measure(self, number: int) -> None:
        """Sessions that nobody has seen, told apart by the number of the round."""
        targets, many = self._bench.targets, self._plan.many
        numbers = range(self._first + number * many, self._first + (number + 1) * many)
        callers = {
            target.name: [Caller(target, Session(self._client, each, self._plan.result)) for each in numbers]
            for target in targets
        }
        taken: dict[str, list[float]] = {target.name: [] for target in targets}
        for place, turns in enumerate(self._plan.stretches):
            for target in targets[:: -1 if place % 2 else 1]:
                each = self._stretch(target, callers[target.name], turns)
                taken[target.name] += [each] * turns
            say(f"{many} sessions of {self._plan.turns} turns: {len(taken[targets[0].name])} turns are over")
        for target in targets:
            self._turns.setdefault(target.name, []).append(taken[target.name])
            for caller in callers[target.name]:
                caller.close()

    def _stretch(self, target: Target, callers: Sequence[Caller], turns: int) -> float:
        """Microseconds for a turn of one session, the mean of all."""

        def load() -> Load:
            done = sum(answered(callers).done for _ in range(turns))
            return Load(**dict.fromkeys(Load.__dataclass_fields__, 0) | {"done": done})

        for caller in callers:  # meanwhile all other targets were asked
            caller.renew()
        return self._bench.sample(SESSION, target, load).each

    def spent(self, name: str) -> list[float]:
        """Microseconds of one whole session, in each round."""
        return [sum(turns) for turns in self._turns[name]]

    def growth(self, name: str, early: int = TENTH) -> float:
        """The last turn, in times of an early one."""
        return statistics.median(turns[-1] / turns[early - 1] for turns in self._turns[name])
