"""A gateway of a home, as commands see it: registered, and with a process that follows the settings. It answers nobody."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clew.engine.current import Current
from clew.gateway.plan import Plan
from clew.gateway.process import ProcessRegistration
from clew.settings.home import Home as Place
from clew.settings.key_table import KeyTable
from clew.settings.load import load
from clew.settings.named_keys import NamedKeys
from clew.settings.own_keys import load_keyring
from clew.settings.processes import RegisteredGateway
from clew.store.sqlite.store import SqliteStore
from clew.testing.simulator import Background
from tests.cli.homes import Home


@contextmanager
def gateway_of(
    home: Home, name: str = "g1", *, choice: str = "", config: Path | None = None, url: str = "http://127.0.0.1:2539"
) -> Iterator[RegisteredGateway]:
    place, plan = Place(home.root), Plan(name=name, choice=choice)
    loaded = load(config, home.environ, keys=False)
    presence = ProcessRegistration(place, plan, loaded)
    presence._started = time.time() + len(name)  # type: ignore[reportPrivateUsage]  # in the order of their names
    with SqliteStore(home.file) as store, Background() as background:
        sealer = load_keyring(place.secret, home.environ).sealer()
        current = Current(
            loaded, sealer, store=store, gateway=name, environ=home.environ, file=config, choice=choice, secret=place.secret
        )
        with presence.reporting(current, KeyTable("", NamedKeys(place, store))):
            presence.catch_up(current)
            following = background.call(_begun(current, presence))
            try:
                yield presence.enter(url)
            finally:
                presence.close()
                background.call(_ended(following))


async def _begun(current: Current, presence: ProcessRegistration) -> "asyncio.Task[None]":
    return asyncio.get_running_loop().create_task(current.follow(presence.wakeup))


async def _ended(following: "asyncio.Task[None]") -> None:
    following.cancel()
    await asyncio.wait({following})
