"""What the registry holds and what it answers. The names of the counts are those of its document's log lines."""

from __future__ import annotations

from msgspec import Struct

from clew.model.json import JsonValue


class RegistryEntry(Struct, frozen=True):
    """What the table holds of a block."""

    session: int
    registered_at: float
    confirmed: bool = False
    complete: bool = True


class BackendSwitch(Struct, frozen=True):
    """The backend changed, and a new session began."""

    old_backend: str
    new_backend: str
    old_session: int
    new_session: int


class Registered(Struct, frozen=True):
    """A block that was not in the table, or not in this session. The preview is text of the model: not for every log."""

    key: bytes
    session: int
    preview: str
    complete: bool = True


class Registration(Struct, frozen=True):
    """What an answer brought; `note` says why it brought nothing, if it could not be read."""

    blocks: tuple[Registered, ...] = ()
    note: str = ""


class Decision(Struct, frozen=True):
    """What became of one thinking block of a request. The key is None for a block that nothing names."""

    path: str
    key: bytes | None
    kept: bool
    why: str


class Filtered(Struct, frozen=True, kw_only=True):
    """The request to send (the very same object if nothing was removed) and what there is to say about it."""

    body: JsonValue
    session: int
    removed: int = 0
    confirmed: int = 0
    cleanup_old_session: int = 0
    cleanup_confirmed_unused: int = 0
    cleanup_orphaned: int = 0
    cache_size_after: int = 0
    decisions: tuple[Decision, ...] = ()


class CacheStats(Struct, frozen=True):
    """`total` is the sum of the next two, and of the last two."""

    total: int = 0
    confirmed: int = 0
    unconfirmed: int = 0
    current_session: int = 0
    old_session: int = 0
