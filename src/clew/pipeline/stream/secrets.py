"""The operator's key does not get through, where a backend's error repeats it.

Nor does its beginning at the end of a text: of a backend's words so many are told, and the key may stand where they end.
"""

from __future__ import annotations

from typing import Final

from clew.model.events import StreamFailed, altered

HIDDEN: Final = "<secret>"
"""Stands for a key that a backend repeats."""

_LEAST: Final = 6
"""Of a beginning: a shorter one tells nothing, and may be a word."""


def hidden(words: str, secret: str) -> str:
    """A text without it."""
    words = words.replace(secret, HIDDEN)
    cut = next((begin for begin in _beginnings(secret) if words.endswith(begin)), "")
    return f"{words[: -len(cut)]}{HIDDEN}" if cut else words


def hidden_in(raw: bytes, secret: str) -> bytes:
    """JSON without it, in which a text ends at a quotation mark."""
    if secret[:_LEAST].encode() not in raw:
        return raw
    raw = raw.replace(secret.encode(), HIDDEN.encode())
    for begin in _beginnings(secret):
        raw = raw.replace(f'{begin}"'.encode(), f'{HIDDEN}"'.encode())
    return raw


def without_secret(event: StreamFailed, raw: bytes, secret: str) -> tuple[StreamFailed, bytes]:
    """An error event and its bytes without the secret; "" is none."""
    shown = hidden_in(raw, secret) if secret else raw
    return (event, raw) if shown == raw else (without_secret_in(event, secret), shown)


def without_secret_in(event: StreamFailed, secret: str) -> StreamFailed:
    """An error event without the secret; "" is none."""
    if not secret:
        return event
    error = {name: hidden(value, secret) if isinstance(value, str) else value for name, value in event.error.items()}
    return event if error == event.error else altered(event, error=error)


def _beginnings(secret: str) -> list[str]:
    """The longest first."""
    return [secret[:size] for size in range(len(secret) - 1, _LEAST - 1, -1)]
