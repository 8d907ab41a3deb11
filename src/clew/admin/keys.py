"""Named keys over the API: which there are and what they may do, a new one, another secret or other rights for one, and the
end of one.

A key itself is in the answer that makes it, and nowhere else: only its hash is kept. Who comes by a key makes children of
it, which can have no more than it has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.problems import AdminProblem
from clew.admin.requests import read_body
from clew.admin.routing import as_json, caller_name, caller_of
from clew.admin.services import AdminServices
from clew.errors import SettingsInvalid
from clew.limits.key_text import key_json, read_rights, read_span
from clew.limits.keys import LOCAL, KeyRights, NamedKey, current_keys
from clew.settings.named_keys import NamedKeys
from clew.settings.rollout import Rollout, roll_out_keys


class KeyEdit(Struct, kw_only=True, forbid_unknown_fields=True):
    """What a key may do, as it is typed at `clew keys`; what is left out stays as it is."""

    team: str | None = None
    models: str | None = None
    backends: str | None = None
    expires: str | None = None
    scopes: str | None = None

    def rights(self, old: KeyRights) -> KeyRights:
        return read_rights(
            old,
            now=time.time(),
            scopes=self.scopes,
            models=self.models,
            backends=self.backends,
            expires=self.expires,
        )


class NewKey(KeyEdit, kw_only=True, forbid_unknown_fields=True):
    """`principal` is whose conversations the key opens; the name of the key if it is empty, or the parent's. `parent` is the
    name of the key that it is a child of."""

    name: str
    principal: str = ""
    parent: str = ""


class KeyRotation(Struct, kw_only=True, forbid_unknown_fields=True):
    """How long the old secret opens too: 30m, 24h, 7d."""

    overlap: str = "0"


class MadeKey(Struct, frozen=True, kw_only=True):
    """The answer to a new key. `key` is shown only in this answer."""

    row: dict[str, Any]
    key: str
    followed: Rollout


async def keys(services: AdminServices, request: Request) -> Response:
    def read() -> list[dict[str, object]]:
        rows = services.keys.all()
        return [key_json(row, rows) for row in current_keys(rows)]

    return as_json({"keys": await services.read(read)})


async def add(services: AdminServices, request: Request) -> Response:
    body, caller = await read_body(request, NewKey), caller_of(request)
    parent = caller.holder.key if caller.holder else body.parent
    name = body.name.strip()
    principal = body.principal.strip() or (caller.principal if caller.holder else name)
    if not body.principal.strip() and not parent and name == LOCAL:
        why = f"{LOCAL!r} is the principal of the gateway's owner"
        raise AdminProblem(400, "this name cannot be used", why, "choose another name")
    if not principal.isprintable():
        raise AdminProblem(400, "this principal cannot be used", "it has a name that can be read")
    with _problems(400):
        rights = body.rights(KeyRights())
    team, by = body.team or "", caller_name(request)
    return await _with_key(
        services, lambda table: table.add(name, principal=principal, team=team, rights=rights, parent=parent, by=by)
    )


async def edit(services: AdminServices, request: Request) -> Response:
    body, name, by = await read_body(request, KeyEdit), request.path_params["name"], caller_name(request)
    _check_own(request, name)
    with _problems(400):
        body.rights(KeyRights())

    def change(old: NamedKey) -> tuple[KeyRights, str]:
        return body.rights(old.rights), old.team if body.team is None else body.team

    def work() -> tuple[NamedKey, Rollout]:
        with _problems():
            row = services.keys.edit(name, change, by=by)
        return row, roll_out_keys(services.home, services.keys)

    row, followed = await services.read(work)
    return as_json({"row": key_json(row, ()), "followed": followed})


async def rotate(services: AdminServices, request: Request) -> Response:
    body, name, by = await read_body(request, KeyRotation), request.path_params["name"], caller_name(request)
    _check_own(request, name)
    with _problems(400):
        overlap = read_span(body.overlap)
    return await _with_key(services, lambda table: table.rotate(name, overlap=overlap, by=by))


async def remove(services: AdminServices, request: Request) -> Response:
    name, by = request.path_params["name"], caller_name(request)
    _check_own(request, name)

    def end() -> Rollout:
        with _problems():
            services.keys.remove(name, by=by)
        return roll_out_keys(services.home, services.keys)

    return as_json({"removed": name, "followed": await services.read(end)})


async def _with_key(services: AdminServices, make: Callable[[NamedKeys], tuple[NamedKey, str]]) -> Response:
    def made() -> MadeKey:
        with _problems():
            row, key = make(services.keys)
        return MadeKey(row=key_json(row, ()), key=key, followed=roll_out_keys(services.home, services.keys))

    return as_json(await services.read(made))


def _check_own(request: Request, name: str) -> None:
    """Who comes by a key may make children of it, and change no key: it could get rights so that it lacks. Raises
    AdminProblem."""
    if caller_of(request).holder is not None:
        why = f"a key cannot change the key {name!r}"
        raise AdminProblem(403, "refused", why, "use the `clew` command, or log in")


@contextmanager
def _problems(status: int = 409) -> Generator[None]:
    """Turns what is wrong with the request into a problem."""
    try:
        yield
    except SettingsInvalid as error:
        raise AdminProblem(status, "this cannot be done", str(error)) from None
