"""All kinds of simulator, of either dialect."""

from __future__ import annotations

from clew.errors import SettingsInvalid
from clew.simulator.openai_chat.vendors import chat_vendors
from clew.simulator.vendors import vendors

__all__ = ["check_kind", "kinds", "speaks_chat"]


def kinds() -> dict[str, str]:
    """Each kind and what it is, in a line: first those with the Anthropic dialect."""
    rows = {**vendors(), **chat_vendors()}
    return {name: row.about for name, row in rows.items()}


def speaks_chat(kind: str) -> bool:
    """Is Chat Completions its dialect?"""
    return kind in chat_vendors()


def check_kind(kind: str) -> None:
    """Raises SettingsInvalid, which says which there are."""
    if kind not in kinds():
        raise SettingsInvalid(f"there is no kind {kind!r}; there are {', '.join(kinds())}", key="kind")
