"""The config, and the backends that it names: whether each has what it needs, refused its key, and can be reached."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from clew.admin.checkup.findings import CheckFinding, Circumstances, broken, fine, warning
from clew.backends.row import Backend
from clew.errors import ClewError
from clew.limits.keys import LOCAL
from clew.pipeline.attempts import class_of_status
from clew.settings.named_keys import known_keys
from clew.settings.values import Settings, timeouts_for
from clew.upstream.dial import TlsSessions, dial
from clew.upstream.endpoint import endpoint_of, proxy_for
from clew.upstream.reply import as_backend_errors

_LOOKED_AT: Final = 300
"""Exchanges in which a refused key is looked for."""


def config(at: Circumstances) -> Iterator[CheckFinding]:
    """Readable, valid, and without keys that others could read."""
    if at.loaded is None:
        head, *mistakes = at.problem.splitlines()
        for line in mistakes or (head,):  # of several, the first line only says how many there are
            yield broken(line, "correct that line; until then nothing of the file is used (`clew config check`)")
        return
    settings = at.loaded.settings
    where = f"{at.loaded.file}" if at.loaded.file else "no config file; the backends come from the environment"
    active = f"{settings.active} is active unless `clew use` chose another backend"
    yield fine(f"{where}: {_count(len(settings.backends), 'backend')}, {active}")
    yield from (fine(each.says) for each in at.loaded.variables if not each.is_bad)
    elsewhere = {each.says for each in settings.disabled.values()}  # by the check of the backends
    yield from (warning(each, "") for each in at.loaded.warnings if each not in elsewhere)  # they say what to do


def backends(at: Circumstances) -> Iterator[CheckFinding]:
    """Each has what it needs to be called; with `--online`, each is reached."""
    if at.loaded is None:
        return
    settings = at.loaded.settings
    for disabled in settings.disabled.values():
        found = broken if disabled.name == settings.active else warning
        yield found(disabled.says, f"set it, and start the gateway again; or `clew backends remove {disabled.name}`")
    rows = list(settings.backends.values())
    problems = asyncio.run(_reach_all(rows, settings, at)) if at.online else [""] * len(rows)
    refused = _refused_keys(at)
    for backend, problem in zip(rows, problems, strict=True):
        if backend.auth != "passthrough" and backend.name in refused:
            yield _key_refused(backend, refused[backend.name])
        if problem:
            yield broken(f"{backend.name} cannot be reached: {problem}", "check its url, your network, and `proxy`")
            continue
        credential = "the client's own credential" if backend.auth == "passthrough" else "no credential"
        if backend.auth in ("key", "bearer", "api-key"):
            credential = _count(len(backend.keys), "key")
        yield fine(f"{backend.name}: {backend.url}, {credential}{', reached' if at.online else ''}")


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


async def _reach_all(backends: list[Backend], settings: Settings, at: Circumstances) -> list[str]:
    """What is wrong with each; "" for one that answers. There is only a handshake, so no key is shown."""

    async def reach(backend: Backend) -> str:
        try:
            endpoint = endpoint_of(backend.url)
            with as_backend_errors(endpoint):
                connection = await dial(
                    endpoint,
                    tls=TlsSessions(settings.ca_file or None),
                    proxy=proxy_for(endpoint, at.environ) if settings.proxy else None,
                    timeouts=timeouts_for(settings, backend),
                    began=asyncio.get_running_loop().time(),
                )
                connection.abort()
        except ClewError as error:
            return str(error)
        return ""

    return list(await asyncio.gather(*map(reach, backends)))


class LastCall(Struct, frozen=True):
    """The newest call to a backend: when it ended, and with which status."""

    at: float
    status: int


def _refused_keys(at: Circumstances) -> dict[str, LastCall]:
    """Backends that refused their key in their newest call, by name. A store that cannot be read has a check of its own."""
    if at.store is None or not at.store.is_readable():
        return {}
    newest: dict[str, LastCall] = {}
    try:
        principals = {LOCAL, *(row.principal for row in known_keys(at.home))}
        for exchange in at.store.last_exchanges(sorted(principals), _LOOKED_AT):
            for tried in exchange.tries:
                if tried.backend not in newest or newest[tried.backend].at <= exchange.ended:
                    newest[tried.backend] = LastCall(exchange.ended, tried.status)
    except ClewError:
        return {}
    return {name: call for name, call in newest.items() if class_of_status(call.status) == "key"}


def _key_refused(backend: Backend, call: LastCall) -> CheckFinding:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(call.at))
    if not backend.keys:
        says = f"{backend.name} refused a request without a key at the last call ({call.status}, {when})"
        return broken(says, f"put a key into its settings; `clew backends test {backend.name}` tries it")
    found_in = " and from ".join(dict.fromkeys(filter(None, backend.keys_from)))
    return broken(
        f"{backend.name} refused its key at the last call ({call.status}, {when}); the key comes from {found_in}",
        f"put the right key there; `clew backends test {backend.name}` tries it",
    )
