"""Context edits: what the server may clear from a history, and what it must keep (R51, R52).

`clear_thinking_20251015` with `keep: "all"` asks the server to clear no thinking at all. It is put in where the config asks
for it; it must stand first; and it may stand only where thinking is on, so a step that switches thinking off removes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET, Raw, UnsetType, structs

from clew.model.change import Change
from clew.model.facts.shapes import CLEAR_THINKING, CONTEXT_BETA
from clew.model.json import JsonObject, JsonValue
from clew.model.origin import Target
from clew.model.request import Request
from clew.pipeline.step import Facts
from clew.pipeline.thinking_modes import is_on, mode_of
from clew.pipeline.values import bytes_of, object_of, with_changed_fields
from clew.wire.splice import apply, edit_array, elements, locate, set_key

STEP = "context_edits"

KEEP_ALL = b'{"type":"%b","keep":"all"}' % CLEAR_THINKING.encode()

OFF = "clear_thinking needs thinking that is on (R52)"
FIRST = "clear_thinking must be the first edit (R51)"
PRESERVE = "the config asks to keep all thinking"


def context_management(*, preserve: bool, has_thinking: bool, others: Sequence[JsonObject] = ()) -> JsonObject | None:
    """Return the `context_management` of a request that is built from plain values, or None if there are no edits.

    `preserve` asks the server to keep all old thinking, where the request has thinking at all; this edit must be the first.

    >>> context_management(preserve=True, has_thinking=True)
    {'edits': [{'type': 'clear_thinking_20251015', 'keep': 'all'}]}
    >>> context_management(preserve=True, has_thinking=False) is None
    True
    """
    keep: list[JsonValue] = [{"type": CLEAR_THINKING, "keep": "all"}] if preserve and has_thinking else []
    edits: list[JsonValue] = [*keep, *others]
    return {"edits": edits} if edits else None


def context_edits(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    thinking = object_of(request.body.thinking)
    if not is_on(thinking, target.profile):
        return without_clear_thinking(request, step=STEP)
    places = _places(request)
    if not places:
        wanted = facts.options.preserve_thinking and mode_of(thinking) in ("enabled", "adaptive")
        return _preserving(request) if wanted else (request, ())
    return (request, ()) if places == list(range(len(places))) else _first(request, places)


def without_clear_thinking(request: Request, *, step: str) -> tuple[Request, tuple[Change, ...]]:
    """The request without `clear_thinking` edits; without `context_management` if it held nothing else."""
    places = _places(request)
    if not places:
        return request, ()
    management = object_of(request.body.context_management) or {}
    alone = management.keys() == {"edits"} and len(_edits(management)) == len(places)
    new = UNSET if alone else _edited(request.body.context_management, drop=places)
    changes = tuple(Change(step, f"context_management.edits.{index}", "removed", OFF) for index in places)
    return with_changed_fields(request, context_management=new), changes


def _places(request: Request) -> list[int]:
    """The positions of the `clear_thinking` edits in the request."""
    edits = _edits(object_of(request.body.context_management) or {})
    return [i for i, edit in enumerate(edits) if isinstance(edit, dict) and edit.get("type") == CLEAR_THINKING]


def _edits(management: JsonObject) -> list[JsonValue]:
    edits = management.get("edits")
    return edits if isinstance(edits, list) else []


def _preserving(request: Request) -> tuple[Request, tuple[Change, ...]]:
    """The edit in front of the others, and the beta that it needs."""
    raw = request.body.context_management
    management = object_of(raw)
    if management is None:
        new = Raw(b'{"edits":[%b]}' % KEEP_ALL)
    elif isinstance(management.get("edits"), list):
        new = _edited(raw, insert={0: [KEEP_ALL]})
    else:
        new = Raw(set_key(bytes_of(raw), "edits", b"[%b]" % KEEP_ALL, path="context_management"))
    betas = request.betas if CONTEXT_BETA in request.betas else (*request.betas, CONTEXT_BETA)
    request = structs.replace(with_changed_fields(request, context_management=new), betas=betas)
    return request, (Change(STEP, "context_management.edits.0", "added", PRESERVE),)


def _first(request: Request, places: Sequence[int]) -> tuple[Request, tuple[Change, ...]]:
    """The edits, with `clear_thinking` in front."""
    _, edits, _ = _around(request.body.context_management)
    spans = elements(edits)
    moved = [edits[slice(*spans[index])] for index in places]
    new = _edited(request.body.context_management, drop=places, insert={0: moved})
    late = [index for at, index in enumerate(places) if index != at]
    changes = tuple(Change(STEP, f"context_management.edits.{index}", "moved", FIRST) for index in late)
    return with_changed_fields(request, context_management=new), changes


def _edited(raw: Raw | UnsetType, *, drop: Sequence[int] = (), insert: Mapping[int, Sequence[bytes]] | None = None) -> Raw:
    before, edits, after = _around(raw)
    return Raw(before + apply(edits, edit_array(edits, drop=drop, insert=insert)) + after)


def _around(raw: Raw | UnsetType) -> tuple[bytes, bytes, bytes]:
    """The bytes of the edits, with those before and after."""
    text = bytes_of(raw)
    start, end = locate(text, ("edits",))
    return text[:start], text[start:end], text[end:]
