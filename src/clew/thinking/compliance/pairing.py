"""Calls and their results: the client's tools (R25–R28, R30, R31) and the server's (R29).

All user messages after an assistant run are one stream of blocks. Its leading tool results must answer every call of the
run; whatever else stands among them ends that lead.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from clew.thinking.compliance.reading import Check, Piece, Reading, Run, Spot, at, spoken

__all__ = ["RULES", "unfinished"]

RESUMABLE = frozenset({"web_search", "web_fetch", "advisor"})


def _is_result(piece: Piece) -> bool:
    return piece.type == "tool_result"


def unfinished(run: Run) -> list[Piece]:
    """Server tool calls whose result is not in the same run."""
    answered = {piece.says("tool_use_id") for piece in run.pieces if piece.answers}
    return [call for call in run.of("server_tool_use", "mcp_tool_use") if call.says("id") not in answered]


def _followed(reading: Reading) -> Iterator[tuple[Run, Run | None]]:
    """Each assistant run with the user run that follows it."""
    for k, run in enumerate(reading.runs):
        if run.role == "assistant":
            yield run, reading.runs[k + 1] if k + 1 < len(reading.runs) else None


def _preceded(reading: Reading) -> Iterator[tuple[Run, frozenset[str]]]:
    """Each user run with the ids that the assistant run before it called."""
    for k, run in enumerate(reading.runs):
        if run.role == "user":
            yield run, frozenset(call.says("id") for call in reading.runs[k - 1].of("tool_use")) if k else frozenset()


# ── the client's tools


def _ids_not_unique(reading: Reading) -> Iterator[Spot]:
    used: set[str] = set()
    for run, _ in _followed(reading):
        for call in run.of("tool_use"):
            if call.says("id") in used:
                yield at(call.path)
            used.add(call.says("id"))


def _unanswered(reading: Reading) -> Iterator[Spot]:
    for run, after in _followed(reading):
        lead = takewhile(_is_result, after.pieces if after else ())
        answered = {result.says("tool_use_id") for result in lead}
        open_calls = [call for call in run.of("tool_use") if call.says("id") not in answered]
        if open_calls:
            yield at(f"messages.{open_calls[0].message}", ids=", ".join(call.says("id") for call in open_calls))


def _unexpected_result(reading: Reading) -> Iterator[Spot]:
    for run, called in _preceded(reading):
        for result in run.of("tool_result"):
            if result.says("tool_use_id") not in called:
                yield at(result.path, id=result.says("tool_use_id"))


def _result_repeated(reading: Reading) -> Iterator[Spot]:
    for run, called in _preceded(reading):
        given: set[str] = set()
        for result in run.of("tool_result"):
            name = result.says("tool_use_id")
            if name in given and name in called:
                yield at(result.path, id=name)
            given.add(name)


def _tools_undefined(reading: Reading) -> Iterator[Spot]:
    if not reading.tools and any(piece.type in ("tool_use", "tool_result") for piece in reading.pieces()):
        yield at("tools")


def _text_after_tool_use(reading: Reading) -> Iterator[Spot]:
    runs = [run for run in reading.runs if run.role == "assistant"]
    if not reading.loop_is_open or not runs:
        return
    kinds = [piece.type for piece in runs[-1].pieces]
    last_call = max((k for k, kind in enumerate(kinds) if kind == "tool_use"), default=len(kinds))
    text = next((piece for piece in runs[-1].pieces[last_call:] if piece.type == "text"), None)
    if text:
        yield at(text.path)


# ── the server's tools


def _result_without_call(reading: Reading) -> Iterator[Spot]:
    for run, _ in _followed(reading):
        called: set[tuple[str, str]] = set()
        for piece in run.pieces:
            called.add((piece.type, piece.says("id")))
            if piece.answers and (piece.answers, piece.says("tool_use_id")) not in called:
                yield at(piece.path, tag=piece.type, id=piece.says("tool_use_id"), call=piece.answers)


def _call_unfinished(reading: Reading) -> Iterator[Spot]:
    for run, after in _followed(reading):
        if after and not all(map(_is_result, after.pieces)):
            calls = (call for call in unfinished(run) if call.type == "server_tool_use")
            yield from (at(call.path, name=call.says("name"), id=call.says("id")) for call in calls)


def _tool_not_provided(reading: Reading) -> Iterator[Spot]:
    offered = {spoken(tool.get("name")) for tool in reading.tools}
    if not reading.runs or reading.runs[-1].role != "assistant":
        return
    for call in unfinished(reading.runs[-1]):
        name = call.says("name")
        if call.type == "server_tool_use" and name in RESUMABLE and name not in offered:
            yield at(call.path, name=name, id=call.says("id"))


RULES: dict[str, Check] = {
    "R25.ids-not-unique": _ids_not_unique,
    "R26.unanswered": _unanswered,
    "R27.unexpected-result": _unexpected_result,
    "R28.result-repeated": _result_repeated,
    "R29.result-without-call": _result_without_call,
    "R29.call-unfinished": _call_unfinished,
    "R29.tool-not-provided": _tool_not_provided,
    "R30.tools-undefined": _tools_undefined,
    "R31.text-after-tool-use": _text_after_tool_use,
}
