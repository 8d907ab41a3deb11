"""What a request to the admin says: its parameters and its body, bounded and typed."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Final, Self, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from clew.admin.problems import AdminProblem
from clew.engine.aside import aside
from clew.limits.keys import LOCAL

MOST_BYTES: Final = 64 * 1024
MOST_TOGETHER: Final = 256 * 1024 * 1024
"""Held by all bodies while they are read."""
SILENT_SECONDS: Final = 30.0
"""Between two pieces of a body."""
MOST_ROWS: Final = 1000
_MOST_DIGITS: Final = 9

T = TypeVar("T")


class BodyBytes:
    """The bytes that the reading of one body holds, counted against what all bodies may hold together."""

    together = 0

    def __init__(self) -> None:
        self._own = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        BodyBytes.together -= self._own

    def take(self, size: int) -> None:
        """So many bytes more. Raises AdminProblem if all bodies together have too many."""
        self._own += size
        BodyBytes.together += size
        if BodyBytes.together > MOST_TOGETHER:
            why = "other requests with long bodies are still arriving"
            raise AdminProblem(503, "too much is being read at once", why, "try again in a moment")


async def read_body(request: Request, type: type[T], most: int = MOST_BYTES) -> T:
    """The JSON body as a value of this type. A large body is decoded in a thread, so that other requests are answered
    meanwhile."""
    with BodyBytes() as held:
        raw = await _receive(request, most, held)
        try:
            return await aside(len(raw), lambda: msgspec.json.decode(raw, type=type))
        except (ValueError, RecursionError) as error:
            raise AdminProblem(400, "the body cannot be used", str(error)) from None


async def _receive(request: Request, most: int, held: BodyBytes) -> bytearray:
    raw = bytearray()
    chunks = request.stream()
    try:
        while True:
            async with asyncio.timeout(SILENT_SECONDS):
                chunk = await anext(chunks)
            raw += chunk
            if len(raw) > most:
                raise AdminProblem(413, "the body is too large", f"it may have {most} bytes")
            held.take(len(chunk))
    except StopAsyncIteration:
        return raw
    except TimeoutError:
        raise AdminProblem(408, "the body did not arrive", f"no data came for {SILENT_SECONDS:g} s") from None
    except ClientDisconnect:
        raise AdminProblem(400, "the body ended early") from None


def principal(request: Request) -> str:
    """Whose recordings are meant: the operator's own, unless another principal is named."""
    return request.query_params.get("principal", LOCAL)


def count(request: Request, default: int = 100) -> int:
    """`limit`, between 1 and what one answer may hold."""
    text = request.query_params.get("limit", str(default))
    limit = int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else 0
    if not 1 <= limit <= MOST_ROWS:
        raise AdminProblem(400, "limit cannot be used", f"it is a number from 1 to {MOST_ROWS}")
    return limit


def number(request: Request, name: str) -> float | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        raise AdminProblem(400, f"{name} cannot be used", "it is a number") from None
