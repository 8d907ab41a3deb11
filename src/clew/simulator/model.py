"""The simulated model: takes a judged request, finds the scenario and the turn that are due, and answers.

It remembers nothing but the prompt cache: what it says next is in the request, as it is for the real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clew.simulator.acts import ScriptTurn
from clew.simulator.cache import CacheUse, PromptCache
from clew.simulator.conversation import ConversationState, calls_in, state_of
from clew.simulator.ids import Ids
from clew.simulator.interfaces import Account, Stance, Verdict
from clew.simulator.player import AnswerContext, play_turn
from clew.simulator.stream import Message
from clew.simulator.turns import DEFAULT, ScenarioPicker, improvise, turn_of

__all__ = ["Model", "Performance"]


@dataclass(frozen=True, slots=True)
class Performance:
    """A message, and which scenario it is from."""

    message: Message
    scenario: str
    turn: int


class Model:
    """All models of one simulator. `clock` counts seconds, for the cache."""

    def __init__(self, *, scenario: str, stance: Stance, seed: int, clock: Callable[[], float]) -> None:
        self._scenarios = ScenarioPicker(scenario)
        self._empty_delta = stance["C-11"] == "empty_delta"
        self._seed = seed
        self._cache = PromptCache(clock)

    def answer(self, verdict: Verdict, *, account: Account, ids: Ids, headers: Mapping[str, str]) -> Performance:
        """Answer a legal request. Raises SettingsInvalid if it names a scenario that there is not."""
        request = verdict.request
        state = state_of(request)
        scenario, turn = self._due(verdict, state)
        assert verdict.signer is not None, "a legal request can be signed for"
        context = AnswerContext(
            request=request,
            prompt=verdict.prompt,
            signer=verdict.signer,
            state=state,
            ids=ids,
            betas=_betas(headers),
            empty_delta=self._empty_delta,
            calls_before=calls_in(request),
        )
        model = str(request.get("model"))
        message = Message(
            id=ids.message,
            model=model,
            answer=play_turn(turn, context),
            prompt=verdict.prompt,
            cache=self._cached(verdict, f"{account.name} {model}"),
        )
        return Performance(message, scenario, state.turn)

    def reset(self) -> None:
        self._cache.reset()

    def _cached(self, verdict: Verdict, owner: str) -> CacheUse:
        unread = {block.path for block in verdict.prompt.blocks if block.fate != "kept"}
        minimum = verdict.prompt.cache_minimum
        return self._cache.use(verdict.request, owner=owner, minimum=minimum, without=unread)

    def _due(self, verdict: Verdict, state: ConversationState) -> tuple[str, ScriptTurn]:
        scenario = self._scenarios.scenario_for(verdict.request)
        if scenario is None:
            return DEFAULT, improvise(verdict.request, state, self._seed)
        return scenario.name, turn_of(scenario, state)


def _betas(headers: Mapping[str, str]) -> frozenset[str]:
    return frozenset(beta.strip() for beta in headers.get("anthropic-beta", "").split(","))
