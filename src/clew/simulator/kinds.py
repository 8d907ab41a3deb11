"""All kinds of simulator, by dialect.

A dialect is a folder of one shape: `vendors` with a table of rows, `judge/`, `model`, `memory`, `stream`, `errors` and
`server`. A new one is a folder, a line here for its rows, and a line in `server` for its server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from clew.errors import SettingsInvalid
from clew.simulator.anthropic.vendors import vendors
from clew.simulator.openai_chat.vendors import chat_vendors


class KindRow(Protocol):
    """What the rows of all dialects have."""

    @property
    def about(self) -> str: ...


_ROWS: Final[dict[str, Callable[[], Mapping[str, KindRow]]]] = {
    "anthropic": vendors,
    "openai-chat": chat_vendors,
}


def kinds() -> dict[str, str]:
    """Each kind and what it is, in a line, by dialect."""
    return {name: row.about for rows in _ROWS.values() for name, row in rows().items()}


def dialect_of(kind: str) -> str:
    """The dialect that this kind speaks. Raises SettingsInvalid for an unknown kind."""
    check_kind(kind)
    return next(dialect for dialect, rows in _ROWS.items() if kind in rows())


def speaks_chat(kind: str) -> bool:
    """Whether the kind speaks Chat Completions."""
    return kind in chat_vendors()


def check_kind(kind: str) -> None:
    """Raises SettingsInvalid for an unknown kind; its message lists all kinds."""
    if kind not in kinds():
        raise SettingsInvalid(f"there is no kind {kind!r}; there are {', '.join(kinds())}", key="kind")
