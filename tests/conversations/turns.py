"""Histories: who speaks when. Runs of one role in one message or several, tool loops, system messages where they may stand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, pairwise

from hypothesis import strategies as st

from tests.build import Json, text
from tests.conversations import blocks
from tests.conversations.blocks import Unit
from tests.conversations.scene import Scene

SET_OUTPUT = ("mid-conversation-output-config-2026-07-01", "per-turn-control-2026-07-01")
CLEAR_AT = "mid-conversation-system-clear-at-2026-08-21"
TOOL_CHANGES = "mid-conversation-tool-changes-2026-07-01"


def messages(scene: Scene, role: str, units: list[Unit], *, most: int = 3) -> list[Json]:
    """The units in one message or several, cut between units."""
    cuts = sorted(scene.pick(*range(len(units))) for _ in scene.several(0, min(most, len(units)) - 1))
    edges = sorted({0, *cuts, len(units)})
    parts = [units[start:end] for start, end in pairwise(edges)]
    return [_message(scene, role, list(chain.from_iterable(part))) for part in parts]


def _message(scene: Scene, role: str, content: Unit) -> Json:
    plain = len(content) == 1 and content[0].keys() == {"type", "text"}
    if plain and scene.often():
        return {"role": role, "content": content[0]["text"]}
    return {"role": role, "content": content}


# ── system messages


def systems(scene: Scene) -> list[Json]:
    """System messages for a place where they may stand."""
    if not scene.profile.system_messages or not scene.seldom():
        return []
    return [_system(scene) for _ in scene.several(1, 2)]


def directives(scene: Scene) -> list[Json]:
    """The form that may stand anywhere."""
    if not scene.profile.system_messages or not scene.seldom():
        return []
    return [{"role": "system", "content": [], "output_config": _effort(scene)}]


def _system(scene: Scene) -> Json:
    message: Json = {"role": "system", "content": scene.pick("be brief", "be brief", [text("be brief"), text("and kind")])}
    if scene.seldom():
        scene.betas.add(TOOL_CHANGES)
        change = {"type": scene.pick("tool_addition", "tool_removal"), "tool": {"type": "tool_reference", "name": "look"}}
        message["content"] = [text("now"), change]
    if scene.seldom():
        message["output_config"] = _effort(scene)
        message |= scene.pick({}, {"content": ""})
    if scene.seldom():
        scene.betas.add(CLEAR_AT)
        message["clear_at"] = scene.pick(None, "never", "next_user_message")
    return message


def _effort(scene: Scene) -> Json:
    scene.with_beta(*SET_OUTPUT)
    fixed = scene.mode == "between_tools"
    return {"effort": scene.effort or scene.profile.effort_default if fixed else scene.pick(*scene.profile.effort)}


# ── turns


def ask(scene: Scene) -> list[Json]:
    return [*messages(scene, "user", [blocks.asked(scene) for _ in scene.several(1, 3)]), *systems(scene)]


def answer(scene: Scene, calls: list[Json], *, lead: bool = False, thoughts: bool = True) -> list[Json]:
    """One assistant run: thinking first if it must lead, anything in between, the calls at the end."""
    units = [[blocks.thought(scene)] for _ in scene.several(1 if lead else 0, 2)] if thoughts or lead else []
    for _ in scene.several(0, 3):
        thinks = thoughts and scene.seldom()
        units.append([blocks.thought(scene)] if thinks else blocks.replied(scene))
    units += [[call] for call in calls]
    if not units:
        return [{"role": "assistant", "content": scene.pick("", [])}]
    return _with_systems(scene, messages(scene, "assistant", units))


def _with_systems(scene: Scene, run: list[Json]) -> list[Json]:
    """After a message that ends in a server tool's result a system message may stand, if the assistant goes on."""
    out: list[Json] = []
    for n, message in enumerate(run):
        out.append(message)
        ends = message["content"][-1] if isinstance(message["content"], list) and message["content"] else {}
        if n + 1 < len(run) and ends.get("type") in blocks.SERVER_TOOLS.values():
            out += systems(scene)
    return out


def results(scene: Scene, calls: list[Json], *, tail: bool) -> list[Json]:
    """Every call answered, in any order, over one message or several; then, perhaps, words."""
    order = scene.draw(st.permutations(calls))
    units: list[Unit] = [[blocks.result(scene, call["id"])] for call in order]
    if tail and scene.often():
        units += [blocks.asked(scene) for _ in scene.several(1, 2)]
    return messages(scene, "user", units)


def loop(scene: Scene, *, lead: bool, thoughts: bool, tail: bool = True) -> list[Json]:
    calls = [blocks.call(scene) for _ in scene.several(1, 3)]
    run = answer(scene, calls, lead=lead, thoughts=thoughts)
    return [*run, *directives(scene), *results(scene, calls, tail=tail)]


def exchange(scene: Scene) -> list[Json]:
    """A question, tool loops, an answer."""
    loops = [loop(scene, lead=False, thoughts=True) for _ in scene.several(0, 2)]
    return [*ask(scene), *chain.from_iterable(loops), *answer(scene, [])]


# ── endings


def ends_asking(scene: Scene) -> list[Json]:
    return ask(scene)


def ends_in_loop(scene: Scene) -> list[Json]:
    """The last results are in, and the model has to go on. In manual mode thinking must lead the loop."""
    thoughts = not scene.thinking_is_out_of_place
    asking = ask(scene)
    loops = [loop(scene, lead=scene.manual, thoughts=thoughts, tail=False) for _ in scene.several(1, 2)]
    return [*asking, *chain.from_iterable(loops), *systems(scene)]


def ends_paused(scene: Scene) -> list[Json]:
    """A server tool is not finished: the assistant's content goes back as it is."""
    name = scene.pick(*blocks.SERVER_TOOLS)
    if name in ("web_search", "web_fetch"):
        scene.tools.append({"type": f"{name}_20260209", "name": name})
    thoughts = not scene.thinking_is_out_of_place
    run = answer(scene, [], lead=scene.manual, thoughts=thoughts)
    return [*ask(scene), *run, {"role": "assistant", "content": [blocks.server_call(scene, name)]}]


def ends_in_prefill(scene: Scene) -> list[Json]:
    if scene.manual or not scene.profile.prefill:
        return ask(scene)
    thoughts = [] if scene.thinking_is_out_of_place else [blocks.thought(scene) for _ in scene.several(0, 1)]
    return [*ask(scene), {"role": "assistant", "content": [*thoughts, text("The answer is")]}]


def ends_in_system(scene: Scene) -> list[Json]:
    """After a server tool's result."""
    if not scene.profile.system_messages:
        return ask(scene)
    return [*ask(scene), {"role": "assistant", "content": blocks.served(scene)}, {"role": "system", "content": "go on"}]


ENDINGS: tuple[Callable[[Scene], list[Json]], ...] = (
    ends_asking,
    ends_in_loop,
    ends_in_loop,
    ends_paused,
    ends_in_prefill,
    ends_in_system,
)


def history(scene: Scene) -> list[Json]:
    start = directives(scene)
    if scene.seldom():
        start += answer(scene, [])
    past = [exchange(scene) for _ in scene.several(0, 2)]
    return [*start, *chain.from_iterable(past), *scene.pick(*ENDINGS)(scene)]
