"""From a turn to an answer: the model's acts, within what the request allows.

The request rules over the script: without thinking there are no thoughts, with `tool_choice` none no calls, `display` says
how much of a thought is seen, `max_tokens` and the stop sequences cut. Signatures come from the judge's signer, which is
given the answer so far, because a block is bound to all that stands before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from clew.model.facts.dated import TOKEN_COUNT_BETA
from clew.model.json import JsonObject
from clew.simulator import cut, pieces, tokens
from clew.simulator.acts import Act, Block, Call, Event, Pace, Pause, Ping, Redacted, Say, Stop, Think, Turn, Usage
from clew.simulator.answer import Answer, Item, Piece
from clew.simulator.conversation import Exchange, tools_on_offer
from clew.simulator.faults import Fault
from clew.simulator.ids import Ids
from clew.simulator.improvise import pick_tool
from clew.simulator.interfaces import Prompt, Signer
from clew.simulator.plausible import value_for

__all__ = ["Occasion", "speak"]

_CHUNK: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """What an answer is an answer to."""

    request: JsonObject
    prompt: Prompt
    signer: Signer
    exchange: Exchange
    ids: Ids
    betas: frozenset[str] = frozenset()
    empty_delta: bool = True
    """Stance C-11: does an omitted thought have a delta?"""
    calls_before: int = 0
    """Tool calls that the conversation has already."""


def speak(turn: Turn, occasion: Occasion) -> Answer:
    """Do what the turn says."""
    speaker = _Speaker(turn, occasion)
    for act in turn.acts:
        if not speaker.ended:
            speaker.do(act)
    return speaker.answer()


class _Speaker:
    """The growing answer."""

    def __init__(self, turn: Turn, occasion: Occasion) -> None:
        self._occasion = occasion
        self._request = occasion.request
        paces = [act for act in turn.acts if isinstance(act, Pace)]
        self._chunk = next((pace.chunk for pace in paces if pace.chunk), _CHUNK)
        self._padding = next((pace.padding for pace in paces if pace.padding), 0)
        self._faults = tuple(act for act in turn.acts if isinstance(act, Fault))
        self._usage = {name: n for act in turn.acts if isinstance(act, Usage) for name, n in act.numbers.items()}
        self._stop = next((act for act in turn.acts if isinstance(act, Stop)), None)
        self._items: list[Item] = []
        self._content: list[JsonObject] = []
        self._left = _int(self._request.get("max_tokens"), 4096)
        self._spent = 0
        self._thought = 0
        self._calls = 0
        self._skipped = False
        self.ended = self._left <= 0
        if self.ended:
            self._stop = Stop("max_tokens")

    def do(self, act: Act) -> None:
        """One act. What only sets the scene was read at the start."""
        match act:
            case Think():
                self._think(act)
            case Redacted(text):
                self._redacted(text)
            case Say(text):
                self._say(self._filled(text))
            case Call():
                self._call(act)
            case Block(value):
                self._add(pieces.whole(value), tokens.of_json(value))
            case Pause() | Ping() | Event():
                self._items.append(act)
            case Stop() | Usage() | Pace() | Fault():
                pass

    def answer(self) -> Answer:
        if not self._content and self._skipped:
            self._say("Done.")
        called = any(block.get("type") == "tool_use" for block in self._content)
        stop = self._stop or Stop("tool_use" if called else "end_turn")
        return Answer(
            items=tuple(self._items),
            stop_reason=stop.reason,
            stop_sequence=stop.detail if stop.reason == "stop_sequence" else None,
            stop_details=_refusal(stop.detail) if stop.reason == "refusal" else None,
            output_tokens=self._spent,
            thinking_tokens=self._thought,
            usage=self._usage,
            padding=self._padding,
            faults=self._faults,
        )

    # Thinking.

    def _think(self, act: Think) -> None:
        if not self._may_think(update=act.shown == "update"):
            self._skipped = True
            return
        whole = self._filled(act.text)
        text = cut.head_of(whole, self._left)
        shown = text if self._is_shown(act) else ""
        cost = tokens.of_text(whole)
        if text != whole:
            self._end(Stop("max_tokens"))
            self._add(self._thinking(text, shown, ""), self._left, thinking=True)
            return
        signature = self._occasion.signer.sign(text, answer=self._content)
        self._add(self._thinking(text, shown, signature), cost, thinking=True)

    def _thinking(self, text: str, shown: str, signature: str | None) -> Piece:
        estimate = tokens.of_text(text) if TOKEN_COUNT_BETA in self._occasion.betas else None
        return pieces.thinking(
            shown, signature, self._chunk, empty_delta=self._occasion.empty_delta, estimated_tokens=estimate
        )

    def _may_think(self, *, update: bool = False) -> bool:
        prompt = self._occasion.prompt
        match prompt.thinking:
            case "off":
                return False
            case "between_tools":
                return update
            case "adaptive":
                return True
            case "enabled":
                leading = all("thinking" in str(block.get("type")) for block in self._content)
                return prompt.interleaved or (leading and self._occasion.exchange.turn == 0)

    def _is_shown(self, act: Think) -> bool:
        if act.shown == "never":
            return False
        if act.shown == "update":
            return self._occasion.prompt.display != "omitted" or self._occasion.prompt.thinking == "between_tools"
        return self._occasion.prompt.display == "summarized"

    def _redacted(self, text: str) -> None:
        if not self._may_think():
            self._skipped = True
            return
        data = self._occasion.signer.redact(self._filled(text), answer=self._content)
        self._add(pieces.redacted(data), tokens.of_text(text), thinking=True)

    # Words and calls.

    def _say(self, whole: str) -> None:
        text, sequence = cut.at_sequence(whole, self._sequences())
        fitting = cut.head_of(text, self._left)
        if fitting != text:
            self._end(Stop("max_tokens"))
        elif sequence is not None:
            self._end(Stop("stop_sequence", sequence))
        self._add(pieces.text(fitting, self._chunk), tokens.of_text(fitting))

    def _call(self, act: Call) -> None:
        name, given = self._chosen(act)
        if name is None:
            self._skipped = True
            return
        told, sequence = cut.input_up_to_sequence(given, self._sequences())
        budget = self._left - tokens.of_text(name)
        closed = tokens.of_json(told) <= budget
        if not closed:
            told = cut.input_up_to(told, budget)
            self._end(Stop("max_tokens"))
        elif sequence is not None:
            self._end(Stop("stop_sequence", sequence))
        identity = self._occasion.ids.tool(self._calls, name, self._occasion.calls_before)
        piece = pieces.tool_use(identity, name, told, self._chunk, closed=closed)
        self._calls += 1
        self._add(piece, tokens.of_text(name) + tokens.of_json(told))

    def _chosen(self, act: Call) -> tuple[str | None, JsonObject]:
        """The tool's name and input; no name if the request does not let it be called."""
        choice = self._request.get("tool_choice")
        if isinstance(choice, dict):
            once = choice.get("disable_parallel_tool_use") is True and self._calls > 0
            if choice.get("type") == "none" or once:
                return None, {}
        if not self._request.get("tools"):
            return None, {}
        offered = {str(tool.get("name")): tool for tool in tools_on_offer(self._request)}
        tool = pick_tool(self._request) if act.tool == "*" else offered.get(act.tool)
        if act.input is not None:
            return (str(tool["name"]) if tool else act.tool), act.input
        if tool is None:
            return None, {}
        made = value_for(cast(JsonObject, tool["input_schema"]), self._occasion.exchange.prompt)
        return str(tool["name"]), made if isinstance(made, dict) else {}

    # The sum.

    def _add(self, piece: Piece, cost: int, *, thinking: bool = False) -> None:
        self._items.append(piece)
        self._content.append(piece.block)
        self._spent += cost
        self._left -= cost
        self._thought += cost if thinking else 0

    def _end(self, stop: Stop) -> None:
        self.ended = True
        self._stop = stop

    def _sequences(self) -> Sequence[str]:
        given = self._request.get("stop_sequences")
        return [text for text in given if isinstance(text, str)] if isinstance(given, list) else []

    def _filled(self, text: str) -> str:
        exchange = self._occasion.exchange
        for name, value in (
            ("{{prompt}}", exchange.prompt),
            ("{{result}}", "\n".join(exchange.results)),
            ("{{model}}", str(self._request.get("model"))),
        ):
            text = text.replace(name, value)
        return text


def _refusal(category: str | None) -> JsonObject:
    return {"type": "refusal", "category": category, "explanation": None}


def _int(value: object, default: int) -> int:
    return value if isinstance(value, int) else default
