"""How much an event loop reads of long bodies before it looks at everything else."""

import asyncio
import threading
from collections.abc import Callable

from clew.http.connection_limits import ROUND_BYTES, BodyConnection, ReadBudget
from clew.http.message import HttpRequest
from clew.http.responder import Responder
from tests.http.conftest import Peer, Site

Serving = Callable[..., Site]


class Reads:
    """A connection that only says what it was told."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def pause_body(self) -> None:
        self.log.append(f"pause {self.name}")

    def resume_body(self) -> None:
        self.log.append(f"resume {self.name}")


def test_anyone_who_reads_beyond_the_budget_of_a_round_goes_on_in_a_later_one() -> None:
    async def told() -> list[str]:
        log: list[str] = []
        budget = ReadBudget(asyncio.get_running_loop())
        budget.spend(Reads("a", log), ROUND_BYTES)
        budget.spend(Reads("b", log), 1)
        await asyncio.sleep(0)
        budget.spend(Reads("c", log), 1)
        return log

    assert asyncio.run(told()) == ["pause b", "resume b"]


def test_of_many_a_few_go_on_in_each_round_in_their_order() -> None:
    async def told() -> list[list[str]]:
        log: list[str] = []
        budget = ReadBudget(asyncio.get_running_loop())
        budget.spend(Reads("first", log), ROUND_BYTES)
        for number in range(5):
            budget.spend(Reads(str(number), log), 1)
        log.clear()
        rounds: list[list[str]] = []
        while len(rounds) < 4:
            await asyncio.sleep(0)
            rounds.append([each.removeprefix("resume ") for each in log])
            log.clear()
        return rounds

    assert asyncio.run(told()) == [["0", "1"], ["2", "3"], ["4"], []]


def test_a_round_reads_no_more_than_its_budget_of_many_uploads(serving: Serving) -> None:
    """Counted in bytes: while eight clients send 16 MB each as fast as they can, some other callback runs in between."""
    body, clients = bytes(16 * 1024 * 1024), 8
    lengths: list[int] = []
    took = [0]

    async def count(request: HttpRequest, respond: Responder) -> None:
        lengths.append(len(request.body))
        respond.send(200, [])

    site = serving(count)
    rounds: list[int] = []
    spend = ReadBudget.spend

    def counted(self: ReadBudget, connection: BodyConnection, size: int) -> None:
        if not took[0]:
            asyncio.get_running_loop().call_soon(ends)
        took[0] += size
        spend(self, connection, size)

    def ends() -> None:
        rounds.append(took[0])
        took[0] = 0

    def upload(peer: Peer) -> None:
        peer.send(b"POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)).send(body).response()

    ReadBudget.spend = counted
    try:
        uploads = [threading.Thread(target=upload, args=(site.peer(),)) for _ in range(clients)]
        for each in uploads:
            each.start()
        for each in uploads:
            each.join()
    finally:
        ReadBudget.spend = spend
    assert lengths == [len(body)] * clients
    at_once = 1024 * 1024 + 256 * 1024  # of each connection that is looked at when the budget is spent
    assert max(rounds) <= ROUND_BYTES + clients * at_once
    assert len(rounds) >= clients * len(body) // (ROUND_BYTES + clients * at_once)
