"""The page about formats of conversations, from the table that `clew export` and `clew import` read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from clew.chat.formats import FORMATS, READABLE, Format, ReadableFormat

_COLUMNS = ("format", "file", "what it is", "imported", "what is not in it")


def formats_page(table: Callable[[Sequence[str], Iterable[Sequence[str]]], str]) -> str:
    return "\n".join(
        [
            "# Formats of conversations\n",
            "The formats that `clew export` writes and `clew import` reads. See",
            "[Move conversations](../howto/move-conversations.md).\n",
            table(_COLUMNS, [_row(each) for each in {**FORMATS, **READABLE}.values()]),
        ]
    )


def _row(format: Format | ReadableFormat) -> tuple[str, ...]:
    if isinstance(format, ReadableFormat):
        return (f"`{format.name}`", "", format.does, "yes", "it can only be read")
    reads = "yes" if format.read else "no"
    return (f"`{format.name}`", f"`{format.suffix}`", format.does, reads, "; ".join(format.losses))
