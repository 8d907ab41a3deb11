"""An agent's session of forty turns, as a client has it: each turn says all that was said, and the answers in it are those
that came, put together from their streams.

Many sessions go side by side, and what one turn of all of them costs is measured, so that it shows how the cost of a turn
grows with what came before it. The client is not measured, and all that it encodes and reads is done beside the clock.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cases import Case
from figures import Row
from history import Talk
from loads import Load
from machine import the_core
from measuring import Bench
from targets import Target

__all__ = ["TURNS", "Session", "Sessions", "blocks_in"]

TURNS = 40
TENTH = 10
MANY = 50
_CASE = Case("session", f"session of {TURNS} turns, all of it")
_BYTES = 340_000
_MARK = {"type": "text", "text": "answer:agent pace:0"}


class Session:
    """What one client said and heard. `talk` has what its tools bring; `number` tells it from others."""

    def __init__(self, talk: Talk, number: int) -> None:
        self._results = [message["content"][0]["content"] for message in talk.messages[2::2]]
        self._shell = {name: value for name, value in talk.body.items() if name != "messages"}
        self._said = [_encoded({"role": "user", "content": [{"type": "text", "text": f"{number}: go on."}, _MARK]})]
        self.session = f"session-{number}"

    def body(self) -> bytes:
        """All that was said so far."""
        return _encoded({"messages": [], **self._shell}).replace(b"[]", b"[%b]" % b",".join(self._said), 1)

    def hear(self, stream: bytes) -> None:
        """An answer came; its calls have their results at once."""
        blocks = blocks_in(stream)
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        result = self._results[len(self._said) // 2]
        results = [{"type": "tool_result", "tool_use_id": id, "content": result} for id in calls]
        self._said.append(_encoded({"role": "assistant", "content": blocks}))
        self._said.append(_encoded({"role": "user", "content": [*results, _MARK]}))


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


class Sessions:
    """`measure` one round; `rows` has the medians."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._talk = Talk(_BYTES, foreign_every=0)
        self._taken: dict[str, list[list[float]]] = {}

    def measure(self, first: int) -> None:
        """Sessions numbered from `first` on, which nobody has seen."""
        for target in self._bench.targets:
            sessions = [Session(self._talk, first + number) for number in range(MANY)]
            self._taken.setdefault(target.name, []).append([self._turn(target, sessions) for _ in range(TURNS)])

    def _turn(self, target: Target, sessions: Sequence[Session]) -> float:
        core, bodies, answers = the_core(1), [session.body() for session in sessions], [b""] * len(sessions)

        def talk(at: int) -> None:
            """Every so many sessions share a connection."""
            os.sched_setaffinity(0, {core})
            connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=60)
            for number in range(at, len(sessions), _CASE.connections):
                answers[number] = _asked(connection, target, bodies[number], sessions[number].session)
            connection.close()

        def load() -> Load:
            with ThreadPoolExecutor(_CASE.connections) as pool:
                list(pool.map(talk, range(_CASE.connections)))
            whole = sum(b"message_stop" in answer for answer in answers)
            return Load(**dict.fromkeys(Load.__dataclass_fields__, 0) | {"done": whole, "failed": len(answers) - whole})

        sample = self._bench.sample(_CASE, target, load)
        for session, answer in zip(sessions, answers, strict=True):
            session.hear(answer)
        return sample.each

    def rows(self) -> list[Row]:
        names = [target.name for target in self._bench.targets]
        whole = tuple(statistics.median(map(sum, self._taken[name])) for name in names)
        cells = tuple(f"{each / 1000:,.1f} ms" for each in whole)
        growth = [statistics.median(turns[-1] / turns[TENTH - 1] for turns in self._taken[name]) for name in names]
        return [
            Row(_CASE.name, cells, "", ratios_of=whole),
            Row("its last turn, × its tenth", tuple(f"{each:.2f}×" for each in growth), "aim 1.5×"),
        ]


def _asked(connection: http.client.HTTPConnection, target: Target, body: bytes, session: str) -> bytes:
    own = dict(header.split(": ", 1) for header in target.headers)
    headers = {**own, "content-type": "application/json", "x-claude-code-session-id": session}
    connection.request("POST", target.path(_CASE), body, headers)
    return connection.getresponse().read()
