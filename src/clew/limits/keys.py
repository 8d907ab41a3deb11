"""Named keys: what is kept of them, what each may do, and how the table of them changes.

The text of a key is never here, only the hash of its secret. A table is a tuple of rows, and each change makes another one;
the module that keeps the table (`clew.store.key_rows`, or a private file) writes it, and notes the change.

A key may be the child of another. `excess` says what a child would have beyond its parent: then it is not made. A parent
that gets narrower later narrows its children too, because every right is asked of the whole line (`KeyHolder.rights`); a
parent that is removed takes its children with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

import msgspec
from msgspec import Struct, structs

from clew.errors import SettingsInvalid

KeyScope: TypeAlias = Literal["inference", "read", "admin"]
"""Ask models, through the gateway and the chat; look into the admin; change what the admin can change."""
KEY_SCOPES: Final[tuple[KeyScope, ...]] = get_args(KeyScope)
LOCAL: Final = "local"
"""The principal of the gateway's own key."""
NAME_LENGTH: Final = 64


class KeyRights(Struct, frozen=True, kw_only=True):
    """What a key may do. No models or backends: all of them. A `*` in a model's name stands for any text."""

    scopes: tuple[KeyScope, ...] = ("inference",)
    models: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    expires: float | None = None

    @property
    def words(self) -> str:
        """The rights as text; "" for the default rights."""
        parts = [
            f"{name} {', '.join(values)}"
            for name, values in (("models", self.models), ("backends", self.backends))
            if values
        ]
        return "; ".join([*([] if self.scopes == ("inference",) else [f"scopes {', '.join(self.scopes)}"]), *parts])


class NamedKey(Struct, frozen=True, kw_only=True):
    """A key as it is kept: everything but the key."""

    name: str
    kid: str
    hash: str
    """SHA-256 of the secret, in hex."""
    principal: str = LOCAL
    created: float = 0.0
    team: str = ""
    """Keys of one team share its limits."""
    rights: KeyRights = KeyRights()
    parent: str = ""
    """The name of the key that it is a child of."""
    made_by: str = ""
    replaced_by: str = ""
    """The key with the new secret, where this one was rotated and opens for a while longer."""
    last_used: float | None = None


class KeyHolder(Struct, frozen=True):
    """Who showed a valid key: the owner of recordings, the name of the key ("" for the gateway's own), its team, and the
    rights of the key, of its parent, and so on."""

    principal: str
    key: str = ""
    team: str = ""
    rights: tuple[KeyRights, ...] = ()

    def lacks(self, scope: KeyScope) -> bool:
        return any(scope not in rights.scopes for rights in self.rights)

    @property
    def expires(self) -> float | None:
        return min((rights.expires for rights in self.rights if rights.expires is not None), default=None)


class KeyChange(NamedTuple):
    """A table after a change, the row that it is about, and the change in words, for the audit."""

    rows: tuple[NamedKey, ...]
    row: NamedKey
    what: str
    before: str = ""
    after: str = ""


class MintedSecret(NamedTuple):
    """The public part of a new key, and the hash of its secret."""

    kid: str
    hash: str


# What a key may do


def allows_model(rights: Sequence[KeyRights], model: str) -> bool:
    return all(not each.models or any(_matches(pattern, model) for pattern in each.models) for each in rights)


def allows_backend(rights: Sequence[KeyRights], backend: str) -> bool:
    return all(not each.backends or backend in each.backends for each in rights)


def excess(child: KeyRights, parent: KeyRights) -> str:
    """What a child would have that its parent has not; "" if it is within."""
    if scopes := [each for each in child.scopes if each not in parent.scopes]:
        return f"the scope {scopes[0]}"
    if parent.models and not child.models:
        return "all models"
    for pattern in child.models if parent.models else ():
        if not any(_matches(each, pattern) for each in parent.models):  # a `*` there only fits a `*` here
            return f"the model {pattern}"
    if parent.backends and not child.backends:
        return "all backends"
    if backends := [each for each in child.backends if parent.backends and each not in parent.backends]:
        return f"the backend {backends[0]}"
    if parent.expires is not None and (child.expires is None or child.expires > parent.expires):
        return "a later end"
    return ""


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, text.split("*"))), re.DOTALL)


def _matches(pattern: str, text: str) -> bool:
    return pattern == text or ("*" in pattern and _pattern(pattern).fullmatch(text) is not None)


# The table


def current_keys(rows: Sequence[NamedKey]) -> tuple[NamedKey, ...]:
    """The newest key of each name: without keys that a rotation has replaced."""
    return tuple(row for row in rows if not row.replaced_by)


def key_named(rows: Sequence[NamedKey], name: str) -> NamedKey:
    """The newest key of this name. Raises SettingsInvalid if there is none."""
    found = next((row for row in current_keys(rows) if row.name == name), None)
    if found is None:
        known = ", ".join(row.name for row in current_keys(rows)) or "none"
        raise SettingsInvalid(f"there is no key {name!r} (there are: {known})", key="name")
    return found


def rights_of(rows: Mapping[str, NamedKey], row: NamedKey) -> tuple[KeyRights, ...]:
    """Its own and those of its parents. `rows` are the current ones by name. A parent that is not there allows nothing."""
    found, seen = [row.rights], {row.name}
    while row.parent:
        above = rows.get(row.parent)
        if above is None or above.name in seen:
            return (*found, KeyRights(scopes=()))
        found.append(above.rights)
        seen.add(above.name)
        row = above
    return tuple(found)


def keys_digest(rows: Sequence[NamedKey]) -> str:
    """Another text for each change of what keys open; "" for no keys."""
    lasting = [structs.replace(row, last_used=None) for row in sorted(rows, key=lambda row: row.kid)]
    return sha256(msgspec.json.encode(lasting)).hexdigest()[:16] if lasting else ""


def add_key(rows: Sequence[NamedKey], wanted: NamedKey) -> KeyChange:
    """The table with another key. Raises SettingsInvalid if the key cannot be added."""
    if not is_key_name(wanted.name):
        raise SettingsInvalid(f"a key's name has 1 to {NAME_LENGTH} printable characters", key="name")
    if any(row.name == wanted.name for row in rows):
        why = f"there is a key {wanted.name!r} already: `clew keys rotate {wanted.name}` gives it a new secret"
        raise SettingsInvalid(why, key="name")
    if wanted.parent:
        wanted = _as_child(wanted, key_named(rows, wanted.parent))
    return KeyChange((*rows, wanted), wanted, "key added", after=key_words(wanted))


def _as_child(wanted: NamedKey, parent: NamedKey) -> NamedKey:
    """Raises SettingsInvalid if it would have more than its parent."""
    more = excess(wanted.rights, parent.rights)
    if not more and wanted.principal != parent.principal:
        more = f"the conversations of {wanted.principal}"
    if more:
        raise SettingsInvalid(f"{wanted.name!r} would have {more}, but its parent {parent.name!r} has not", key="parent")
    return structs.replace(wanted, team=parent.team)


def edit_key(rows: Sequence[NamedKey], name: str, rights: KeyRights, team: str) -> KeyChange:
    """Other rights, and another team. Raises SettingsInvalid."""
    old = key_named(rows, name)
    new = structs.replace(old, rights=rights, team=team)
    if new.parent:
        new = _as_child(new, key_named(rows, new.parent))
    return KeyChange(tuple(new if row is old else row for row in rows), new, "key edited", key_words(old), key_words(new))


def rotate_key(rows: Sequence[NamedKey], name: str, minted: MintedSecret, *, now: float, overlap: float) -> KeyChange:
    """A new secret. The old one opens for `overlap` seconds more. Raises SettingsInvalid."""
    old = key_named(rows, name)
    new = structs.replace(old, kid=minted.kid, hash=minted.hash, created=now, last_used=None)
    kept = [row for row in rows if row is not old and not (row.replaced_by and (row.rights.expires or 0) <= now)]
    after = f"id {new.kid}"
    if overlap > 0:
        end = now + overlap if old.rights.expires is None else min(now + overlap, old.rights.expires)
        kept.append(structs.replace(old, replaced_by=new.kid, rights=structs.replace(old.rights, expires=end)))
        after = f"{after}; the old secret works until {_minute(end)}"
    return KeyChange((*kept, new), new, "key rotated", f"id {old.kid}", after)


def remove_key(rows: Sequence[NamedKey], name: str) -> KeyChange:
    """The table without a key and its children. Raises SettingsInvalid if there is no key of this name."""
    old = key_named(rows, name)
    gone = {name}
    while more := {row.name for row in rows if row.parent in gone} - gone:
        gone |= more
    children = f"; with its children {', '.join(sorted(gone - {name}))}" if len(gone) > 1 else ""
    return KeyChange(tuple(row for row in rows if row.name not in gone), old, "key removed", f"{key_words(old)}{children}")


def key_words(key: NamedKey) -> str:
    """A key as the audit shows it, without any part of its secret."""
    parts = [f"principal {key.principal}"]
    parts += [f"team {key.team}"] if key.team else []
    parts += [f"child of {key.parent}"] if key.parent else []
    parts += [key.rights.words] if key.rights.words else []
    parts += [f"until {_minute(key.rights.expires)}"] if key.rights.expires is not None else []
    return "; ".join(parts)


def _minute(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"


def is_key_name(name: str) -> bool:
    return bool(name.strip()) and name.isprintable() and len(name) <= NAME_LENGTH
