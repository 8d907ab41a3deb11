"""Backends in the settings file, changed from a browser: a preview as a diff, then the same change written.

A change is checked as the file is: a text that cannot be used is never written. Secrets are write-only: a new key goes into
a private file of the home, and the settings name that file; no answer holds a key. What this machine knows is never sent to
an address that a browser chose: a variable can be named only for a known vendor's own address, and for any other the key is
entered. The file is written only if it is still the one that was shown.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final, Literal, cast

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.backend_uses import backend_uses
from clew.admin.problems import AdminProblem
from clew.admin.requests import read_body
from clew.admin.routing import as_json, caller_name
from clew.admin.services import AdminServices
from clew.backends.address import is_local
from clew.backends.presets import presets, usual_key
from clew.exchange.redact import Redactor
from clew.model.json import JsonObject, JsonValue
from clew.settings.edits import with_backend, with_backend_values, without_backend
from clew.settings.examine import examine
from clew.settings.home import digest_of, locked, write_private
from clew.settings.load import SettingsText, load_source
from clew.settings.problems import format_key
from clew.settings.rollout import Rollout, roll_out_file
from clew.settings.schema import template

FIELDS: Final = ("preset", "dialect", "url", "auth", "model", "realm", "key")
"""What a browser may set, in the order in which it is written."""
KEY_PLACE: Final = "backend-keys"
"""The directory of the home with keys that came from a browser."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_VARIABLE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_LITERAL_KEY: Final = re.compile(r"^(.\s*keys?\s*=\s*)(?=\S)(?!\"(?:\$\{|file:|keyring:)).*")
"""A line of a diff with a key that stands in the file itself."""
_SECRET: Final = re.compile(r"[!-~]{1,2000}")


class BackendEdit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change to one backend. `fields` are those that change; "" removes one."""

    action: Literal["add", "edit", "remove"]
    name: str
    fields: dict[str, str] = {}
    secret: str = ""
    """A new key, as the vendor gave it. It is kept in a private file of the home."""
    digest: str = ""
    """Of the file that the preview showed; needed to write."""


class EditPreview(Struct, frozen=True, kw_only=True):
    """The answer to a preview: what the change would do to the file."""

    file: str
    diff: list[str]
    digest: str
    """Of the file as it is now."""


class EditDone(Struct, frozen=True, kw_only=True):
    """The change is written, and who has applied it."""

    file: str
    followed: Rollout


class _Draft(Struct, frozen=True):
    """The file as it is, and as it would be."""

    path: Path
    old: str
    new: str


async def preview(services: AdminServices, request: Request) -> Response:
    edit = await read_body(request, BackendEdit)
    draft = await services.read(lambda: _draft(services, edit))
    lines = unified_diff(draft.old.splitlines(), draft.new.splitlines(), "before", "after", lineterm="", n=2)
    redact = services.redactor()
    diff = [_LITERAL_KEY.sub(r"\1[redacted]", redact(line)) for line in [*lines][2:]]
    return as_json(EditPreview(file=str(draft.path), diff=diff, digest=digest_of(draft.old.encode())))


async def apply(services: AdminServices, request: Request) -> Response:
    edit = await read_body(request, BackendEdit)

    def write() -> tuple[Rollout, str, str]:
        with locked(_path(services)):
            draft = _draft(services, edit)
            if edit.digest != digest_of(draft.old.encode()):
                why = "the file was changed after the preview"
                raise AdminProblem(409, "the settings file has changed", why, "check the change again")
            place = _key_file(services, edit.name)
            if edit.secret:
                place.parent.mkdir(mode=0o700, exist_ok=True)
                write_private(place, f"{edit.secret}\n".encode())
            write_private(draft.path, draft.new.encode())
            if edit.action == "remove" and place.is_file():
                place.unlink()
        before, after = (_for_audit(text, edit.name, services.redactor()) for text in (draft.old, draft.new))
        return roll_out_file(services.home, draft.path, added=edit.name if edit.action == "add" else ""), before, after

    followed, before, after = await services.read(write)
    what = {"add": "backend added", "edit": "backend edited", "remove": "backend removed"}[edit.action]
    await services.note(caller_name(request), what, f"backend:{edit.name}", before, after)
    return as_json(EditDone(file=str(_path(services)), followed=followed))


def _for_audit(text: str, name: str, redact: Redactor) -> str:
    """The backend's table in the file as text for the audit, without keys."""
    try:
        table: Mapping[str, Any] = _backends(tomllib.loads(text)).get(name, {})
    except tomllib.TOMLDecodeError:
        return ""
    return redact("; ".join(f"{key} {value}" for key, value in table.items() if "key" not in key and "header" not in key))


async def values(services: AdminServices, request: Request) -> Response:
    """Answer with the present fields of one backend in the file, without keys."""
    name = request.path_params["name"]

    def read() -> JsonObject:
        table: Mapping[str, Any] = _backends(tomllib.loads(_text(services))).get(name, {})
        fields: JsonObject = {key: str(table.get(key, "")) for key in FIELDS}
        key = str(table.get("key", ""))
        fields["key"] = key if key.startswith(("${", "file:", "keyring:")) else ""
        return {"name": name, "fields": fields, "has_key": bool(key or table.get("keys")), "read_only": read_only(services)}

    return as_json(await services.read(read))


def read_only(services: AdminServices) -> str:
    """Why the file cannot be changed from here; "" if it can."""
    if services.current.snapshot.settings.store.url.startswith("postgres"):
        return "several gateways share this store: change the settings file where they are deployed"
    path = _path(services)
    if path.is_symlink():
        return f"{path} is a link, so another program manages it"
    probe = path if path.exists() else path.parent
    if not os.access(probe, os.W_OK) or not os.access(path.parent, os.W_OK):
        return f"this process may not write {path}"
    return ""


def _path(services: AdminServices) -> Path:
    return services.current.file or services.home.config


def _text(services: AdminServices) -> str:
    """The file; without one, what `clew config init` would write, so that no backend is lost."""
    path = _path(services)
    try:
        text = path.read_text("utf-8-sig") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise AdminProblem(409, f"{path} cannot be read", str(error)) from None
    return text if text.strip() else template(os.environ)


def _key_file(services: AdminServices, name: str) -> Path:
    return services.home.root / KEY_PLACE / f"{name}.key"


def _backends(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    found: object = raw.get("backends", {})
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


# From the change to the text


def _draft(services: AdminServices, edit: BackendEdit) -> _Draft:
    """The file before and after a change. Raises AdminProblem if the change cannot be made."""
    if why := read_only(services):
        raise AdminProblem(409, "the settings cannot be changed from a browser", why)
    old = _text(services)
    try:
        raw = tomllib.loads(old)
    except ValueError as error:
        raise _unusable(str(error)) from None
    known = _backends(raw)
    if edit.action != "add" and edit.name not in known:
        raise AdminProblem(404, f"there is no backend {edit.name[:100]!r} in the file", f"there are: {', '.join(known)}")
    new = _removed(services, edit.name, old, raw) if edit.action == "remove" else _changed(services, edit, old, known)
    return _Draft(_path(services), old, new)


def _changed(services: AdminServices, edit: BackendEdit, old: str, known: Mapping[str, Any]) -> str:
    fields = _checked_fields(services, edit)
    present: Mapping[str, Any] = known.get(edit.name, {})
    if edit.action == "add":
        if not _NAME.fullmatch(edit.name):
            raise AdminProblem(400, "this name cannot be used", "it has 1 to 40 letters, digits or . _ -")
        if edit.name in known:
            raise AdminProblem(409, f"there is a backend {edit.name!r} already", "", "choose another name, or edit it")
        if "key" not in fields and not fields.get("url"):
            fields = {**fields, "key": usual_key(edit.fields.get("preset", ""))}
        new, wanted = with_backend(old, edit.name, fields), fields
    else:
        new, wanted = with_backend_values(old, edit.name, fields), {**present, **fields}
    _check_destination(fields, present)
    if not edit.secret:
        _check_key_source(wanted, present)
    _check(new, edit.name, {key: value for key, value in wanted.items() if value != ""})
    return new


def _checked_fields(services: AdminServices, edit: BackendEdit) -> dict[str, JsonValue]:
    """The fields in the order of the file, with where a new key will be. Raises AdminProblem for what a browser may not
    set."""
    if unknown := set(edit.fields) - set(FIELDS):
        raise AdminProblem(400, f"{', '.join(sorted(unknown))[:100]} cannot be set here", f"there are: {', '.join(FIELDS)}")
    given = {name: edit.fields[name].strip() for name in FIELDS if name in edit.fields}
    if edit.secret:
        if not _SECRET.fullmatch(edit.secret):
            raise AdminProblem(400, "this is not a key", "it has spaces, line breaks or non-ASCII characters")
        given["key"] = f"file:{_key_file(services, edit.name)}"
    return dict(given)


def _check_destination(fields: Mapping[str, JsonValue], present: Mapping[str, Any]) -> None:
    """Raises AdminProblem if a key that is there would go to another address: a browser can neither read it nor send it
    away."""
    moves = [name for name in ("url", "preset") if name in fields and fields[name] != present.get(name, "")]
    if moves and (present.get("keys") or (present.get("key") and "key" not in fields)):
        why = f"its key was given for the present {' and '.join(moves)}"
        raise AdminProblem(409, "this change needs the key again", why, "enter the key")


def _check_key_source(wanted: Mapping[str, JsonValue], present: Mapping[str, Any]) -> None:
    """Raises AdminProblem if a browser may not name this as the key. It may leave what is there for the same address, and
    name a variable for a vendor's own address: no file, no command, and nothing for an address of its own choice."""
    key, places = str(wanted.get("key") or ""), ("key", "url", "preset")
    if not key or all(wanted.get(name, "") == present.get(name, "") for name in places):
        return
    if not _VARIABLE.fullmatch(key):
        raise AdminProblem(
            400, "this does not say where a key is", "write ${VARIABLE}, or give the key itself in the field for it"
        )
    preset = presets().get(str(wanted.get("preset") or ""))
    if wanted.get("url") or preset is None or is_local(preset.url):
        why = "a variable can be named here only for a known vendor at its usual URL"
        raise AdminProblem(400, "this variable cannot be named here", why, "enter the key, or edit the file")


def _removed(services: AdminServices, name: str, old: str, raw: dict[str, Any]) -> str:
    loaded = load_source(SettingsText(str(_path(services)), old), os.environ)
    if uses := backend_uses(name, loaded, raw, services.home, services.store):
        why = "; ".join(f"{each.where} ({each.free})" for each in uses)
        raise AdminProblem(409, f"the backend {name} is in use", why, "remove these uses first")
    known = _backends(raw)
    if len(known) == 1:
        raise AdminProblem(409, f"the backend {name} is the only one", "a gateway needs one", "add another one first")
    new = without_backend(old, name)
    if new is None:
        raise _written_differently(name)
    return new


def _check(text: str, name: str, wanted: Mapping[str, JsonValue]) -> None:
    """Raises AdminProblem if the text does not say what was meant, or if a gateway could not use it."""
    try:
        raw = tomllib.loads(text)
    except ValueError:
        raise _written_differently(name) from None
    if _backends(raw).get(name) != wanted:
        raise _written_differently(name)
    if problems := examine(raw, os.environ, keys=False).problems:
        raise _unusable("; ".join(f"{format_key(problem.key)}: {problem.says}" for problem in problems))


def _written_differently(name: str) -> AdminProblem:
    why = f"{name} does not stand in a table [{format_key(('backends', name))}] of its own"
    return AdminProblem(409, "this backend cannot be changed from a browser", why, "edit the file")


def _unusable(why: str) -> AdminProblem:
    return AdminProblem(400, "the settings could not be used like this", why)
