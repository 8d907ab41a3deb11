"""All that a kept conversation can have many of, by name: its turns with n of it."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from msgspec import structs

from clew.model.change import Change
from clew.model.turn import Bodies, Try, TurnRecord
from tests.build import Json, text, thinking, tool_result, tool_use, user
from tests.store.turns import GLM, NOON, OPUS, recorded, turn

REMINDER = "<system-reminder>Be brief.</system-reminder>"


def _answered(
    i: int, after: int | None = None, *, asked: Any = "Well?", blocks: list[Json] | None = None, **more: Any
) -> TurnRecord:
    """Answer `i`, which followed the answer `after`."""
    said = blocks or [thinking(f"Thought {i}.", f"signature of r{i}"), text(f"Answer {i}.")]
    answer = recorded(
        f"r{i}",
        followed=None if after is None else f"r{after}",
        blocks=tuple(json.dumps(block).encode() for block in said),
        **more,
    )
    return structs.replace(
        turn(answer, at=NOON + i, exchange=answer.id),
        asked=(json.dumps(user(*asked) if isinstance(asked, list) else user(asked)).encode(),),
    )


def _turns(n: int, **more: Any) -> list[TurnRecord]:
    return [_answered(i, i - 1 if i else None, **more) for i in range(n)]


def _after_the_first(n: int) -> list[TurnRecord]:
    return [_answered(0), *(_answered(i, 0) for i in range(1, n))]


def _by_turns(n: int) -> list[TurnRecord]:
    return [_answered(i, i - 1 if i else None, origin=(OPUS, GLM)[i % 2]) for i in range(n)]


def _calls(n: int) -> list[TurnRecord]:
    calls = [tool_use(f"toolu_{i}", path="a") for i in range(n)]
    results = [tool_result(f"toolu_{i}", "b") for i in range(n)]
    return [_answered(0, blocks=calls), _answered(1, 0, asked=results)]


def _failed(n: int) -> list[TurnRecord]:
    """One question that was asked n times, in vain."""
    tries = [
        turn(
            recorded(f"r{i}", followed="r0", blocks=(), keys=()), at=NOON + i, exchange=f"r{i}", outcome="failed", status=502
        )
        for i in range(1, n)
    ]
    return [_answered(0), *tries]


def _unanswered_results(n: int) -> list[TurnRecord]:
    called, answered = _calls(n)
    assert answered.recording is not None
    failed = structs.replace(answered.exchange, outcome="failed", status=502)
    return [
        called,
        structs.replace(answered, exchange=failed, recording=structs.replace(answered.recording, blocks=(), keys=())),
    ]


def _one(n: int, **more: Callable[[int], Any]) -> list[TurnRecord]:
    """One exchange with n of something."""
    whole = _answered(0)
    return [structs.replace(whole, exchange=structs.replace(whole.exchange, **{name: of(n) for name, of in more.items()}))]


def _streamed(n: int) -> list[TurnRecord]:
    event = b'event: content_block_start\ndata: {"type":"content_block_start","content_block":{"type":"text"}}\n\n'
    asked = json.dumps({"messages": [user("Well?")] * n}).encode()
    bodies = Bodies(asked=asked, sent=asked, answered=event * n, times=tuple((i * 10, i / 1000) for i in range(n)))
    whole = _answered(0)
    return [structs.replace(whole, exchange=structs.replace(whole.exchange, streamed=True), bodies=bodies)]


def _agents(n: int) -> Iterator[TurnRecord]:
    yield _answered(0, session="s")
    for i in range(1, n):
        yield _answered(i, session="s", agent=f"agent{i}", thread=f"t{i}")


HISTORIES: dict[str, Callable[[int], list[TurnRecord]]] = {
    "turns": _turns,
    "turns of two makers": _by_turns,
    "rounds of tools": lambda n: [
        _answered(
            i,
            i - 1 if i else None,
            asked=[tool_result(f"toolu_{i - 1}", "b")] if i else "Well?",
            blocks=[tool_use(f"toolu_{i}")],
        )
        for i in range(n)
    ],
    "branches after one turn": _after_the_first,
    "beginnings": lambda n: [_answered(i) for i in range(n)],
    "questions without an answer": lambda n: [
        _answered(0),
        *(turn(at=NOON + i, outcome="failed", status=502) for i in range(1, n)),
    ],
    "threads": lambda n: [_answered(0), *(_answered(i, thread=f"t{i}") for i in range(1, n))],
    "agents": lambda n: list(_agents(n)),
    "thoughts in an answer": lambda n: [_answered(0, blocks=[thinking(f"Hm {i}.", f"s{i}") for i in range(n)])],
    "texts in an answer": lambda n: [_answered(0, blocks=[text("A **word**.")] * n)],
    "calls and their results": _calls,
    "calls without a result": lambda n: _calls(n)[:1],
    "results without an answer": _unanswered_results,
    "attempts at one question": _failed,
    "texts in a question": lambda n: [_answered(0, asked=[text("Well?")] * n)],
    "reminders in a question": lambda n: [_answered(0, asked=[text(REMINDER)] * n + [text("Well?")])],
    "reminders in one text": lambda n: [_answered(0, asked=REMINDER * n + "Well?")],
    "messages in a question": lambda n: [structs.replace(_answered(0), asked=_answered(0).asked * n)],
    "words in a question": lambda n: [_answered(0, asked="well " * 10 * n)],
    "lines in an answer": lambda n: [_answered(0, blocks=[text("well\n" * n)])],
    "changes of a request": partial(
        _one, changes=lambda n: tuple(Change("thinking", f"messages.{i}", "left out", "made by glm") for i in range(n))
    ),
    "tries of a request": partial(_one, tries=lambda n: (Try(backend="glm", status=529, why="busy"),) * n),
    "events in a kept body": _streamed,
}
