"""What a request asks for, read with care: bounded, typed, and refused with a reason."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Final, Self, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from clew.admin.problem import Problem
from clew.engine.aside import aside
from clew.settings.gateway_key import LOCAL

__all__ = ["count", "number", "principal", "read_body"]

MOST_BYTES: Final = 64 * 1024
MOST_TOGETHER: Final = 256 * 1024 * 1024
"""Held by all bodies while they are read."""
SILENT_SECONDS: Final = 30.0
"""Between two pieces of a body."""
MOST_ROWS: Final = 1000
_LATER: Final = "try again in a moment"
_MOST_DIGITS: Final = 9

T = TypeVar("T")


async def read_body(request: Request, type: type[T], most: int = MOST_BYTES) -> T:
    """The JSON body as a value of this type. A large one is read in a thread: answers to others go on meanwhile."""
    with Reading() as reading:
        raw = await _received(request, most, reading)
        try:
            return await aside(len(raw), lambda: msgspec.json.decode(raw, type=type))
        except (ValueError, RecursionError) as error:
            raise Problem(400, "the body cannot be used", str(error)) from None


async def _received(request: Request, most: int, reading: Reading) -> bytearray:
    raw = bytearray()
    chunks = request.stream()
    try:
        while True:
            async with asyncio.timeout(SILENT_SECONDS):
                chunk = await anext(chunks)
            raw += chunk
            if len(raw) > most:
                raise Problem(413, "the body is too large", f"it may have {most} bytes")
            reading.take(len(chunk))
    except StopAsyncIteration:
        return raw
    except TimeoutError:
        raise Problem(408, "the body did not come", f"nothing came for {SILENT_SECONDS:g} s") from None
    except ClientDisconnect:
        raise Problem(400, "the body ended early") from None


class Reading:
    """What one body holds while it is read, of what all of them may hold together."""

    together = 0

    def __init__(self) -> None:
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        Reading.together -= self._bytes

    def take(self, size: int) -> None:
        """So many bytes more. Raises Problem where all together have too many."""
        self._bytes += size
        Reading.together += size
        if Reading.together > MOST_TOGETHER:
            raise Problem(503, "too much is being read at once", "other requests with long bodies are not whole yet", _LATER)


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
