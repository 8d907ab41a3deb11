"""A run and the table of runs: bounded, anyone who listens or does not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clew.admin.chat import runs as table
from clew.admin.chat.runs import KEPT_SECONDS, ChatRun, ChatRuns
from clew.admin.problems import AdminProblem

START = {"type": "start"}
HERE = ("ann", "one")


async def nothing() -> None:
    pass


def part(text: str) -> Any:
    return {"type": "text-delta", "id": "t", "delta": text}


async def heard(run: ChatRun) -> bytes:
    return b"".join([frame async for frame in run.follow([START])])


def stopper(run: ChatRun) -> Callable[[], Awaitable[None]]:
    async def stop() -> None:
        run.end()

    return stop


def test_a_long_answer_costs_no_more_than_its_bound_and_cannot_be_told_again() -> None:
    """reliability 3: bounded memory."""

    async def scene() -> tuple[int, bool, bytes]:
        run = ChatRun(most_bytes=10_000)
        run.begin([START], nothing)
        sizes: list[int] = []
        for _ in range(500):
            run.send(part("x" * 100))
            sizes.append(run.size)
        run.end()
        return max(sizes), await run.replay_head() is None, await heard(run)

    most, lost, said = asyncio.run(scene())
    assert most <= 10_000
    assert lost
    assert b'"type":"error"' in said and said.endswith(b"data: [DONE]\n\n")


def test_anyone_who_listens_along_hears_all_of_a_long_answer() -> None:
    async def scene() -> bytes:
        run = ChatRun(most_bytes=1_000)
        run.begin([START], nothing)
        listening = asyncio.create_task(heard(run))
        for number in range(200):
            run.send(part(f"{number};"))
            await asyncio.sleep(0)
        run.end()
        return await listening

    said = asyncio.run(scene())
    assert [number for number in range(200) if f'"{number};"'.encode() not in said] == []


def test_an_end_that_nobody_hears_is_kept_for_a_while_and_one_that_was_heard_is_not() -> None:
    async def scene() -> list[bool]:
        now = 0.0
        runs = ChatRuns(clock=lambda: now)
        found: list[bool] = []
        for listens in (False, True):
            run = await runs.begin(HERE)
            run.begin([START], nothing)
            run.end()
            runs.finish(HERE, run)
            if listens:
                await heard(run)
            found.append(runs.find(HERE) is run)
            now += KEPT_SECONDS + 1
            found.append(runs.find(HERE) is not None)
        return found

    assert asyncio.run(scene()) == [True, False, False, False]


def test_the_ends_that_are_kept_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "KEPT_BYTES", 2_000)

    async def scene() -> list[bool]:
        runs = ChatRuns()
        for number in range(4):
            run = await runs.begin(("ann", str(number)))
            run.begin([START], nothing)
            run.send(part("x" * 800))
            run.end()
            runs.finish(("ann", str(number)), run)
        return [runs.find(("ann", str(number))) is not None for number in range(4)]

    assert asyncio.run(scene()) == [False, False, True, True]


def test_there_is_a_bound_to_answers_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MOST", 2)

    async def scene() -> int:
        runs = ChatRuns()
        for number in range(2):
            (await runs.begin(("ann", str(number)))).begin([START], nothing)
        with pytest.raises(AdminProblem) as refused:
            await runs.begin(("ann", "2"))
        return refused.value.status

    assert asyncio.run(scene()) == 503


def test_draining_lets_answers_end_and_then_ends_them() -> None:
    async def scene() -> tuple[list[bool], int]:
        runs = ChatRuns()
        quick, slow = [await runs.begin(("ann", name)) for name in ("quick", "slow")]
        for run in (quick, slow):
            run.begin([START], stopper(run))
        asyncio.get_running_loop().call_later(0.01, quick.end)
        await runs.drain(0.05)
        with pytest.raises(AdminProblem) as refused:
            await runs.begin(("ann", "new"))
        return [run.over.is_set() for run in (quick, slow)], refused.value.status

    assert asyncio.run(scene()) == ([True, True], 503)


def test_a_run_that_never_began_is_not_told() -> None:
    async def scene() -> tuple[bool, bool]:
        runs = ChatRuns()
        run = await runs.begin(HERE)
        run.fail()
        runs.finish(HERE, run)
        await run.stop()
        return await run.replay_head() is None, await runs.stop(HERE)

    assert asyncio.run(scene()) == (True, False)


def test_a_principal_has_its_own_bound_beside_that_of_all() -> None:
    """429 says that it is one's own doing, 503 that it is everybody's."""

    async def scene() -> list[tuple[int, dict[str, str]]]:
        held, refused = ChatRuns(), []
        for number in range(2):
            await held.begin(("ann", f"{number}"), 2)
        await held.begin(("bob", "0"), 2)
        for place in (("ann", "2"), ("bob", "1"), ("cid", "0")):
            try:
                (await held.begin(place, 2)).end()
            except AdminProblem as problem:
                refused.append((problem.status, problem.headers))
        return refused

    assert asyncio.run(scene()) == [(429, {"retry-after": "2"})]
