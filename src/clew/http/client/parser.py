"""The parser of responses. A reader has one only while it needs one.

Between two chunks of a body every parser is in the same state, whatever came before. A stream is in that state nearly all
the time, and takes a kilobyte less without a parser. So a reader gives its parser back there (`give_back_parser`), and takes
any other parser in that state when data comes (`take_parser`).
"""

from __future__ import annotations

from typing import Final, Protocol

import httptools

_CHUNKED: Final = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
_MOST: Final = 16
"""To keep for whoever needs one next."""
_MOST_FIELDS: Final = 256
_LONGEST_VALUE: Final = 128
_RESTING: Final[list[ResponseParser]] = []


class _Fields(dict[tuple[bytes, bytes], tuple[bytes, bytes]]):
    """Fields of heads, with their names in lower case. Most are the same in every head, and then they are one object."""

    def __missing__(self, field: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        if len(self) >= _MOST_FIELDS:
            self.clear()
        name, value = field
        known = name.lower(), value
        if len(value) <= _LONGEST_VALUE:
            self[field] = known
        return known


_FIELDS: Final = _Fields()


class ParserOwner(Protocol):
    """Whose response it is."""

    def message_begins(self) -> None: ...
    def head_is_here(self, parser: ResponseParser) -> bool:
        """False if it is the head of an interim response."""
        ...

    def message_ends(self, keep_alive: bool) -> None: ...


class _Nobody:
    """Has a parser brought to where others stand."""

    def message_begins(self) -> None: ...
    def head_is_here(self, parser: ResponseParser) -> bool:
        return True

    def message_ends(self, keep_alive: bool) -> None: ...


_NOBODY: Final = _Nobody()


class ResponseParser:
    """ParserOwner one response after another."""

    __slots__ = ("_in_head", "_llhttp", "feed", "headers", "keeps_alive", "on_body", "parts", "reader")

    def __init__(self, reader: ParserOwner) -> None:
        self.reader = reader
        self.headers: list[tuple[bytes, bytes]] = []
        self.parts: list[bytes] = []
        """What came of the body."""
        self.on_body = self.parts.append
        """What llhttp calls with each piece of it. A list's own method, because a read may hold hundreds."""
        self._in_head = True
        self._llhttp = httptools.HttpResponseParser(self)
        self.feed = self._llhttp.feed_data
        self.keeps_alive = self._llhttp.should_keep_alive

    @property
    def status(self) -> int:
        return self._llhttp.get_status_code()

    @property
    def version(self) -> str:
        return self._llhttp.get_http_version()

    # What llhttp calls.

    def on_message_begin(self) -> None:
        self._in_head = True
        self.reader.message_begins()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are read, bounded as framing is, and dropped
            self.headers.append(_FIELDS[name, value])

    def on_headers_complete(self) -> None:
        if self.reader.head_is_here(self):
            self._in_head = False
        self.headers.clear()

    def on_message_complete(self) -> None:
        self.reader.message_ends(self.keeps_alive())


def give_back_parser(parser: ResponseParser) -> bool:
    """Whether another may have it: it stands between two chunks, and all that is left to say about it is how they end."""
    if not parser.keeps_alive():
        return False
    parser.reader = _NOBODY
    if len(_RESTING) < _MOST:
        _RESTING.append(parser)
    return True


def take_parser(reader: ParserOwner) -> ResponseParser:
    """A parser in the state between two chunks, one that was given back if there is one."""
    try:
        parser = _RESTING.pop()
    except IndexError:
        parser = ResponseParser(_NOBODY)
        parser.feed(_CHUNKED)
    parser.reader = reader
    return parser
