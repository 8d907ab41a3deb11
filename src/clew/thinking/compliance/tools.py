"""Rules about tools: their definitions and the choice among them (R49, R59–R61), calls and results (R25–R31).

All user messages after an assistant run are one stream of blocks. Its leading tool results must answer every call of the
run; any other block ends that lead.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from clew.model.json import JsonObject, JsonValue, object_of, text_of
from clew.thinking.compliance.request_view import BlockView, Defect, RequestView, RuleTable, RunView, at

RULES = RuleTable()

DOCUMENTED_LENGTH, LONGEST = 64, 128
RESUMABLE = frozenset({"web_search", "web_fetch", "advisor"})


def is_custom(tool: JsonObject) -> bool:
    return tool.get("type") in (None, "custom")


def _names(view: RequestView) -> list[str]:
    return [name for name in (tool.get("name") for tool in view.tools) if isinstance(name, str)]


RULES.at(
    "tool_choice",
    {
        "R49.forced-tool-unsupported": lambda view: view.forced and view.profile.forced_tools == "reject",
        "R49.forced-tool-with-manual-thinking": lambda view: view.forced and view.thinking == "enabled",
        "R60.choice-without-tools": lambda view: view.body.get("tool_choice") is not None and not view.tools,
    },
)
RULES.at(
    "tools",
    {
        "R59.names-not-unique": lambda view: len(set(_names(view))) < len(_names(view)),
        "R59.all-deferred": lambda view: bool(view.tools) and all(tool.get("defer_loading") is True for tool in view.tools),
        "R30.tools-undefined": lambda view: (
            not view.tools and any(block.type in ("tool_use", "tool_result") for block in view.blocks())
        ),
    },
)


@RULES.check("R60.choice-name-unknown")
def choice_name_unknown(view: RequestView) -> Iterator[Defect]:
    choice = object_of(view.body.get("tool_choice"))
    name = text_of(choice.get("name"))
    if choice.get("type") == "tool" and view.tools and name not in _names(view):
        yield at("tool_choice.name", name=name)


@RULES.check("R59.name-over-64")
def name_over_64(view: RequestView) -> Iterator[Defect]:
    for k, tool in enumerate(view.tools):
        if is_custom(tool) and DOCUMENTED_LENGTH < len(text_of(tool.get("name"))) <= LONGEST:
            yield at(f"tools.{k}.custom.name")


@RULES.check("R59.strict-open-object")
def strict_open_object(view: RequestView) -> Iterator[Defect]:
    for k, tool in enumerate(view.tools):
        if is_custom(tool) and tool.get("strict") is True and _has_open_object(tool.get("input_schema")):
            yield at(f"tools.{k}.custom")


def _has_open_object(schema: JsonValue) -> bool:
    """Walks without recursion: schemas come from strangers, at any depth."""
    waiting: list[JsonValue] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if value.get("type") == "object" and value.get("additionalProperties") is not False:
                return True
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return False


@RULES.check("R61.tool-types-unsupported")
def types_unsupported(view: RequestView) -> Iterator[Defect]:
    kinds = (text_of(tool.get("type")) for tool in view.tools)
    refused = [kind for kind in kinds if kind in view.profile.tools_unsupported]
    if refused:
        yield at("tools", model=view.model, types=", ".join(refused))


# ── calls and their results


def _is_result(block: BlockView) -> bool:
    return block.type == "tool_result"


def unfinished(run: RunView) -> list[BlockView]:
    """Server tool calls whose result is not in the same run."""
    answered = {block.text("tool_use_id") for block in run.blocks if block.answers}
    return [call for call in run.of("server_tool_use", "mcp_tool_use") if call.text("id") not in answered]


def _followed(view: RequestView) -> Iterator[tuple[RunView, RunView | None]]:
    """Each assistant run with the user run that follows it."""
    for k, run in enumerate(view.runs):
        if run.role == "assistant":
            yield run, view.runs[k + 1] if k + 1 < len(view.runs) else None


def _preceded(view: RequestView) -> Iterator[tuple[RunView, frozenset[str]]]:
    """Each user run with the ids that the assistant run before it called."""
    for k, run in enumerate(view.runs):
        if run.role == "user":
            yield run, frozenset(call.text("id") for call in view.runs[k - 1].of("tool_use")) if k else frozenset()


# ── the client's tools


@RULES.check("R25.ids-not-unique")
def ids_not_unique(view: RequestView) -> Iterator[Defect]:
    used: set[str] = set()
    for run, _ in _followed(view):
        for call in run.of("tool_use"):
            if call.text("id") in used:
                yield at(call.path)
            used.add(call.text("id"))


@RULES.check("R26.unanswered")
def unanswered(view: RequestView) -> Iterator[Defect]:
    for run, after in _followed(view):
        lead = takewhile(_is_result, after.blocks if after else ())
        answered = {result.text("tool_use_id") for result in lead}
        open_calls = [call for call in run.of("tool_use") if call.text("id") not in answered]
        if open_calls:
            yield at(f"messages.{open_calls[0].message}", ids=", ".join(call.text("id") for call in open_calls))


@RULES.check("R27.unexpected-result")
def unexpected_result(view: RequestView) -> Iterator[Defect]:
    for run, called in _preceded(view):
        for result in run.of("tool_result"):
            if result.text("tool_use_id") not in called:
                yield at(result.path, id=result.text("tool_use_id"))


@RULES.check("R28.result-repeated")
def result_repeated(view: RequestView) -> Iterator[Defect]:
    for run, called in _preceded(view):
        given: set[str] = set()
        for result in run.of("tool_result"):
            name = result.text("tool_use_id")
            if name in given and name in called:
                yield at(result.path, id=name)
            given.add(name)


@RULES.check("R31.text-after-tool-use")
def text_after_tool_use(view: RequestView) -> Iterator[Defect]:
    runs = view.assistant_runs
    if not view.loop_is_open or not runs:
        return
    kinds = [block.type for block in runs[-1].blocks]
    last_call = max((k for k, kind in enumerate(kinds) if kind == "tool_use"), default=len(kinds))
    text = next((block for block in runs[-1].blocks[last_call:] if block.type == "text"), None)
    if text:
        yield at(text.path)


# ── the server's tools


@RULES.check("R29.result-without-call")
def result_without_call(view: RequestView) -> Iterator[Defect]:
    for run, _ in _followed(view):
        called: set[tuple[str, str]] = set()
        for block in run.blocks:
            called.add((block.type, block.text("id")))
            if block.answers and (block.answers, block.text("tool_use_id")) not in called:
                yield at(block.path, tag=block.type, id=block.text("tool_use_id"), call=block.answers)


@RULES.check("R29.call-unfinished")
def call_unfinished(view: RequestView) -> Iterator[Defect]:
    for run, after in _followed(view):
        if after and not all(map(_is_result, after.blocks)):
            calls = (call for call in unfinished(run) if call.type == "server_tool_use")
            yield from (at(call.path, name=call.text("name"), id=call.text("id")) for call in calls)


@RULES.check("R29.tool-not-provided")
def tool_not_provided(view: RequestView) -> Iterator[Defect]:
    offered = {text_of(tool.get("name")) for tool in view.tools}
    if not view.runs or view.runs[-1].role != "assistant":
        return
    for call in unfinished(view.runs[-1]):
        name = call.text("name")
        if call.type == "server_tool_use" and name in RESUMABLE and name not in offered:
            yield at(call.path, name=name, id=call.text("id"))
