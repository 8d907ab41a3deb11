"""Telling: many at once, each once, in order."""

import asyncio
from unittest.mock import Mock

from clew.engine.over import Alike, Over
from clew.engine.parts import Parts
from clew.engine.telling import MOST, SECONDS, Telling
from clew.model.recording import Recording
from clew.store.values import Exchange
from clew.upstream.pool import Pool


def exchange(id: str) -> Exchange:
    return Exchange(id=id, principal="", thread="", started=0, ended=0, asked_model="", backend="", model="")


def over(id: str, like: str = "") -> Over:
    return Over(exchange(like), id, 0.0, 0.0, 0.0, None, None, "")


class Listener:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def __call__(self, exchange: Exchange, recording: Recording | None) -> None:
        if exchange.id == "odd":
            raise RuntimeError
        self.heard.append(exchange.id)


def test_what_was_noted_is_told_in_a_moment_and_in_order() -> None:
    async def run() -> list[str]:
        listener = Listener()
        telling = Telling(listener)
        telling.note(over("a"))
        telling.note((exchange("b"), None))
        assert listener.heard == []
        await asyncio.sleep(3 * SECONDS)
        return listener.heard

    assert asyncio.run(run()) == ["a", "b"]


def test_what_cannot_be_told_keeps_no_other_from_it() -> None:
    async def run() -> list[str]:
        listener = Listener()
        telling = Telling(listener)
        for id in ("a", "odd", "b"):
            telling.note(over(id))
        telling.tell_all()
        telling.tell_all()
        return listener.heard

    assert asyncio.run(run()) == ["a", "b"]


def test_those_that_went_alike_and_follow_each_other_are_told_together() -> None:
    """So that the order stays, an exchange between two that are alike keeps them apart."""

    async def run() -> list[list[str] | str]:
        told: list[list[str] | str] = []

        def tell_alike(alike: Alike) -> None:
            told.append([over.id for over in alike.overs])

        telling = Telling(lambda exchange, recording: told.append(exchange.id), tell_alike)
        for note in (over("a"), over("b"), over("c", like="other"), (exchange("d"), None), over("e"), over("f")):
            telling.note(note)
        telling.tell_all()
        return told

    assert asyncio.run(run()) == [["a", "b"], ["c"], "d", ["e", "f"]]


def test_no_more_wait_than_may() -> None:
    async def run() -> int:
        listener = Listener()
        telling = Telling(listener)
        for number in range(MOST + 1):
            telling.note(over(str(number)))
        return len(listener.heard)

    assert asyncio.run(run()) == MOST


def test_what_is_told_at_once_is_told_after_what_was_noted_before() -> None:
    """A log in which one line overtakes another would tell a wrong story."""
    listener = Listener()

    async def run() -> list[str]:
        parts = Parts(pool=Pool(), snapshot=Mock(), finished=listener)
        parts.telling.note(over("a"))
        parts.tell(exchange("b"), None)
        return listener.heard

    assert asyncio.run(run()) == ["a", "b"]
