"""Heads: the headers of a request on its way to a backend, those of the reply, and those that are kept for people to look
at.

Nothing secret may be kept: a credential is known by its header's name, and hidden. (The client's own never get this far.)
What went out is looked through for the shapes of secrets besides: a proxy before us may put one under a name of its own.
What a backend answers is so when it is shown, since it is never the same twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from clew.backends.row import auth_headers
from clew.dialects.shape import ClientHeaders
from clew.exchange.call import Call
from clew.exchange.inputs import BackendRoute
from clew.exchange.redact import HIDDEN, Redactor
from clew.model.blocks import THINKING_TYPES
from clew.model.change import THINKING_STEPS, Change, count_of, tally
from clew.model.http import Headers, ResponseHead
from clew.model.request import Request
from clew.model.turn import Heads
from clew.thinking.history import thoughts_of

ESTIMATED: Final = ("x-clew-tokens", "estimated")
"""With a count of tokens that nobody counted."""
JSON_TYPE: Final = ("content-type", "application/json")
STREAM_TYPE: Final = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))

_OURS: Final = (
    (b"content-type", b"application/json"),
    (b"accept-encoding", b"identity"),  # a watcher reads along, and nothing that comes may grow
)
_SECRET: Final = re.compile(
    r"(^|[-_])(api-?key|key|token|secret|auth|authorization|cookie|password|passwd|credential|jwt|assertion)s?($|[-_])"
)
_COUNTED: Final = "ratelimit"
"""How many tokens are left is no secret."""
_BY_SHAPE: Final = Redactor()

Pairs: TypeAlias = tuple[tuple[str, str], ...]


class OutgoingHead(NamedTuple):
    """Where a request goes on its endpoint, and its headers."""

    target: bytes
    headers: Headers


def outgoing_head(call: Call, route: BackendRoute, going: Request) -> OutgoingHead:
    """The head of a request to a backend. A client's query is meant for a backend of its own dialect."""
    place, written = route.address, route.dialect
    path = written.own_path or written.dialect.paths[call.kind]
    query = f"?{call.query}" if call.query and written.dialect is call.front else ""
    own = auth_headers(route.backend, route.key, call.credential)
    more = written.dialect.request_headers(call.headers, going, written.options)
    return OutgoingHead(f"{place.path}{path}{query}".encode("latin-1", "replace"), (place.host, *_OURS, *own, *more))


def own_headers(exchange: str, route: BackendRoute | None, thinking: str) -> list[tuple[str, str]]:
    """clew's own: which exchange it was, who answered, and what became of the thinking."""
    headers = [("x-clew-exchange", exchange)]
    if route is not None:
        headers += _backend_headers(route.backend.name, route.target.model)
    return [*headers, ("x-clew-thinking", thinking)] if thinking else headers


@lru_cache(maxsize=256)
def _backend_headers(backend: str, model: str) -> Pairs:
    """A header's value holds neither line ends nor what is not Latin-1."""
    names = (("x-clew-backend", backend), ("x-clew-model", model))
    return tuple((name, "".join(each if " " <= each <= "~" else "?" for each in value)) for name, value in names)


def kept_heads(asked: ClientHeaders, sent: OutgoingHead | None, answered: ResponseHead | None) -> Heads:
    """As they are kept. Clients and backends say nearly the same with each request, so that is worked out once."""
    return Heads(
        asked=_shown_headers(tuple(asked.items())),
        sent=_sent_headers(sent.headers) if sent else (),
        target=_request_line(sent.target) if sent else "",
        answered=_plain(answered.headers) if answered else (),
        status=answered.status if answered else 0,
    )


@lru_cache(maxsize=64)
def _shown_headers(headers: Pairs) -> Pairs:
    return tuple(map(_shown_header, headers))


@lru_cache(maxsize=256)
def _shown_header(header: tuple[str, str]) -> tuple[str, str]:
    """Two conversations of one client differ in one or two."""
    name, value = header
    return name, _BY_SHAPE(_shown(name, value))


@lru_cache(maxsize=64)
def _sent_headers(headers: Headers) -> Pairs:
    return _shown_headers(_plain(headers))


@lru_cache(maxsize=64)
def _request_line(target: bytes) -> str:
    return _BY_SHAPE(f"POST {target.decode('latin-1')}")


def _plain(headers: Iterable[tuple[bytes, bytes]]) -> Pairs:
    return tuple(map(_plain_header, headers))


@lru_cache(maxsize=256)
def _plain_header(header: tuple[bytes, bytes]) -> tuple[str, str]:
    """Most headers of answers are the same each time."""
    name = header[0].decode("latin-1")
    return name, _shown(name, header[1].decode("latin-1"))


def _shown(name: str, value: str) -> str:
    return HIDDEN if _is_secret(name) else value


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    """Whether a header's value is. The same few names come with every request and answer."""
    return _SECRET.search(name.lower()) is not None and _COUNTED not in name.lower()


class ThinkingCounts(NamedTuple):
    """How many thinking blocks were kept, restored, left out, handed over, healed."""

    kept: int = 0
    restored: int = 0
    left_out: int = 0
    handed_over: int = 0
    healed: int = 0

    def __str__(self) -> str:
        """As the header says it."""
        return (
            f"kept={self.kept}, restored={self.restored}, left-out={self.left_out}, "
            f"handed-over={self.handed_over}, healed={self.healed}"
        )


_NONE = ThinkingCounts()


def is_unsaid_thought(change: Change) -> bool:
    """Among the changes of a dialect: a thinking block that it has no words for."""
    return change.step == "thinking" and change.what == "left out"


def thinking_counts(going: Request, changes: Sequence[Change], unsaid: int = 0, *, native: bool = False) -> ThinkingCounts:
    """What became of the thinking.

    Of what is in `going`, the dialect had no words for `unsaid`; with `native`, what was handed over is there too.
    """
    if not changes:
        return ThinkingCounts(thoughts_of(going.messages).blocks) if len(going.messages) > 1 else _NONE
    counts = tally(change for change in changes if change.step in THINKING_STEPS)
    restored, handed_over = counts.get("restored", 0), counts.get("handed over", 0)
    stand_ins = [change for change in changes if change.step == "thinking" and change.what == "added"]  # nobody said them
    others = restored + unsaid + count_of(stand_ins) + (handed_over if native else 0)
    return ThinkingCounts(
        kept=max(0, thoughts_of(going.messages).blocks - others),
        restored=restored,
        left_out=counts.get("left out", 0),
        handed_over=handed_over,
        healed=counts.get("healed", 0),
    )


def kept_paths(going: Request) -> list[str]:
    """Where thinking stands in what goes out."""
    return [
        f"messages.{i}.content.{j}"
        for i, message in enumerate(going.messages)
        if message.role == "assistant" and isinstance(message.content, tuple)
        for j, block in enumerate(message.content)
        if block.type in THINKING_TYPES
    ]
