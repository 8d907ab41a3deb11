"""The writing half of a connection."""

import asyncio
from typing import cast

from clew.http.transport_writer import TransportWriter


class Plug:
    """A transport that is not written to."""


class Lost(TransportWriter):
    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self.resume_writing()


def test_a_connection_is_eager_as_long_as_it_takes_what_is_written() -> None:
    async def scene() -> list[bool]:
        outlet, plug = Lost(asyncio.get_running_loop()), cast("asyncio.Transport", Plug())
        seen = [outlet.eager is plug]
        outlet.connection_made(plug)
        for happens in (lambda: None, outlet.pause_writing, outlet.resume_writing, lambda: outlet.connection_lost(None)):
            happens()
            seen.append(outlet.eager is plug)
        return seen

    assert asyncio.run(scene()) == [False, True, False, True, False]
