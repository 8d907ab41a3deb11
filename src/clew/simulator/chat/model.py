"""The simulated models behind a chat vendor: the same scripts and the same improviser as in the other dialect.

The request is read in plain words, the scenario's turn (or an improvised one) is spoken within what the request allows,
and the answer is written in the vendor's form. What the built-in model thinks of its own accord bears a mark, so that it is
known wherever it turns up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clew.model.json import JsonObject
from clew.simulator.acts import Act, Think, Turn
from clew.simulator.answer import Answer
from clew.simulator.chat.case import ChatCase
from clew.simulator.chat.counting import PrefixCache, tokens_of
from clew.simulator.chat.plain import plain
from clew.simulator.chat.sealing import marked
from clew.simulator.chat.usage import Spent, usage_of
from clew.simulator.chat.wire import Completion
from clew.simulator.chat.writing import message_of, written
from clew.simulator.conversation import calls_in, open_exchange
from clew.simulator.ids import Ids
from clew.simulator.improvise import improvise
from clew.simulator.interfaces import Prompt
from clew.simulator.speak import Occasion, speak
from clew.simulator.stage import DEFAULT, Stage, turn_of
from clew.simulator.values import as_dict

__all__ = ["ChatModel", "Performance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """An answer, and which scenario it is from."""

    completion: Completion
    answer: Answer
    scenario: str
    turn: int


class _Unsigned:
    """The chat forms sign by themselves; the speaker only hands on what was thought."""

    def sign(self, text: str, *, answer: Sequence[JsonObject]) -> None:
        return None

    def redact(self, text: str, *, answer: Sequence[JsonObject]) -> str:
        return text


class ChatModel:
    """All models of one simulator."""

    def __init__(self, *, scenario: str, seed: int) -> None:
        self._stage = Stage(scenario)
        self._seed = seed
        self._cache = PrefixCache()

    def answer(self, case: ChatCase, *, account: str, ids: Ids, created: int) -> Performance:
        """Answer a legal request. Raises SettingsInvalid if it names a scenario that there is not."""
        request = plain(case)
        exchange = open_exchange(request)
        scenario = self._stage.scenario_for(request)
        turn = turn_of(scenario, exchange) if scenario else _marked(improvise(request, exchange, self._seed), case)
        occasion = Occasion(
            request=request,
            prompt=Prompt(thinking="adaptive" if case.thinking else "off", interleaved=True),
            signer=_Unsigned(),
            exchange=exchange,
            ids=ids,
            empty_delta=False,
            calls_before=calls_in(request),
        )
        answer = speak(turn, occasion)
        completion = self._completion(case, answer, account, ids, created)
        name = scenario.name if scenario else DEFAULT
        return Performance(completion=completion, answer=answer, scenario=name, turn=exchange.turn)

    def reset(self) -> None:
        self._cache.reset()

    def _completion(self, case: ChatCase, answer: Answer, account: str, ids: Ids, created: int) -> Completion:
        said = written(answer, case, ids.message)
        spent = Spent.of(answer, tokens_of(case), self._cache.use(case, account))
        return Completion(
            id=case.vendor.completion_id + ids.message.removeprefix("msg_01"),
            model=case.model,
            created=created,
            vendor=case.vendor,
            said=said,
            message=message_of(said, case),
            stop_reason=answer.stop_reason,
            usage=usage_of(spent, case.vendor.numbers),
            usage_asked=as_dict(case.body.get("stream_options")).get("include_usage") is True,
        )


def _marked(turn: Turn, case: ChatCase) -> Turn:
    return Turn(tuple(_marked_act(act, case.books.secret) for act in turn.acts))


def _marked_act(act: Act, secret: bytes) -> Act:
    return Think(marked(secret, act.text), act.shown) if isinstance(act, Think) else act
