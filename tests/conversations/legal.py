"""Requests that break no static rule: all block types, tool loops, runs of one role, system messages, cache marks, every model,
both API versions. What makes a request legal is known here a third time, by construction: the pieces are put together so that
nothing can be wrong, and a property holds that both judges agree."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from clew.model.facts import UNKNOWN, ModelFacts, betas, fields, models
from tests.build import Json
from tests.conversations import settings
from tests.conversations.asked import NEWER, OLDER, Asked, headers
from tests.conversations.marks import put_marks
from tests.conversations.scene import Scene, Wish
from tests.conversations.turns import history

MODELS = tuple(models())
"""The retired models too, and the unknown one: whether a model is served is no static rule."""
NAMES = {
    "claude-sonnet-4-5": ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
    "claude-haiku-4-5": ("claude-haiku-4-5", "claude-haiku-4-5-20251001"),
    UNKNOWN: ("qwen3-32b",),
}
ANY = Wish()
HARMLESS = tuple(sorted(betas()))
"""A beta that nothing needs changes nothing but what it unlocks."""


@st.composite
def legal_requests(draw: Any, wish: Wish = ANY) -> Asked:
    """One request, with the headers that it needs."""
    name = draw(st.sampled_from([each for each in MODELS if _fits(models()[each], wish)]))
    model = draw(st.sampled_from(NAMES.get(name, (name,))))
    version = wish.version or draw(st.sampled_from([OLDER, NEWER]))
    scene = Scene(draw, models()[name], model, version)
    settings.set_thinking(scene, wish.mode)
    settings.set_effort(scene)
    body = _body(scene, history(scene))
    put_marks(scene, body)
    counting = scene.seldom() if wish.counting is None else wish.counting
    return Asked(_countable(body) if counting else body, _headers(scene), counting)


def _fits(facts: ModelFacts, wish: Wish) -> bool:
    return wish.fits(facts) and (not wish.mode or wish.mode in facts.thinking)


def _body(scene: Scene, messages: list[Json]) -> Json:
    offered = settings.tools(scene)
    body: Json = {"model": scene.model, "messages": messages, "max_tokens": settings.size(scene)}
    body |= {"tools": offered} if offered or scene.often() else {}
    body |= {"thinking": scene.thinking} if scene.thinking else {}
    body |= settings.choice(scene, offered, may_force=settings.may_force(scene))
    body |= settings.output(scene, may_format=_may_format(scene, messages))
    body |= settings.sampling(scene) | settings.edits(scene) | settings.rest(scene)
    return body


def _may_format(scene: Scene, messages: list[Json]) -> bool:
    """Neither with citations nor with a prefill."""
    prefilled = scene.profile.prefill and messages[-1]["role"] == "assistant"
    return not prefilled and "'citations': {'enabled': True}" not in str(messages)


def _headers(scene: Scene) -> dict[str, str]:
    extra = {scene.pick(*HARMLESS) for _ in scene.several(0, 2)}
    return headers(scene.version, *sorted(scene.betas | extra))


def _countable(body: Json) -> Json:
    known = fields().shapes["request"].fields
    return {key: value for key, value in body.items() if known[key].count}
