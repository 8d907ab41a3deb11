"""What a request alone does not decide: rules that need the vendor's secrets, its clock or its token counts.

`TOUCHED` says for each such rule when a request comes near it, so that a report can say what it could not check.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.thinking.compliance.reading import Piece, Reading, obj

__all__ = ["OUTSIDE", "TOUCHED"]

OUTSIDE = frozenset(
    {
        "R62.not-found",
        "R75.limit",
        "R62.too-large-decoded",
        "R1.credential-missing",
        "R1.credential-both",
        "R1.credential-invalid",
    }
)
"""Address, compression and credential are no part of the request that is checked."""


def _always(_: Reading) -> bool:
    return True


def _has(kind: str) -> Callable[[Reading], bool]:
    return lambda reading: any(piece.type == kind for piece in reading.pieces())


def _thinks_in_history(reading: Reading) -> bool:
    return any(piece.thinks for piece in reading.pieces())


def _thinks_in_latest(reading: Reading) -> bool:
    runs = [run for run in reading.runs if run.role == "assistant"]
    return bool(runs) and any(piece.thinks for piece in runs[-1].pieces)


def _is_bound(reading: Reading) -> bool:
    return reading.profile.prefix_check and _thinks_in_history(reading)


def _is_unreadable_refused(reading: Reading) -> bool:
    return reading.stance.get("C-9") == "reject" and _thinks_in_history(reading)


def _is_pdf(piece: Piece) -> bool:
    return piece.type == "document" and obj(piece.value.get("source")).get("type") in ("base64", "url", "file")


def _has_pdf(reading: Reading) -> bool:
    return any(map(_is_pdf, reading.pieces()))


TOUCHED: dict[str, Callable[[Reading], bool]] = {
    "R5.model-unknown": _always,
    "R5.model-retired": _always,
    "R64.image-dimensions": _has("image"),
    "R64.image-unreadable": _has("image"),
    "R64.pdf-pages": _has_pdf,
    "R33.invalid-signature": _has("thinking"),
    "R33.invalid-data": _has("redacted_thinking"),
    "R34.modified": _thinks_in_latest,
    "R34.text-edited": _thinks_in_latest,
    "R43.unreadable": _is_unreadable_refused,
    "R44.conversation": _is_bound,
    "R8.prompt-too-long": _always,
    "R8.prompt-and-output-too-long": lambda reading: reading.profile.overflow == "reject",
}
