"""From a turn to an answer: the model's acts, within what the request allows.

The request limits the script: without thinking there are no thoughts, with `tool_choice` none no calls; `display` says how
much of a thought is shown; `max_tokens` and the stop sequences cut. Signatures come from the judge's signer, which gets the
answer so far, because a block is bound to everything before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from clew.model.facts.shapes import TOKEN_COUNT_BETA
from clew.model.json import JsonObject
from clew.simulator.answers import (
    AnswerBlock,
    AnswerItem,
    ModelAnswer,
    input_up_to,
    input_up_to_sequence,
    text_block,
    text_up_to,
    text_up_to_sequence,
    thinking_block,
    tool_use_block,
    whole_block,
)
from clew.simulator.faults import FaultSpec
from clew.simulator.identity import Ids
from clew.simulator.interfaces import Prompt, Signer
from clew.simulator.plausible import value_for
from clew.simulator.script import (
    Act,
    CallTool,
    Pause,
    Say,
    ScriptTurn,
    SendBlock,
    SendEvent,
    SendPings,
    SetPace,
    SetUsage,
    Stop,
    Think,
    ThinkRedacted,
)
from clew.simulator.turns import (
    ConversationState,
    pick_tool,
    tools_on_offer,
)
from clew.simulator.values import as_dict, as_list, tokens_of_json, tokens_of_text

_CHUNK: Final = 24
_DEFAULT_LIMIT: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedTurn:
    """An answer, and which turn of which scenario it is."""

    answer: ModelAnswer
    scenario: str
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """The request that an answer is for, and what was decided about it."""

    request: JsonObject
    prompt: Prompt
    signer: Signer | None
    """None if the vendor's form of a thought signs it."""
    state: ConversationState
    ids: Ids
    betas: frozenset[str] = frozenset()
    empty_delta: bool = True
    """Stance C-11: whether an omitted thought has a delta."""
    calls_before: int = 0
    """The number of tool calls in the conversation so far."""


def play_turn(turn: ScriptTurn, context: TurnContext) -> ModelAnswer:
    """Do the acts of the turn, until one of them ends the answer."""
    player = _TurnPlayer(turn, context)
    for act in turn.acts:
        if player.ended:
            break
        player.do(act)
    return player.answer()


class _TurnPlayer:
    """The growing answer, and the tokens that are left for it."""

    def __init__(self, turn: ScriptTurn, context: TurnContext) -> None:
        self._context = context
        self._request = context.request
        paces = [act for act in turn.acts if isinstance(act, SetPace)]
        self._chunk = next((pace.chunk for pace in paces if pace.chunk), _CHUNK)
        self._padding = next((pace.padding for pace in paces if pace.padding), 0)
        self._faults = tuple(act for act in turn.acts if isinstance(act, FaultSpec))
        self._usage = {name: n for act in turn.acts if isinstance(act, SetUsage) for name, n in act.numbers.items()}
        self._stop = next((act for act in turn.acts if isinstance(act, Stop)), None)
        self._sequences = [text for text in as_list(self._request.get("stop_sequences")) if isinstance(text, str)]
        self._items: list[AnswerItem] = []
        self._content: list[JsonObject] = []
        limit = self._request.get("max_tokens")
        self._left = limit if isinstance(limit, int) else _DEFAULT_LIMIT
        self._spent = 0
        self._thinking_tokens = 0
        self._calls = 0
        self._skipped = False
        self.ended = False
        if self._left <= 0:
            self._end(Stop("max_tokens"))

    def do(self, act: Act) -> None:
        match act:
            case Think():
                self._think(act)
            case ThinkRedacted(text) if self._may_think():
                data, signer = self._filled(text), self._context.signer
                if signer:
                    data = signer.redact(data, answer=self._content)
                block = whole_block({"type": "redacted_thinking", "data": data})
                self._add(block, tokens_of_text(text), thinking=True)
            case ThinkRedacted():
                self._skipped = True
            case Say(text):
                self._say(self._filled(text))
            case CallTool():
                self._call(act)
            case SendBlock(value):
                self._add(whole_block(value), tokens_of_json(value))
            case Pause() | SendPings() | SendEvent():
                self._items.append(act)
            case Stop() | SetUsage() | SetPace() | FaultSpec():
                pass  # these hold for the whole turn and were read at the start

    def answer(self) -> ModelAnswer:
        if not self._content and self._skipped:
            self._say("Done.")
        called = any(block.get("type") == "tool_use" for block in self._content)
        stop = self._stop or Stop("tool_use" if called else "end_turn")
        refusal: JsonObject = {"type": "refusal", "category": stop.detail, "explanation": None}
        return ModelAnswer(
            items=tuple(self._items),
            stop_reason=stop.reason,
            stop_sequence=stop.detail if stop.reason == "stop_sequence" else None,
            stop_details=refusal if stop.reason == "refusal" else None,
            output_tokens=self._spent,
            thinking_tokens=self._thinking_tokens,
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
        text = text_up_to(whole, self._left)
        if text == whole:
            signer = self._context.signer
            cost, signature = tokens_of_text(whole), signer.sign(text, answer=self._content) if signer else None
        else:
            cost, signature = self._left, ""
            self._end(Stop("max_tokens"))
        prompt = self._context.prompt
        shown = {
            "asked": prompt.display == "summarized",
            "never": False,
            "update": prompt.display != "omitted" or prompt.thinking == "between_tools",
        }
        block = thinking_block(
            text if shown[act.shown] else "",
            signature,
            self._chunk,
            empty_delta=self._context.empty_delta,
            estimated_tokens=tokens_of_text(text) if TOKEN_COUNT_BETA in self._context.betas else None,
        )
        self._add(block, cost, thinking=True)

    def _may_think(self, *, update: bool = False) -> bool:
        prompt = self._context.prompt
        match prompt.thinking:
            case "off":
                return False
            case "between_tools":
                return update
            case "adaptive":
                return True
            case "enabled":
                leading = all("thinking" in str(block.get("type")) for block in self._content)
                return prompt.interleaved or (leading and self._context.state.turn == 0)

    # Text and calls.

    def _say(self, whole: str) -> None:
        text, sequence = text_up_to_sequence(whole, self._sequences)
        fitting = text_up_to(text, self._left)
        if fitting != text:
            self._end(Stop("max_tokens"))
        elif sequence is not None:
            self._end(Stop("stop_sequence", sequence))
        self._add(text_block(fitting, self._chunk), tokens_of_text(fitting))

    def _call(self, act: CallTool) -> None:
        name, whole = self._chosen_tool(act)
        if name is None:
            self._skipped = True
            return
        input_, sequence = input_up_to_sequence(whole, self._sequences)
        budget = self._left - tokens_of_text(name)
        closed = tokens_of_json(input_) <= budget
        if not closed:
            input_ = input_up_to(input_, budget)
            self._end(Stop("max_tokens"))
        elif sequence is not None:
            self._end(Stop("stop_sequence", sequence))
        id_ = self._context.ids.tool(self._calls, name, self._context.calls_before)
        self._calls += 1
        block = tool_use_block(id_, name, input_, self._chunk, closed=closed)
        self._add(block, tokens_of_text(name) + tokens_of_json(input_))

    def _chosen_tool(self, act: CallTool) -> tuple[str | None, JsonObject]:
        """The tool's name and input; no name if the request does not allow the call."""
        choice = as_dict(self._request.get("tool_choice"))
        repeated = choice.get("disable_parallel_tool_use") is True and self._calls > 0
        if choice.get("type") == "none" or repeated or not self._request.get("tools"):
            return None, {}
        offered = {str(tool.get("name")): tool for tool in tools_on_offer(self._request)}
        tool = pick_tool(self._request) if act.tool == "*" else offered.get(act.tool)
        if act.input is not None:
            return (str(tool["name"]) if tool else act.tool), act.input
        if tool is None:
            return None, {}
        made = value_for(cast(JsonObject, tool["input_schema"]), self._context.state.prompt)
        return str(tool["name"]), as_dict(made)

    # The sum.

    def _add(self, block: AnswerBlock, cost: int, *, thinking: bool = False) -> None:
        self._items.append(block)
        self._content.append(block.block)
        self._spent += cost
        self._left -= cost
        self._thinking_tokens += cost if thinking else 0

    def _end(self, stop: Stop) -> None:
        self.ended = True
        self._stop = stop

    def _filled(self, text: str) -> str:
        """A script's text with the values of its placeholders."""
        state = self._context.state
        values: Sequence[tuple[str, str]] = (
            ("{{prompt}}", state.prompt),
            ("{{result}}", "\n".join(state.results)),
            ("{{model}}", str(self._request.get("model"))),
        )
        for name, value in values:
            text = text.replace(name, value)
        return text
