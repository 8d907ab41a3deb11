"""Exchange: one request from the client's bytes to the backend's and back, and what happened to it.

Its timeline has the wait for the first byte, then thinking, text and tools, as they came. A stream is kept as bytes,
with some moments: how much of it was here when. What lies between two moments is taken to have come evenly, so the times
are about right, to a second where an answer is long.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw, Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.exchanges import BodyTexts, heads_of, texts_of
from clew.admin.problems import AdminProblem
from clew.admin.requests import principal
from clew.admin.services import AdminServices
from clew.model.turn import Bodies, Exchange
from clew.web.difference import difference, spread
from clew.web.frame import page
from clew.web.rows import cost_in, row_of

_WRITE_SECONDS: Final = 10.0
"""For so long the bodies may still be on their way into the store."""
MOST_SHOWN: Final = 200_000
"""Characters of a body. All of it is in the JSON."""


async def page_exchange(services: AdminServices, request: Request) -> Response:
    owner, id = principal(request), request.path_params["id"]

    def values() -> dict[str, object]:
        exchange, bodies = services.kept.exchange(owner, id), services.kept.bodies(owner, id)
        if exchange is None:
            raise AdminProblem(
                404, "there is no such exchange", "it may have been deleted", "look at the last ones on the page Now"
            )
        redact, settings = services.redactor(), services.current.snapshot.settings
        return {
            "it": exchange,
            "row": row_of(exchange),
            "tries": [(each, redact(each.why)) for each in exchange.tries],
            "cost": cost_in(exchange, settings.backends),
            "phases": phases_of(exchange, bodies),
            "heads": heads_of(bodies, services) if bodies else None,
            **(readable_bodies(services, bodies) if bodies else {}),
            "writing": 0.0 <= time.time() - exchange.ended < _WRITE_SECONDS,
            "keeps": settings.store.bodies,
            "owner": owner,
        }

    return page(services, request, "exchange.html", await services.read(values))


def readable_bodies(services: AdminServices, bodies: Bodies) -> dict[str, object]:
    """The bodies for people. `difference` is None where the request went out as it came."""
    texts = texts_of(bodies, services)

    def shown(body: str) -> str:
        text = "\n".join(spread(body))
        more = len(text) - MOST_SHOWN
        return f"{text[:MOST_SHOWN]}\n… and {more:,} more characters" if more > 0 else text

    return {
        "sides": BodyTexts(shown(texts.asked), shown(texts.sent), shown(texts.answered)),
        "difference": difference(texts.asked, texts.sent) if bodies.asked != bodies.sent else None,
    }


# The timeline

PhaseKind: TypeAlias = Literal["waiting", "thinking", "text", "tool", "answer"]

MOST_PHASES: Final = 60
"""Phases that are shown."""

_EVENT: Final = re.compile(rb"^data: ?(\{.*\})\r?$", re.MULTILINE)
_KINDS: Final[dict[str, PhaseKind]] = {
    "thinking": "thinking",
    "redacted_thinking": "thinking",
    "text": "text",
    "tool_use": "tool",
    "server_tool_use": "tool",
    "mcp_tool_use": "tool",
    "reasoning": "thinking",
    "message": "text",
}
_EMPTY: Final = (b"", b"null", b'""', b"[]")


class Phase(Struct, frozen=True, kw_only=True):
    """What came from when to when, in seconds after the request; `x` and `width` are shares of the whole."""

    kind: PhaseKind
    name: str
    began: float
    ended: float
    x: float
    width: float


class _Block(Struct, frozen=True):
    """A block; of the Responses API an item."""

    type: str = ""
    name: str | None = None


class _Function(Struct, frozen=True):
    name: str | None = None


class _Call(Struct, frozen=True):
    function: _Function = _Function()


class _Delta(Struct, frozen=True):
    content: Raw = Raw(b"null")
    reasoning_content: Raw = Raw(b"null")
    reasoning: Raw = Raw(b"null")
    tool_calls: list[_Call] | None = None


class _Choice(Struct, frozen=True):
    delta: _Delta = _Delta()


class _Event(Struct, frozen=True):
    """An event of any dialect. Fields that are missing do not matter."""

    type: str = ""
    content_block: _Block | None = None
    item: _Block | None = None
    choices: list[_Choice] | None = None


class _Content(NamedTuple):
    """What an event brings. `begins`: a new block, or else more of the same kind."""

    kind: PhaseKind
    name: str
    begins: bool


class _Section(Struct):
    """Events of one kind, and where they stand in the stream."""

    kind: PhaseKind
    name: str
    first: int
    last: int


def phases_of(exchange: Exchange, bodies: Bodies | None) -> tuple[Phase, ...]:
    """The phases of the exchange; empty where nothing came."""
    total = exchange.ended - exchange.started
    if exchange.first_byte is None or total <= 0:
        return ()
    phases = [_phase("waiting", "", 0.0, exchange.first_byte, total)]
    sections = list(_sections(bodies.answered))[:MOST_PHASES] if bodies and exchange.streamed else []
    if not bodies or not sections:
        return (*phases, _phase("answer", "", exchange.first_byte, total, total))
    # Moments in order, from the first byte to the last.
    size, moments = len(bodies.answered), [(0, exchange.first_byte)]
    for bytes_, seconds in (*bodies.times, (size, total)):
        if moments[-1][0] <= bytes_ <= size and moments[-1][1] <= seconds <= total:
            moments.append((bytes_, seconds))
    ends = [section.first for section in sections[1:]] + [sections[-1].last]
    for section, start, end in zip(sections, [0, *ends[:-1]], ends, strict=True):
        began, ended = _time_at(start, moments), _time_at(end, moments)
        phases.append(_phase(section.kind, section.name, began, ended, total))
    return tuple(phases)


def _phase(kind: PhaseKind, name: str, began: float, ended: float, total: float) -> Phase:
    ended = max(began, ended)
    x, width = round(100 * began / total, 2), round(100 * (ended - began) / total, 2)
    return Phase(kind=kind, name=name, began=began, ended=ended, x=x, width=width)


def _time_at(offset: int, moments: Sequence[tuple[int, float]]) -> float:
    for (size0, time0), (size1, time1) in pairwise(moments):
        if offset <= size1:
            share = (offset - size0) / (size1 - size0) if size1 > size0 else 1.0
            return time0 + share * (time1 - time0)
    return moments[-1][1]


def _sections(stream: bytes) -> Iterator[_Section]:
    """The stream as sections, in order."""
    section: _Section | None = None
    for found in _EVENT.finditer(stream):
        content = _content_of(found[1])
        if content and (section is None or content.begins or (content.kind, content.name) != (section.kind, section.name)):
            if section is not None:
                yield section
            section = _Section(content.kind, content.name, found.start(), found.end())
        elif section is not None:
            section.last = found.end()
    if section is not None:
        yield section


def _content_of(data: bytes) -> _Content | None:
    """What an event brings; None if nothing that the timeline shows."""
    try:
        event = msgspec.json.decode(data, type=_Event)
    except (ValueError, RecursionError):
        return None
    block = event.item if event.type == "response.output_item.added" else event.content_block
    if block:
        kind = _KINDS.get(block.type, "tool" if block.type.endswith(("_use", "_call")) else "answer")
        return _Content(kind, block.name or "", begins=True)
    if not event.choices:
        return None
    delta = event.choices[0].delta
    if delta.tool_calls:
        name = delta.tool_calls[0].function.name or ""
        return _Content("tool", name, begins=True) if name else None
    if any(bytes(each) not in _EMPTY for each in (delta.reasoning_content, delta.reasoning)):
        return _Content("thinking", "", begins=False)
    return _Content("text", "", begins=False) if bytes(delta.content) not in _EMPTY else None
