"""The config, and the backends that it names."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from clew.admin.checkup.finding import Circumstances, Finding, broken, fine, warning
from clew.admin.checkup.refusals import RefusedKey, refused_keys
from clew.backends.row import Backend
from clew.errors import ClewError
from clew.settings.values import Settings, timeouts_for
from clew.upstream.dial import dial
from clew.upstream.endpoint import endpoint_of
from clew.upstream.foreign import mapped
from clew.upstream.proxy import proxy_for
from clew.upstream.tls import Tls

__all__ = ["backends", "config"]


def config(at: Circumstances) -> Iterator[Finding]:
    """Readable, valid, and without keys that others could read."""
    if at.loaded is None:
        head, *mistakes = at.problem.splitlines()
        for line in mistakes or (head,):  # of several, the first line only says how many there are
            yield broken(line, "mend that line; until then nothing of the file is used (`clew config check`)")
        return
    settings = at.loaded.settings
    where = f"{at.loaded.file}" if at.loaded.file else "no config file; what the environment gives is used"
    active = f"{settings.active} is active unless `clew use` chose another"
    yield fine(f"{where}: {_some(len(settings.backends), 'backend')}, {active}")
    elsewhere = {each.says for each in settings.disabled.values()}  # by the check of the backends
    yield from (warning(each, "") for each in at.loaded.warnings if each not in elsewhere)  # they say what to do


def backends(at: Circumstances) -> Iterator[Finding]:
    """Each has what it needs to be called; with `--online`, each is reached."""
    if at.loaded is None:
        return
    settings = at.loaded.settings
    for disabled in settings.disabled.values():
        found = broken if disabled.name == settings.active else warning
        yield found(disabled.says, f"set it, and start the gateway again; or `clew backends remove {disabled.name}`")
    names = list(settings.backends.values())
    problems = asyncio.run(_reached(names, settings, at)) if at.online else [""] * len(names)
    refused = refused_keys(at)
    for backend, problem in zip(names, problems, strict=True):
        if backend.auth != "passthrough" and backend.name in refused:
            yield _refused(backend, refused[backend.name])
        if problem:
            yield broken(f"{backend.name} cannot be reached: {problem}", "check its url, your network, and `proxy`")
        else:
            yield fine(f"{backend.name}: {backend.url}, {_shown(backend)}{', reached' if at.online else ''}")


def _refused(backend: Backend, call: RefusedKey) -> Finding:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(call.at))
    if not backend.keys:
        said = f"{backend.name} refused a request without a key when it was asked last ({call.status}, {when})"
        return broken(said, f"put a key into its settings; `clew backends test {backend.name}` tries it")
    found_in = " and from ".join(dict.fromkeys(filter(None, backend.keys_from)))
    return broken(
        f"{backend.name} refused its key when it was asked last ({call.status}, {when}); the key comes from {found_in}",
        f"put the right key there; `clew backends test {backend.name}` tries it",
    )


def _shown(backend: Backend) -> str:
    if backend.auth in ("key", "bearer", "api-key"):
        return _some(len(backend.keys), "key")
    return "the client's own credential" if backend.auth == "passthrough" else "no credential"


def _some(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


async def _reached(backends: list[Backend], settings: Settings, at: Circumstances) -> list[str]:
    """What is wrong with each; "" for one that answers. Nothing is asked of it but a handshake, so no key is shown."""
    return list(await asyncio.gather(*(_problem(backend, settings, at) for backend in backends)))


async def _problem(backend: Backend, settings: Settings, at: Circumstances) -> str:
    try:
        endpoint = endpoint_of(backend.url)
        with mapped(endpoint):
            connection = await dial(
                endpoint,
                tls=Tls(settings.ca_file or None),
                proxy=proxy_for(endpoint, at.environ) if settings.proxy else None,
                timeouts=timeouts_for(settings, backend),
                began=asyncio.get_running_loop().time(),
            )
            connection.abort()
    except ClewError as error:
        return str(error)
    return ""
