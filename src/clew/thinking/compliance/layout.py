"""Thinking and the last message (R20, R35–R38), and empty signatures (R33). An assistant run is one message here."""

from __future__ import annotations

from collections.abc import Iterator

from clew.thinking.compliance.pairing import unfinished
from clew.thinking.compliance.reading import Check, Piece, Reading, Run, Spot, at

__all__ = ["RULES"]


def _assistants(reading: Reading) -> list[Run]:
    return [run for run in reading.runs if run.role == "assistant"]


def _end(run: Run) -> str:
    return run.messages[-1].path


# ── the last message


def _ends_in_thinking(reading: Reading) -> Iterator[Spot]:
    final = reading.final
    if final and final.pieces and final.pieces[-1].thinks:
        yield at(_end(final), tag=final.pieces[-1].type)


def _prefill(reading: Reading) -> Iterator[Spot]:
    final = reading.final
    redeems = reading.body.get("fallback_credit_token") is not None
    if final and not reading.profile.prefill and not redeems and not unfinished(final):
        yield at(_end(final))


def _prefill_with_thinking(reading: Reading) -> Iterator[Spot]:
    final = reading.final
    if final and reading.thinking == "enabled" and reading.profile.prefill and not unfinished(final):
        yield at(_end(final))


def _trailing_whitespace(reading: Reading) -> Iterator[Spot]:
    final = reading.final
    if not final or not final.pieces or not reading.profile.prefill:
        return
    last = final.pieces[-1]
    text = last.says("text") if last.type == "text" else ""
    if text.strip() and text[-1].isspace():
        yield at(_end(final))


# ── thinking first


def _first_unless_thinking(run: Run | None) -> Iterator[Piece]:
    if run and run.pieces and not run.pieces[0].thinks:
        yield run.pieces[0]


def _opening(reading: Reading) -> Run | None:
    """The assistant run that opens the tool loop: the first after the last user message that brings no result."""
    asks = (
        each.index for run in reading.runs for each in run.messages if run.role == "user" and not each.holds("tool_result")
    )
    since = max(asks, default=-1)
    return next((run for run in _assistants(reading) if run.messages[0].index > since), None)


def _loop_without_thinking(reading: Reading) -> Iterator[Spot]:
    if reading.thinking == "enabled" and reading.loop_is_open:
        for piece in _first_unless_thinking(_opening(reading)):
            yield at(f"{piece.path}.type", found=piece.type)


def _final_without_thinking(reading: Reading) -> Iterator[Spot]:
    if reading.thinking == "enabled":
        for piece in _first_unless_thinking(reading.final):
            yield at(f"{piece.path}.type", found=piece.type)


def _thinking_not_first(reading: Reading) -> Iterator[Spot]:
    if reading.thinking != "enabled" or "R36" not in reading.profile.legacy_texts:
        return
    for run in _assistants(reading):
        if any(piece.thinks for piece in run.pieces):
            yield from (at(piece.path, found=piece.type) for piece in _first_unless_thinking(run))


# ── thinking where it should not be


def _mid_history(reading: Reading) -> Iterator[Spot]:
    for run in _assistants(reading)[1:]:
        if run is not reading.final and run.pieces and run.pieces[-1].thinks:
            yield at(_end(run), tag=run.pieces[-1].type)


def _thinking_while_off(reading: Reading) -> Iterator[Spot]:
    everywhere = reading.stance.get("C-8") == "reject"
    applies = everywhere or "R38" in reading.profile.legacy_texts
    in_last_place = reading.loop_is_open or reading.final
    if reading.thinks or not applies or not in_last_place:
        return
    thoughts = (piece for run in _assistants(reading)[-1:] for piece in run.pieces if piece.thinks)
    for piece in thoughts:
        yield at(piece.path, tag=piece.type)
        return


# ── signatures


def _unsigned(reading: Reading) -> Iterator[Piece]:
    for run in _assistants(reading):
        yield from (piece for piece in run.of("thinking") if piece.value.get("signature") == "")


def _empty_block(reading: Reading) -> Iterator[Spot]:
    return (at(f"{piece.path}.thinking") for piece in _unsigned(reading) if not piece.says("thinking"))


def _empty_signature(reading: Reading) -> Iterator[Spot]:
    return (at(piece.path) for piece in _unsigned(reading) if piece.says("thinking"))


RULES: dict[str, Check] = {
    "R37.last-message": _ends_in_thinking,
    "R20.prefill": _prefill,
    "R35.tool-loop": _loop_without_thinking,
    "R35.final-message": _final_without_thinking,
    "R20.prefill-with-thinking": _prefill_with_thinking,
    "R20.trailing-whitespace": _trailing_whitespace,
    "R36.thinking-not-first": _thinking_not_first,
    "R37.mid-history": _mid_history,
    "R38.thinking-while-off": _thinking_while_off,
    "R33.empty-block": _empty_block,
    "R33.empty-signature": _empty_signature,
}
