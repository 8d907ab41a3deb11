"""Named keys of the gateway, from a browser: which there are, a new one, another secret for one, and the end of one.

A key itself is in the answer that makes it, and nowhere else: only its hash is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.parameters import AdminProblem, read_body
from clew.admin.routing import as_json
from clew.admin.services import AdminServices
from clew.errors import SettingsInvalid
from clew.settings.own_keys import LOCAL, NamedKey, add_key, named_keys, remove_key, rotate_key
from clew.settings.rollout import Rollout, roll_out_keys


class KeyRow(Struct, frozen=True, kw_only=True):
    """A key as it is listed. No part of the secret is in it."""

    name: str
    kid: str
    principal: str
    created: float


class NewKey(Struct, kw_only=True, forbid_unknown_fields=True):
    """`principal` is whose conversations the key opens; the name of the key if it is empty."""

    name: str
    principal: str = ""


class MadeKey(Struct, frozen=True, kw_only=True):
    """`key` is shown this once."""

    row: KeyRow
    key: str
    followed: Rollout


def key_rows(services: AdminServices) -> list[KeyRow]:
    """Raises SettingsInvalid if the table cannot be read."""
    return [_row(key) for key in named_keys(services.home)]


async def keys(services: AdminServices, request: Request) -> Response:
    return as_json({"keys": await services.read(lambda: key_rows(services))})


async def add(services: AdminServices, request: Request) -> Response:
    body = await read_body(request, NewKey)
    name, principal = body.name.strip(), body.principal.strip() or body.name.strip()
    if not body.principal.strip() and name == LOCAL:
        why = f"{LOCAL!r} is the principal of the gateway's owner"
        raise AdminProblem(400, "this name cannot be used", why, "choose another name")
    if not principal.isprintable():
        raise AdminProblem(400, "this principal cannot be used", "it has a name that can be read")
    return await _with_key(services, lambda: add_key(services.home, name, principal=principal))


async def rotate(services: AdminServices, request: Request) -> Response:
    name = request.path_params["name"]
    return await _with_key(services, lambda: rotate_key(services.home, name))


async def remove(services: AdminServices, request: Request) -> Response:
    name = request.path_params["name"]

    def end() -> Rollout:
        with _told():
            remove_key(services.home, name)
        return roll_out_keys(services.home)

    return as_json({"removed": name, "followed": await services.read(end)})


async def _with_key(services: AdminServices, make: Callable[[], tuple[NamedKey, str]]) -> Response:
    def made() -> MadeKey:
        with _told():
            row, key = make()
        return MadeKey(row=_row(row), key=key, followed=roll_out_keys(services.home))

    return as_json(await services.read(made))


def _row(key: NamedKey) -> KeyRow:
    return KeyRow(name=key.name, kid=key.kid, principal=key.principal, created=key.created)


@contextmanager
def _told() -> Generator[None]:
    """Turns what is wrong with the request into a problem."""
    try:
        yield
    except SettingsInvalid as error:
        raise AdminProblem(409, "this cannot be done", str(error)) from None
