"""Parameters against the model: output size, thinking, effort, sampling, format, context edits (R7, R10–R15, R17, R51, R52).

Which model takes what is read from the profile, never from a name.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from clew.model.facts.shapes import CLEAR_THINKING, INTERLEAVED_BETA, MCP_WITHOUT_TOOLSETS_BETA
from clew.model.json import JsonValue, object_of, text_of
from clew.thinking.budgets import EFFORTS, is_above
from clew.thinking.compliance.request_view import Defect, RequestView, RuleTable, at, list_in, number_in

RULES = RuleTable()

NEWER = "2026-10-21"
"""The API version that knows no sampling parameters; the tables of shapes say so."""
TOP_P_WITH_THINKING = 0.95


# ── max_tokens


@RULES.check("R7.over-cap")
def over_cap(view: RequestView) -> Iterator[Defect]:
    asked, cap = number_in(view.body.get("max_tokens")), view.profile.max_tokens
    if asked is not None and cap and asked > cap:
        yield at("max_tokens", max_tokens=asked, cap=cap, model=view.model)


def _is_zero(view: RequestView) -> bool:
    return number_in(view.body.get("max_tokens")) == 0


RULES.at(
    "max_tokens",
    {
        "R7.zero-with-stream": lambda view: _is_zero(view) and view.body.get("stream") is True,
        "R7.zero-with-manual-thinking": lambda view: _is_zero(view) and view.thinking == "enabled",
        "R7.zero-with-format": lambda view: _is_zero(view) and view.output.get("format") is not None,
        "R7.zero-with-forced-tool": lambda view: _is_zero(view) and view.forced,
    },
)


# ── thinking


def _is_refused(view: RequestView, mode: str) -> bool:
    return view.thinking == mode and mode not in view.profile.thinking


def _is_off_refused(view: RequestView, instead: str) -> bool:
    """Whether thinking cannot be disabled, and this is the mode to use instead; "" is none."""
    offered = view.profile.thinking
    nearest = "between_tools" if "between_tools" in offered else "enabled" if "enabled" in offered else ""
    return _is_refused(view, "disabled") and nearest == instead


RULES.at(
    "thinking.type",
    {
        "R10.enabled-unsupported": lambda view: _is_refused(view, "enabled"),
        "R10.between-tools-unsupported": lambda view: _is_refused(view, "between_tools"),
        "R10.adaptive-unsupported": lambda view: _is_refused(view, "adaptive"),
        "R10.disabled-use-between-tools": lambda view: _is_off_refused(view, "between_tools"),
        "R10.disabled-use-manual": lambda view: _is_off_refused(view, "enabled"),
        "R10.disabled-unsupported": lambda view: _is_off_refused(view, ""),
        "R10.disabled-disputed": lambda view: view.thinking == "disabled" and view.profile.disabled_disputed,
    },
)


@RULES.check("R11.budget-not-below-max")
def budget_not_below_max(view: RequestView) -> Iterator[Defect]:
    budget = number_in(object_of(view.body.get("thinking")).get("budget_tokens"))
    most = number_in(view.body.get("max_tokens"))
    # With interleaved thinking the budget spans the whole tool loop, and may exceed one answer.
    interleaves = view.profile.interleaved == "beta" and INTERLEAVED_BETA in view.betas and bool(view.tools)
    if view.thinking == "enabled" and budget is not None and most and not interleaves and budget >= most:
        yield at("thinking.enabled.budget_tokens")


# ── effort


def _efforts(view: RequestView) -> Iterator[tuple[str, str]]:
    """Each effort that is set, with its path: the request's, then the system messages'."""
    if view.effort:
        yield "output_config.effort", view.effort
    for message in view.messages:
        if message.role == "system" and message.effort:
            yield f"{message.path}.output_config.effort", message.effort


@RULES.check("R12.effort-unsupported")
def effort_unsupported(view: RequestView) -> Iterator[Defect]:
    if view.effort and not view.profile.effort:
        yield at("output_config.effort")


@RULES.check("R12.effort-level")
def effort_level(view: RequestView) -> Iterator[Defect]:
    levels = view.profile.effort
    for path, level in _efforts(view):
        if levels and level in EFFORTS and level not in levels:
            yield at(path, level=level, levels=", ".join(sorted(levels)))


@RULES.check("R10.disabled-effort")
def disabled_effort(view: RequestView) -> Iterator[Defect]:
    limit = view.profile.disabled_max_effort
    if view.thinking == "disabled" and is_above(view.effort, limit):
        yield at("output_config.effort", level=view.effort, limit=limit)


@RULES.check("R10.between-tools-effort")
def between_tools_effort(view: RequestView) -> Iterator[Defect]:
    limit = view.profile.between_tools_max_effort
    if view.thinking == "between_tools" and is_above(view.effort, limit):
        yield at("output_config.effort", level=view.effort, limit=limit)


@RULES.check("R10.between-tools-message-effort")
def between_tools_message_effort(view: RequestView) -> Iterator[Defect]:
    if view.thinking != "between_tools":
        return
    current = view.profile.effort_default
    for path, level in _efforts(view):
        if path.startswith("messages.") and level != current:
            yield at(path)
        current = level


# ── sampling


def _given(view: RequestView, key: str) -> int | float | None:
    """The value, where this API version knows the parameter."""
    return None if view.version == NEWER else number_in(view.body.get(key))


def _thinks_on_older(view: RequestView) -> bool:
    return view.profile.sampling == "accept" and view.thinking in ("enabled", "adaptive")


def _is_deprecated(view: RequestView, key: str, *allowed: int) -> bool:
    return view.profile.sampling == "reject" and _given(view, key) not in (None, *allowed)


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
        "R13.top-p-with-thinking": lambda view: (
            _thinks_on_older(view) and (top_p := _given(view, "top_p")) is not None and not TOP_P_WITH_THINKING <= top_p <= 1
        ),
        "R14.top-p-deprecated": lambda view: _is_deprecated(view, "top_p", 1),
        "R14.temperature-and-top-p": lambda view: (
            None not in (_given(view, "temperature"), _given(view, "top_p")) and not view.profile.temperature_and_top_p
        ),
    },
)
RULES.at(
    "top_k",
    {
        "R13.top-k-with-thinking": lambda view: _thinks_on_older(view) and _given(view, "top_k") is not None,
        "R14.top-k-deprecated": lambda view: _is_deprecated(view, "top_k"),
    },
)


# ── output format


@RULES.check("R12.format-with-citations")
def format_with_citations(view: RequestView) -> Iterator[Defect]:
    if view.output.get("format") is None:
        return
    results = (list_in(block.value.get("content")) for block in view.blocks() if block.type == "tool_result")
    for block in chain((block.value for block in view.blocks()), map(object_of, chain.from_iterable(results))):
        cites = object_of(block.get("citations")).get("enabled") is True
        if cites and block.get("type") in ("document", "search_result"):
            yield at("output_config.format")
            return


@RULES.check("R12.format-with-prefill")
def format_with_prefill(view: RequestView) -> Iterator[Defect]:
    if view.output.get("format") is not None and view.profile.prefill and view.final:
        yield at("output_config.format")


# ── the rest


@RULES.check("R15.stop-sequence-blank")
def stop_sequence_blank(view: RequestView) -> Iterator[Defect]:
    if any(isinstance(each, str) and not each.strip() for each in list_in(view.body.get("stop_sequences"))):
        yield at("stop_sequences")


@RULES.check("R17.mcp-unpaired")
def mcp_unpaired(view: RequestView) -> Iterator[Defect]:
    if MCP_WITHOUT_TOOLSETS_BETA in view.betas:
        return
    paired = {text_of(tool.get("mcp_server_name")) for tool in view.tools if tool.get("type") == "mcp_toolset"}
    for k, server in enumerate(list_in(view.body.get("mcp_servers"))):
        name = text_of(object_of(server).get("name"))
        if name not in paired:
            yield at(f"mcp_servers.{k}", name=name)


@RULES.check("R17.compaction-with-edits")
def compaction_with_edits(view: RequestView) -> Iterator[Defect]:
    if view.body.get("compaction") is not None and view.body.get("context_management") is not None:
        yield at("compaction")


def _edits(view: RequestView) -> list[JsonValue]:
    return [object_of(edit).get("type") for edit in list_in(object_of(view.body.get("context_management")).get("edits"))]


@RULES.check("R52.thinking-required")
def edit_needs_thinking(view: RequestView) -> Iterator[Defect]:
    edits = _edits(view)
    if CLEAR_THINKING in edits and not view.thinks:
        yield at(f"context_management.edits.{edits.index(CLEAR_THINKING)}")


@RULES.check("R51.edits-order")
def edits_order(view: RequestView) -> Iterator[Defect]:
    edits = _edits(view)
    first_other = next((k for k, kind in enumerate(edits) if kind != CLEAR_THINKING), len(edits))
    if CLEAR_THINKING in edits[first_other:]:
        yield at(f"context_management.edits.{edits.index(CLEAR_THINKING, first_other)}")


@RULES.check("R32.role-unsupported")
def role_unsupported(view: RequestView) -> Iterator[Defect]:
    first = next((each for each in view.messages if each.role == "system"), None)
    if first and not view.profile.system_messages:
        yield at(f"{first.path}.role")
