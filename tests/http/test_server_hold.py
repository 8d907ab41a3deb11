"""Answers without a task: who holds a responder, who is told that it must end, and who has the next turn."""

import asyncio
import threading
from collections.abc import Awaitable

import pytest

from clew.http.connection import Connection
from clew.http.message import HttpRequest, ServerLimits
from clew.http.responder import Responder
from clew.http.server import Server
from tests.http.test_server import GET, Serving
from tests.waiting import forever, turns, until

pytestmark = pytest.mark.slow


class Later:
    """Answers a moment later, from a callback; on `cancel` it goes on in a task."""

    def __init__(self, seconds: float = 0.01) -> None:
        self.seconds = seconds
        self.told: list[str] = []
        self.running = 0
        self.most = 0
        self.ended = threading.Event()

    def __call__(self, request: HttpRequest, respond: Responder) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        respond.hold(_Held(self, request, respond))
        respond.after = self.after

    def after(self) -> None:
        self.running -= 1


class _Held:
    def __init__(self, owner: Later, request: HttpRequest, respond: Responder) -> None:
        self.owner, self.request, self.respond = owner, request, respond
        self.timer = asyncio.get_running_loop().call_later(owner.seconds, self.answer)

    def answer(self) -> None:
        self.respond.send(200, [], self.request.path.encode())
        self.respond.release()

    def cancel(self) -> None:
        self.timer.cancel()
        self.owner.told.append("draining" if self.respond.draining else "gone")
        self.respond.hand_over(self.end())

    async def end(self) -> None:
        await asyncio.sleep(0)
        if self.respond.draining:
            self.respond.send(503, [], b"ending")
        self.owner.ended.set()
        raise asyncio.CancelledError


def test_requests_in_a_row_are_answered_in_order_one_at_a_time(serving: Serving) -> None:
    """Also where they come in one read: the next has its turn when the one before is released."""
    later = Later()
    peer = serving(later).peer().send(b"".join(GET.replace(b" /a ", b" /%d " % number) for number in range(3)))
    assert [peer.response()[2] for _ in range(3)] == [b"/0", b"/1", b"/2"]
    until(lambda: later.running == 0)
    assert later.most == 1


def test_anyone_who_holds_the_answer_for_a_client_that_leaves_is_told(serving: Serving) -> None:
    """C1."""
    later = Later(seconds=20)
    peer = serving(later).peer().send(GET)
    until(lambda: later.running == 1)
    peer.socket.close()
    assert later.ended.wait(120)
    until(lambda: later.running == 0)
    assert later.told == ["gone"]


def test_anyone_who_holds_an_answer_when_the_server_ends_may_say_so(serving: Serving) -> None:
    """P1."""
    later = Later(seconds=20)
    site = serving(later)
    peer = site.peer().send(GET)
    until(lambda: later.running == 1)
    site.loop.call(site.server.close(grace=0.05))
    assert peer.response()[0::2] == (503, b"ending")
    assert later.told == ["draining"]


def test_a_task_may_leave_its_answer_to_somebody_who_holds_it(serving: Serving) -> None:
    later = Later()

    async def first_waits(request: HttpRequest, respond: Responder) -> None:
        await turns()
        later(request, respond)

    peer = serving(first_waits).peer().send(GET + GET)
    assert [peer.response()[2] for _ in range(2)] == [b"/a", b"/a"]
    until(lambda: later.running == 0)
    assert later.most == 1


def test_an_answer_that_is_given_at_once_needs_nobody_to_hold_it(serving: Serving) -> None:
    def at_once(request: HttpRequest, respond: Responder) -> None:
        respond.send(200, [], request.path.encode())

    peer = serving(at_once).peer().send(GET + GET.replace(b" /a ", b" /b "))
    assert [peer.response()[2] for _ in range(2)] == [b"/a", b"/b"]


@pytest.mark.parametrize("fails", [True, False])
def test_a_request_that_nobody_answers_is_a_500(serving: Serving, fails: bool) -> None:
    def never(request: HttpRequest, respond: Responder) -> None:
        if fails:
            raise ZeroDivisionError

    assert serving(never).peer().send(GET).response()[0] == 500


def test_a_client_that_is_gone_at_once_gets_nothing_and_nothing_stays_taken() -> None:
    """The task for its answer begins before it is told to end: what was counted for it is put back."""

    async def scene() -> list[str]:
        told: list[str] = []

        async def work() -> None:
            told.append("began")
            await forever()

        def handle(request: HttpRequest, respond: Responder) -> Awaitable[None]:
            respond.after = lambda: told.append("put back")
            return work()

        connection = Connection(Server(handle, lambda refusal, respond: None, ServerLimits()))
        connection.connection_made(_Deaf())
        connection.data_received(GET)
        connection.connection_lost(None)
        await turns()
        return told

    assert asyncio.run(scene()) == ["began", "put back"]


def test_anyone_who_goes_on_in_a_task_in_the_moment_in_which_the_client_is_lost_begins_before_it_ends() -> None:
    """What the backend says last may come in the same turn of the loop: what was taken is put back then, too."""

    async def scene() -> list[str]:
        told: list[str] = []

        async def work() -> None:
            told.append("began")
            await forever()

        class Holder:
            def cancel(self) -> None:
                told.append("cancelled")

        def handle(request: HttpRequest, respond: Responder) -> None:
            respond.after = lambda: told.append("put back")
            respond.hold(Holder())
            held.append(respond)

        held: list[Responder] = []
        connection = Connection(Server(handle, lambda refusal, respond: None, ServerLimits()))
        connection.connection_made(_Deaf())
        connection.data_received(GET)
        connection.connection_lost(None)
        held[0].hand_over(work())
        await turns()
        return told

    assert asyncio.run(scene()) == ["began", "put back"]


class _Deaf(asyncio.Transport):
    """A transport to nowhere."""

    def write(self, data: object) -> None: ...

    def is_closing(self) -> bool:
        return False

    def close(self) -> None: ...
