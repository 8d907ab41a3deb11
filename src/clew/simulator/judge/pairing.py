"""Every call has its result, every result its call (R25–R31).

User and assistant messages are looked at as runs. The results that count are the *leading* tool_result blocks of the user
run after the call: they may cross messages and come in any order, but any other block ends them (R26).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from clew.model.facts import blocks
from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.history import Block, Run
from clew.simulator.judge.values import string

__all__ = ["check_pairing", "unfinished_calls"]

_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_NAMED_TOOLS = ("web_search", "web_fetch", "advisor")


def check_pairing(case: Case) -> Iterator[Finding]:
    yield from _repeated_ids(case)
    empty = Run("", (), ())
    for before, run, after in zip((empty, *case.runs), case.runs, (*case.runs[1:], empty), strict=False):
        if run.role == "assistant":
            yield from _unanswered(run, after)
            yield from _server_results(run)
            yield from _server_calls(case, run, after)
        else:
            yield from _results(before, run)
    yield from _undefined_tools(case)
    yield from _text_after_call(case)


def _repeated_ids(case: Case) -> Iterator[Finding]:
    seen: set[str] = set()
    for block in _calls(case.runs):
        if _block_id(block) in seen:
            yield Finding("R25.ids-not-unique", block.path)
        seen.add(_block_id(block))


def _calls(runs: tuple[Run, ...]) -> Iterator[Block]:
    for run in runs:
        if run.role == "assistant":
            yield from (block for block in run.blocks if block.type == "tool_use")


def _block_id(block: Block) -> str:
    return string(block.value.get("id"))


def _answered_id(block: Block) -> str:
    return string(block.value.get("tool_use_id"))


def _unanswered(run: Run, after: Run) -> Iterator[Finding]:
    leading = takewhile(lambda block: block.type == "tool_result", after.blocks)
    answered = {_answered_id(block) for block in leading}
    open_calls = [block for block in run.blocks if block.type == "tool_use" and _block_id(block) not in answered]
    if open_calls:
        ids = ", ".join(_block_id(block) for block in open_calls)
        yield Finding("R26.unanswered", f"messages.{open_calls[0].message}", {"ids": ids})


def _results(before: Run, run: Run) -> Iterator[Finding]:
    asked = {_block_id(block) for block in before.blocks if block.type == "tool_use"}
    seen: set[str] = set()
    for block in run.blocks:
        if block.type != "tool_result":
            continue
        answered = _answered_id(block)
        if answered not in asked:
            yield Finding("R27.unexpected-result", block.path, {"id": answered})
        elif answered in seen:
            yield Finding("R28.result-repeated", block.path, {"id": answered})
        seen.add(answered)


def _calling_type(block: Block) -> str:
    """Which block a server tool's result answers; "" for anything else."""
    row = blocks().get(block.type)
    return row.answers if row else ""


def _server_results(run: Run) -> Iterator[Finding]:
    called: set[tuple[str, str]] = set()
    for block in run.blocks:
        call, answered = _calling_type(block), _answered_id(block)
        if call and (call, answered) not in called:
            yield Finding("R29.result-without-call", block.path, {"tag": block.type, "id": answered, "call": call})
        called.add((block.type, _block_id(block)))


def unfinished_calls(run: Run) -> list[Block]:
    """Server tools whose result is not there yet: the answer was paused, or cut."""
    answered = {_answered_id(block) for block in run.blocks if _calling_type(block)}
    return [block for block in run.blocks if block.type in _SERVER_CALLS and _block_id(block) not in answered]


def _server_calls(case: Case, run: Run, after: Run) -> Iterator[Finding]:
    provided = {string(tool.get("name")) for tool in case.tools}
    for block in unfinished_calls(run):
        name = string(block.value.get("name"))
        names = {"name": name, "id": _block_id(block)}
        if block.type == "server_tool_use" and any(other.type != "tool_result" for other in after.blocks):
            yield Finding("R29.call-unfinished", block.path, names)
        if not after.role and name in _NAMED_TOOLS and name not in provided:
            yield Finding("R29.tool-not-provided", block.path, names)


def _undefined_tools(case: Case) -> Iterator[Finding]:
    used = any(block.type in ("tool_use", "tool_result") for run in case.runs for block in run.blocks)
    if used and not case.tools:
        yield Finding("R30.tools-undefined", "tools")


def _text_after_call(case: Case) -> Iterator[Finding]:
    last = next((run for run in reversed(case.runs) if run.role == "assistant"), None)
    if last is None or not case.loop_is_open:
        return
    calls = [place for place, block in enumerate(last.blocks) if block.type == "tool_use"]
    texts = [block for block in last.blocks[calls[-1] + 1 :] if block.type == "text"] if calls else []
    if texts:
        yield Finding("R31.text-after-tool-use", texts[0].path)
