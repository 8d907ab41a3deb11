"""Rules of one API version: sampling parameters under 2023-06-01 (R13, R14), messages under 2026-10-21 (R2).

The newer version knows no sampling parameters; the tables of shapes say so.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.thinking.compliance.findings import Defect, at
from clew.thinking.compliance.request_view import BlockView, RequestView, RuleTable, list_in, number_in

__all__ = ["RULES"]

RULES = RuleTable()

NEWER = "2026-10-21"
TOP_P_WITH_THINKING = 0.95


def _given(view: RequestView, key: str) -> int | float | None:
    """The value, where this API version knows the parameter."""
    return None if view.version == NEWER else number_in(view.body.get(key))


def _thinks_on_older(view: RequestView) -> bool:
    return view.profile.sampling == "accept" and view.thinking in ("enabled", "adaptive")


@RULES.check("R13.temperature-with-thinking")
def temperature_with_thinking(view: RequestView) -> Iterator[Defect]:
    if _thinks_on_older(view) and _given(view, "temperature") not in (None, 1):
        yield at("temperature")


@RULES.check("R13.top-p-with-thinking")
def top_p_with_thinking(view: RequestView) -> Iterator[Defect]:
    top_p = _given(view, "top_p")
    if top_p is not None and _thinks_on_older(view) and not TOP_P_WITH_THINKING <= top_p <= 1:
        yield at("top_p")


@RULES.check("R13.top-k-with-thinking")
def top_k_with_thinking(view: RequestView) -> Iterator[Defect]:
    if _thinks_on_older(view) and _given(view, "top_k") is not None:
        yield at("top_k")


def _deprecated(view: RequestView, key: str, *allowed: int) -> Iterator[Defect]:
    value = _given(view, key)
    if view.profile.sampling == "reject" and value is not None and value not in allowed:
        yield at(key)


@RULES.check("R14.temperature-deprecated")
def temperature_deprecated(view: RequestView) -> Iterator[Defect]:
    return _deprecated(view, "temperature", 1)


@RULES.check("R14.top-p-deprecated")
def top_p_deprecated(view: RequestView) -> Iterator[Defect]:
    return _deprecated(view, "top_p", 1)


@RULES.check("R14.top-k-deprecated")
def top_k_deprecated(view: RequestView) -> Iterator[Defect]:
    return _deprecated(view, "top_k")


@RULES.check("R14.temperature-and-top-p")
def temperature_and_top_p(view: RequestView) -> Iterator[Defect]:
    both = _given(view, "temperature") is not None and _given(view, "top_p") is not None
    if both and not view.profile.temperature_and_top_p:
        yield at("top_p")


def _said_by(view: RequestView, role: str, kind: str) -> Iterator[BlockView]:
    """Blocks of this kind directly in messages of this role; none under the older version."""
    if view.version == NEWER:
        messages = (message for message in view.messages if message.role == role)
        yield from (block for message in messages for block in message.blocks if block.type == kind)


@RULES.check("R2.document-in-assistant")
def document_in_assistant(view: RequestView) -> Iterator[Defect]:
    return (at(block.path) for block in _said_by(view, "assistant", "document"))


@RULES.check("R2.citations-in-user")
def citations_in_user(view: RequestView) -> Iterator[Defect]:
    cited = (block for block in _said_by(view, "user", "text") if list_in(block.value.get("citations")))
    return (at(f"{block.path}.text.citations") for block in cited)
