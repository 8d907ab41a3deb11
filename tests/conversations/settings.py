"""Parameters that the model and the API version take, alone and together."""

from __future__ import annotations

from tests.build import Json
from tests.conversations.scene import Scene

LEVELS = ("low", "medium", "high", "xhigh", "max")
BINDING = "thinking-binding-controls-2026-08-01"
UPDATES = "thinking-display-updates-2026-08-18"


def set_thinking(scene: Scene, mode: str = "") -> None:
    mode = mode or scene.pick("", *scene.profile.thinking)
    if not mode:
        return
    scene.thinking = {"type": mode}
    if mode == "enabled":
        scene.thinking["budget_tokens"] = scene.pick(1024, 2000, 4095)
    if mode in ("enabled", "adaptive"):
        scene.thinking |= _display(scene) | _binding(scene)


def _display(scene: Scene) -> Json:
    display = scene.pick(..., ..., None, "summarized", "omitted", "updates")
    if display == "updates":
        scene.betas.add(UPDATES)
    return {} if display is ... else {"display": display}


def _binding(scene: Scene) -> Json:
    binding = scene.pick(..., ..., None, {}, {"prefix_mismatch_behavior": "drop_block"})
    if binding is ... or binding is None:
        return {} if binding is ... else {"block_binding": None}
    scene.betas.add(BINDING)
    return {"block_binding": binding}


def set_effort(scene: Scene) -> None:
    limit = {"disabled": scene.profile.disabled_max_effort, "between_tools": scene.profile.between_tools_max_effort}
    most = limit.get(scene.mode) or "max"
    levels = [level for level in scene.profile.effort if LEVELS.index(level) <= LEVELS.index(most)]
    scene.effort = scene.pick("", *levels)


def tools(scene: Scene) -> list[Json]:
    """Tools of the client, and of the server, with names of their own; those that the history needs stay."""
    offered = [*scene.tools]
    names = {tool["name"] for tool in offered}
    for make in (_look, _find, _search, _closed):
        tool = make(scene)
        if tool["name"] not in names and scene.often():
            offered.append(tool)
    if scene.seldom() and offered:
        offered.append({"name": "later", "input_schema": {"type": "object"}, "defer_loading": True})
    return offered


def _look(scene: Scene) -> Json:
    return {
        "name": "look",
        "input_schema": {"type": "object", "properties": {}},
        **scene.pick({}, {"description": "Looks."}),
    }


def _find(scene: Scene) -> Json:
    return {"type": "custom", "name": "find", "input_schema": {"type": "object"}, **scene.pick({}, {"strict": False})}


def _search(_: Scene) -> Json:
    return {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}


def _closed(_: Scene) -> Json:
    return {"name": "closed", "strict": True, "input_schema": {"type": "object", "additionalProperties": False}}


def choice(scene: Scene, offered: list[Json], *, may_force: bool) -> Json:
    if not offered or not scene.seldom():
        return {}
    forced = [{"type": "any"}, {"type": "tool", "name": offered[0]["name"]}] if may_force else []
    return {"tool_choice": dict(scene.pick({"type": "auto"}, {"type": "none"}, *forced))}


def may_force(scene: Scene) -> bool:
    return scene.profile.forced_tools != "reject" and not scene.manual


def sampling(scene: Scene) -> Json:
    if scene.newer:
        return {}
    if scene.profile.sampling == "reject":
        return scene.pick({}, {"temperature": 1}, {"temperature": 1.0, "top_p": 1}, {"top_k": None})
    if scene.mode in ("enabled", "adaptive"):
        return scene.pick({}, {"temperature": 1}, {"top_p": 0.95}, {"temperature": None, "top_p": 1.0})
    return scene.pick({}, {"temperature": 0}, {"temperature": 0.3, "top_k": 0}, {"top_p": 0.1}, {"top_k": 40})


def edits(scene: Scene) -> Json:
    """Context edits, clear_thinking first and only while thinking is on."""
    if not scene.seldom():
        return {}
    scene.betas.add("context-management-2025-06-27")
    listed: list[Json] = []
    if scene.thinks and scene.often():
        keep = scene.pick({}, {"keep": "all"}, {"keep": {"type": "thinking_turns", "value": 2}}, {"keep": {"type": "all"}})
        listed.append({"type": "clear_thinking_20251015", **keep})
    if scene.often():
        listed.append({"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 5}})
    if scene.often():
        scene.betas.add("compact-2026-01-12")
        listed.append({"type": "compact_20260112", **scene.pick({}, {"trigger": {"type": "input_tokens", "value": 50000}})})
    return {"context_management": {"edits": listed}}


def output(scene: Scene, *, may_format: bool) -> Json:
    config: Json = {"effort": scene.effort} if scene.effort else {}
    if may_format and scene.seldom():
        config["format"] = {"type": "json_schema", "schema": {"type": "object"}}
    if scene.seldom():
        scene.betas.add("task-budgets-2026-03-13")
        config["task_budget"] = {"type": "tokens", "total": 10000}
    return {"output_config": config} if config or scene.seldom() else {}


def size(scene: Scene) -> int:
    return scene.pick(scene.profile.max_tokens or 4096, 4096)


def rest(scene: Scene) -> Json:
    """Fields that depend on nothing else."""
    fields: Json = {}
    for field in (
        {"stream": scene.pick(True, False)},
        {"system": scene.pick("", "Be good.", [], [{"type": "text", "text": "Be good."}, {"type": "text", "text": " "}])},
        {"stop_sequences": scene.pick([], ["stop"])},
        {"metadata": scene.pick({}, {"user_id": "u"}, {"user_id": None})},
        {"service_tier": "auto"},
        {"inference_geo": None},
        {"speed": scene.pick(None, "standard")},
        {"container": scene.pick(None, "c", {"id": "c", "skills": []})},
        {"diagnostics": {"previous_message_id": None}},
    ):
        if scene.seldom():
            fields |= field
    return fields
