"""What is written in one turn of the loop: together, in order, and nothing lost."""

import asyncio
import gc
import socket
import weakref
from collections.abc import Callable
from typing import cast

import pytest
import uvloop

from clew.http.transport_writer import WriteBatch, write_batch_of


class Plug:
    """A transport that notes when something is written, in a list that it shares with others."""

    def __init__(self, name: str, noted: list[str], *, broken: bool = False) -> None:
        self.name = name
        self.closed = False
        self._noted = noted
        self._broken = broken

    def write(self, data: bytes) -> None:
        """As transports do (see below), it takes nothing once it was given up."""
        if self._broken:
            raise RuntimeError("the handler is closed")
        if not self.closed:
            self._noted.append(f"{self.name} {data.decode()}")

    def writelines(self, parts: list[bytes]) -> None:
        self.write(b"".join(parts))

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True


def say(turn: WriteBatch, plug: Plug, *words: str) -> None:
    for word in words:
        turn.write(cast("asyncio.Transport", plug), word.encode())


def test_what_is_written_in_a_turn_goes_out_at_its_end_in_order() -> None:
    async def turns() -> tuple[list[str], list[str]]:
        noted: list[str] = []
        turn, one, other = write_batch_of(asyncio.get_running_loop()), Plug("one", noted), Plug("other", noted)
        say(turn, one, "a")
        say(turn, other, "a")
        say(turn, one, "b")
        before = list(noted)
        await asyncio.sleep(0)
        say(turn, other, "b")
        await asyncio.sleep(0)
        return before, noted

    assert asyncio.run(turns()) == ([], ["one a", "other a", "one b", "other b"])


def test_a_turn_that_is_ended_early_says_everything_once() -> None:
    async def turns() -> list[str]:
        noted: list[str] = []
        turn, plug = write_batch_of(asyncio.get_running_loop()), Plug("one", noted)
        say(turn, plug, "a")
        turn.end()
        say(turn, plug, "b")
        await asyncio.sleep(0)
        return noted

    assert asyncio.run(turns()) == ["one a", "one b"]


def test_what_is_long_does_not_wait_nor_does_what_was_written_before() -> None:
    """In one turn the loop may read thirty times from a fast backend: its client must be known to be behind after the first."""

    async def turns() -> list[str]:
        noted: list[str] = []
        turn, plug = write_batch_of(asyncio.get_running_loop()), Plug("one", noted)
        say(turn, plug, "a", "b" * 70_000, "c")
        return list(noted)

    assert asyncio.run(turns()) == ["one a", "one " + "b" * 70_000]


def test_several_pieces_go_out_behind_what_waits_for_their_connection() -> None:
    """And what waits for others goes on waiting."""

    async def turns() -> list[str]:
        noted: list[str] = []
        turn, one, other = write_batch_of(asyncio.get_running_loop()), Plug("one", noted), Plug("other", noted)
        say(turn, other, "a")
        turn.writelines(cast("asyncio.Transport", one), [b"a", b"b"])
        say(turn, one, "c")
        turn.writelines(cast("asyncio.Transport", one), [b"d", b"e"])
        return noted

    assert asyncio.run(turns()) == ["one ab", "other a", "one c", "one de"]


def test_a_connection_that_was_given_up_gets_nothing_and_the_others_all() -> None:
    async def turns() -> list[str]:
        noted: list[str] = []
        turn, gone, other = write_batch_of(asyncio.get_running_loop()), Plug("gone", noted), Plug("other", noted)
        say(turn, gone, "a")
        say(turn, other, "a")
        gone.abort()
        await asyncio.sleep(0)
        return noted

    assert asyncio.run(turns()) == ["other a"]


@pytest.mark.parametrize("loops", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("later", [0, 2], ids=["given up", "closed meanwhile"])
def test_nor_does_a_transport_of_any_loop(
    loops: Callable[[], asyncio.AbstractEventLoop], later: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither takes, raises nor logs anything: so nobody has to ask it before each write."""

    async def turns() -> bytes:
        ours, theirs = socket.socketpair()
        with theirs:
            loop = asyncio.get_running_loop()
            transport, _ = await loop.create_connection(asyncio.Protocol, sock=ours)
            turn = write_batch_of(loop)
            transport.abort()
            for _ in range(later):
                await asyncio.sleep(0)
            for _ in range(4):
                turn.write(transport, b"a")
            turn.end()
            return await loop.run_in_executor(None, theirs.recv, 99)

    with asyncio.Runner(loop_factory=loops) as runner:
        assert runner.run(turns()) == b""
    assert caplog.records == []


def test_a_connection_that_fails_takes_no_other_with_it(caplog: pytest.LogCaptureFixture) -> None:
    async def turns() -> tuple[list[str], bool]:
        noted: list[str] = []
        turn, broken, other = (
            WriteBatch(asyncio.get_running_loop()),
            Plug("broken", noted, broken=True),
            Plug("other", noted),
        )
        say(turn, broken, "a")
        say(turn, other, "a")
        await asyncio.sleep(0)
        return noted, broken.closed

    assert asyncio.run(turns()) == (["other a"], True)
    assert "writing to a connection failed" in caplog.text


def test_nothing_is_kept_of_a_loop_that_is_over() -> None:
    """A process may have many loops, one after the other."""

    async def turns() -> "weakref.ref[asyncio.AbstractEventLoop]":
        write_batch_of(asyncio.get_running_loop())
        return weakref.ref(asyncio.get_running_loop())

    loops = [asyncio.run(turns()) for _ in range(3)]
    gc.collect()
    assert [loop() is None for loop in loops] == [True, True, False]


def test_connections_of_a_loop_share_its_turns() -> None:
    async def turns() -> WriteBatch:
        turn = write_batch_of(asyncio.get_running_loop())
        assert turn is write_batch_of(asyncio.get_running_loop())
        return turn

    assert asyncio.run(turns()) is not asyncio.run(turns())
