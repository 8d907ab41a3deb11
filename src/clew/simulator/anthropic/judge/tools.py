"""The tools on offer, the choice among them, and the pairing of calls with results (R25–R31, R49, R59–R61).

For the pairing, user and assistant messages count as runs. The results that count are the *leading* tool_result blocks of
the user run after the call. They may be spread over several messages and come in any order, but any other block ends
them (R26).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from clew.model.facts import blocks
from clew.simulator.anthropic.judge.case import BrokenRule, Case, RequestBlock, RoleRun
from clew.simulator.values import as_dict, as_list, as_str, objects_in

_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_NAMED_TOOLS = ("web_search", "web_fetch", "advisor")


def check_tools(case: Case) -> Iterator[BrokenRule]:
    if case.forces_tool and case.model.forced_tools == "reject":
        yield BrokenRule("R49.forced-tool-unsupported", "tool_choice")
    if case.forces_tool and case.thinking_type == "enabled":
        yield BrokenRule("R49.forced-tool-with-manual-thinking", "tool_choice")
    choice = as_dict(case.body.get("tool_choice"))
    chosen = as_str(choice.get("name"))
    if "tool_choice" in case.body and not case.tools:
        yield BrokenRule("R60.choice-without-tools", "tool_choice")
    elif choice.get("type") == "tool" and all(tool.get("name") != chosen for tool in case.tools):
        yield BrokenRule("R60.choice-name-unknown", "tool_choice.name", {"name": chosen})
    names = [as_str(tool.get("name")) for tool in case.tools if "name" in tool]
    if len(set(names)) < len(names):
        yield BrokenRule("R59.names-not-unique", "tools")
    if case.tools and all(tool.get("defer_loading") is True for tool in case.tools):
        yield BrokenRule("R59.all-deferred", "tools")
    refused = [as_str(tool.get("type")) for tool in case.tools if tool.get("type") in case.model.tools_unsupported]
    if refused:
        types = {"model": case.body.get("model"), "types": ", ".join(refused)}
        yield BrokenRule("R61.tool-types-unsupported", "tools", types)


def check_strict_tools(case: Case) -> Iterator[BrokenRule]:
    """A strict tool's schema has no object that is open to more properties."""
    for index, item in enumerate(as_list(case.body.get("tools"))):
        tool = as_dict(item)
        if tool.get("type") not in (None, "custom") or tool.get("strict") is not True:
            continue
        schemas = [schema for schema in objects_in(tool.get("input_schema")) if schema.get("type") == "object"]
        if any(schema.get("additionalProperties") is not False for schema in schemas):
            yield BrokenRule("R59.strict-open-object", f"tools.{index}.custom")


def check_pairing(case: Case) -> Iterator[BrokenRule]:
    provided = {as_str(tool.get("name")) for tool in case.tools}
    empty = RoleRun("", (), ())
    for before, run, after in zip((empty, *case.runs), case.runs, (*case.runs[1:], empty), strict=False):
        if run.role == "assistant":
            leading = takewhile(lambda block: block.type == "tool_result", after.blocks)
            answered = {_answered_id(block) for block in leading}
            open_calls = [block for block in run.blocks if block.type == "tool_use" and _block_id(block) not in answered]
            if open_calls:
                ids = ", ".join(_block_id(block) for block in open_calls)
                yield BrokenRule("R26.unanswered", f"messages.{open_calls[0].message}", {"ids": ids})
            yield from _server_calls(run, after, provided)
        else:
            yield from _results(before, run)
    used = any(block.type in ("tool_use", "tool_result") for run in case.runs for block in run.blocks)
    if used and not case.tools:
        yield BrokenRule("R30.tools-undefined", "tools")


def check_call_ids(case: Case) -> Iterator[BrokenRule]:
    seen: set[str] = set()
    for block in (block for run in case.runs if run.role == "assistant" for block in run.blocks):
        if block.type != "tool_use":
            continue
        if _block_id(block) in seen:
            yield BrokenRule("R25.ids-not-unique", block.path)
        seen.add(_block_id(block))


def _block_id(block: RequestBlock) -> str:
    return as_str(block.value.get("id"))


def _answered_id(block: RequestBlock) -> str:
    return as_str(block.value.get("tool_use_id"))


def _results(before: RoleRun, run: RoleRun) -> Iterator[BrokenRule]:
    called = {_block_id(block) for block in before.blocks if block.type == "tool_use"}
    seen: set[str] = set()
    for block in run.blocks:
        if block.type != "tool_result":
            continue
        answered = _answered_id(block)
        if answered not in called:
            yield BrokenRule("R27.unexpected-result", block.path, {"id": answered})
        elif answered in seen:
            yield BrokenRule("R28.result-repeated", block.path, {"id": answered})
        seen.add(answered)


def _calling_type(block: RequestBlock) -> str:
    """Which type of block a server tool's result answers; "" for any other block."""
    row = blocks().get(block.type)
    return row.answers if row else ""


def unfinished_calls(run: RoleRun) -> list[RequestBlock]:
    """The calls of server tools without a result: the answer was paused, or cut."""
    answered = {_answered_id(block) for block in run.blocks if _calling_type(block)}
    return [block for block in run.blocks if block.type in _SERVER_CALLS and _block_id(block) not in answered]


def _server_calls(run: RoleRun, after: RoleRun, provided: set[str]) -> Iterator[BrokenRule]:
    called: set[tuple[str, str]] = set()
    for block in run.blocks:
        call, answered = _calling_type(block), _answered_id(block)
        if call and (call, answered) not in called:
            yield BrokenRule("R29.result-without-call", block.path, {"tag": block.type, "id": answered, "call": call})
        called.add((block.type, _block_id(block)))
    followed = any(other.type != "tool_result" for other in after.blocks)
    for block in unfinished_calls(run):
        name = as_str(block.value.get("name"))
        names = {"name": name, "id": _block_id(block)}
        if block.type == "server_tool_use" and followed:
            yield BrokenRule("R29.call-unfinished", block.path, names)
        if not after.role and name in _NAMED_TOOLS and name not in provided:
            yield BrokenRule("R29.tool-not-provided", block.path, names)


def check_text_after_call(case: Case) -> Iterator[BrokenRule]:
    last = case.last_answer
    if last is None or not case.loop_is_open:
        return
    calls = [place for place, block in enumerate(last.blocks) if block.type == "tool_use"]
    texts = [block for block in last.blocks[calls[-1] + 1 :] if block.type == "text"] if calls else []
    if texts:
        yield BrokenRule("R31.text-after-tool-use", texts[0].path)
