"""What a request asks for, read with care: bounded, typed, and refused with a reason."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from clew.admin.problem import Problem
from clew.engine.aside import aside
from clew.settings.gateway_key import LOCAL

__all__ = ["count", "number", "principal", "read_body"]

MOST_BYTES: Final = 64 * 1024
MOST_ROWS: Final = 1000
_MOST_DIGITS: Final = 9

T = TypeVar("T")


async def read_body(request: Request, type: type[T], most: int = MOST_BYTES) -> T:
    """The JSON body as a value of this type. A large one is read in a thread: answers to others go on meanwhile."""
    raw = bytearray()
    try:
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > most:
                raise Problem(413, "the body is too large", f"it may have {most} bytes")
    except ClientDisconnect:
        raise Problem(400, "the body ended early") from None
    try:
        return await aside(len(raw), lambda: msgspec.json.decode(raw, type=type))
    except (ValueError, RecursionError) as error:
        raise Problem(400, "the body cannot be used", str(error)) from None


def principal(request: Request) -> str:
    """Whose recordings: the operator's own, unless another is named."""
    return request.query_params.get("principal", LOCAL)


def count(request: Request, default: int = 100) -> int:
    """`limit`, between 1 and what one answer may hold."""
    text = request.query_params.get("limit", str(default))
    limit = int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else 0
    if not 1 <= limit <= MOST_ROWS:
        raise Problem(400, "limit cannot be used", f"it is a number from 1 to {MOST_ROWS}")
    return limit


def number(request: Request, name: str) -> float | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        raise Problem(400, f"{name} cannot be used", "it is a number") from None
