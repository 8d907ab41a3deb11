"""Rules of one API version: sampling parameters under 2023-06-01 (R13, R14), messages under 2026-10-21 (R2).

The newer version knows no sampling parameters; the tables of shapes say so.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.thinking.compliance.findings import Defect, at
from clew.thinking.compliance.request_view import BlockView, RequestView, RuleTable, list_in, number_in

RULES = RuleTable()

NEWER = "2026-10-21"
TOP_P_WITH_THINKING = 0.95


def _given(view: RequestView, key: str) -> int | float | None:
    """The value, where this API version knows the parameter."""
    return None if view.version == NEWER else number_in(view.body.get(key))


def _thinks_on_older(view: RequestView) -> bool:
    return view.profile.sampling == "accept" and view.thinking in ("enabled", "adaptive")


def _is_deprecated(view: RequestView, key: str, *allowed: int) -> bool:
    return view.profile.sampling == "reject" and _given(view, key) not in (None, *allowed)


def _is_low_top_p(view: RequestView) -> bool:
    top_p = _given(view, "top_p")
    return top_p is not None and not TOP_P_WITH_THINKING <= top_p <= 1


def _has_both(view: RequestView) -> bool:
    return _given(view, "temperature") is not None and _given(view, "top_p") is not None


RULES.at(
    "temperature",
    {
        "R13.temperature-with-thinking": lambda view: (
            _thinks_on_older(view) and _given(view, "temperature") not in (None, 1)
        ),
        "R14.temperature-deprecated": lambda view: _is_deprecated(view, "temperature", 1),
    },
)
RULES.at(
    "top_p",
    {
        "R13.top-p-with-thinking": lambda view: _thinks_on_older(view) and _is_low_top_p(view),
        "R14.top-p-deprecated": lambda view: _is_deprecated(view, "top_p", 1),
        "R14.temperature-and-top-p": lambda view: _has_both(view) and not view.profile.temperature_and_top_p,
    },
)
RULES.at(
    "top_k",
    {
        "R13.top-k-with-thinking": lambda view: _thinks_on_older(view) and _given(view, "top_k") is not None,
        "R14.top-k-deprecated": lambda view: _is_deprecated(view, "top_k"),
    },
)


def _newer_blocks(view: RequestView, role: str, kind: str) -> Iterator[BlockView]:
    """Blocks of this kind directly in messages of this role; none under the older version."""
    if view.version == NEWER:
        messages = (message for message in view.messages if message.role == role)
        yield from (block for message in messages for block in message.blocks if block.type == kind)


@RULES.check("R2.document-in-assistant")
def document_in_assistant(view: RequestView) -> Iterator[Defect]:
    return (at(block.path) for block in _newer_blocks(view, "assistant", "document"))


@RULES.check("R2.citations-in-user")
def citations_in_user(view: RequestView) -> Iterator[Defect]:
    cited = (block for block in _newer_blocks(view, "user", "text") if list_in(block.value.get("citations")))
    return (at(f"{block.path}.text.citations") for block in cited)
