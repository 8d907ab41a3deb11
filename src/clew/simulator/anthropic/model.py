"""The simulated models of the Messages API: find the scenario and the turn that are due, and play it.

A model remembers nothing but the prompt cache: its next answer depends on the request alone, as it does for real models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clew.simulator.anthropic.judge.case import betas_of
from clew.simulator.anthropic.memory import PromptCache
from clew.simulator.anthropic.stream import MessageAnswer
from clew.simulator.conversation import calls_in, state_of
from clew.simulator.ids import Ids
from clew.simulator.interfaces import Account, JudgeVerdict, Stance
from clew.simulator.player import TurnContext, play_turn
from clew.simulator.turns import DEFAULT, ScenarioPicker, improvise, turn_of


@dataclass(frozen=True, slots=True)
class PlayedMessage:
    """A message, and which turn of which scenario it is."""

    message: MessageAnswer
    scenario: str
    turn: int


class MessagesModel:
    """All models of one simulator. `clock` counts seconds, for the cache."""

    def __init__(self, *, scenario: str, stance: Stance, seed: int, clock: Callable[[], float]) -> None:
        self._scenarios = ScenarioPicker(scenario)
        self._empty_delta = stance["C-11"] == "empty_delta"
        self._seed = seed
        self._cache = PromptCache(clock)

    def answer(self, verdict: JudgeVerdict, *, account: Account, ids: Ids, headers: Mapping[str, str]) -> PlayedMessage:
        """Answer a legal request. Raises SettingsInvalid if it names an unknown scenario."""
        request, prompt = verdict.request, verdict.prompt
        state = state_of(request)
        scenario = self._scenarios.scenario_for(request)
        turn = turn_of(scenario, state) if scenario else improvise(request, state, self._seed)
        assert verdict.signer is not None, "a legal request has a signer"
        context = TurnContext(
            request=request,
            prompt=prompt,
            signer=verdict.signer,
            state=state,
            ids=ids,
            betas=frozenset(betas_of(headers)),
            empty_delta=self._empty_delta,
            calls_before=calls_in(request),
        )
        answer, model = play_turn(turn, context), str(request.get("model"))
        unread = {block.path for block in prompt.blocks if block.fate != "kept"}
        owner = f"{account.name} {model}"
        cache = self._cache.use(request, owner=owner, minimum=prompt.cache_minimum, without=unread)
        message = MessageAnswer(id=ids.message, model=model, answer=answer, prompt=prompt, cache=cache)
        return PlayedMessage(message, scenario.name if scenario else DEFAULT, state.turn)

    def reset(self) -> None:
        self._cache.reset()
