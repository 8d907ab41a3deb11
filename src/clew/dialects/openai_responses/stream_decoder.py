"""From the events of an answer to canonical events.

An item is known by its place in the output: some servers give it another id in each event. One item is told at a time, in
the order in which they begin; the events of others wait until it is over, which in an ordinary stream none has to. The last
event repeats all items: what was never told before is told then.
"""

from __future__ import annotations

from typing import Final

from clew.dialects.failures.reading import CUT, failure_in
from clew.dialects.openai_responses.endings import canonical_usage, stop_reason_of
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.stream_answer import AnswerInItems, ItemTeller
from clew.dialects.openai_responses.stream_events import ANNOTATION, ResponsesEvent, UsualDelta
from clew.dialects.openai_responses.stream_items import ForeignTeller, teller_of
from clew.dialects.shape import AnswerContext
from clew.model.bounds import check_blocks, check_waiting
from clew.model.events import BlockDelta, Event, MessageDelta, MessageStart, MessageStop, Ping, written
from clew.model.failure import Failure
from clew.model.json import JsonObject, object_of, objects_of, text_of
from clew.model.tokens import OUTPUT_ESTIMATED

_PING: Final = written(Ping())
_MESSAGE_STOP: Final = written(MessageStop())

_GROWS: Final = {
    "response.output_text.delta": "message",
    "response.output_text.done": "message",
    ANNOTATION: "message",
    "response.refusal.delta": "message",
    "response.refusal.done": "message",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_summary_text.done": "reasoning",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_text.done": "reasoning",
    "response.function_call_arguments.delta": "function_call",
    "response.function_call_arguments.done": "function_call",
    "response.custom_tool_call_input.delta": "custom_tool_call",
    "response.custom_tool_call_input.done": "custom_tool_call",
}
"""The type of the item that each event adds to."""
_ADDED: Final = "response.output_item.added"
_DONE: Final = "response.output_item.done"
_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_FAILED: Final = frozenset({"failed", "cancelled"})
_RENUMBERED: Final = 1 << 32
"""From here on, places of items whose server gives every item the same one."""
_NO_REASON: Final = "the backend stopped and gave no reason"


class ResponseDecoder:
    """`take` events, then `end`, or `fail`; `take_events` after each."""

    __slots__ = (
        *(
            "_answer",
            "_calls",
            "_context",
            "_finished",
            "_id",
            "_items",
            "_kind",
            "_kinds",
            "_place",
            "_places",
            "_started",
            "_teller",
        ),
        *("_waiting", "_waiting_count", "ended", "failure"),
    )

    def __init__(self, context: AnswerContext, options: ResponsesOptions) -> None:
        self._context = context
        self._answer = AnswerInItems(context, options)
        self._teller: ItemTeller | None = None
        self._place = -1  # of the item that is being told,
        self._id = ""  # its id as it began,
        self._kind = ""  # and its type
        self._items = 0  # that have begun,
        self._kinds: list[str] = []  # and their types
        self._finished: set[int] = set()
        self._calls: dict[int, str] = {}  # the ids of calls that are over, by their places
        self._places: dict[int, int] = {}  # by the backend's own number, where it repeats one
        self._waiting: dict[int, list[ResponsesEvent]] = {}
        self._waiting_count = 0
        self._started = False
        self.ended = False
        """Nothing may follow: the answer is whole, or it failed."""
        self.failure: Failure | None = None

    def take_events(self) -> list[Event]:
        """The events since the last time."""
        return self._answer.blocks.take_events()

    def begin(self, *, eager: bool = False) -> None:
        """The start of the message; `eager` opens an empty text block before anything is known."""
        if self._started:
            return
        self._started = True
        context = self._context
        message: JsonObject = {"id": context.message_id, "type": "message", "role": "assistant", "content": []}
        message |= {"model": context.model, "stop_reason": None, "stop_sequence": None}
        self._answer.blocks.add(MessageStart({**message, "usage": self._estimate()}))
        if eager:
            self._answer.blocks.open("text")
        self._answer.blocks.add(_PING)

    @property
    def grows_by(self) -> tuple[str, int]:
        """The type of the events by which the open block grows, and the part that they are about; "" if none is open, or the
        answer is over."""
        if self._teller is None or self.ended or not self._answer.blocks.is_settled:
            return "", 0
        return self._teller.grows_by

    def take_delta(self, delta: UsualDelta, part: int) -> Event | None:
        """A delta of the open block, to be told at once; None if it is of another one, and has to be taken as an event."""
        if delta.output_index != self._place or delta.content_index + delta.summary_index != part or not delta.delta:
            return None
        return self._answer.blocks.tell_more(delta.delta)

    @property
    def place(self) -> int | None:
        """That of the item that is being told; None if there is none, or its server counts in another way."""
        return self._place if self._teller is not None and self._place < _RENUMBERED else None

    def tell_more(self, text: str) -> BlockDelta:
        return self._answer.blocks.tell_more(text)

    def take(self, event: ResponsesEvent, data: bytes = b"") -> None:
        """One event that is no error; `data` as it came."""
        kind = event.type
        if kind in _GROWS and event.output_index == self._place and self._teller is not None:
            self._teller.take(event)  # as nearly always
            return
        self.begin()
        if kind in _GROWS or kind in (_ADDED, _DONE):
            self._take_of_item(event)
            while self._teller is None and self._waiting:
                self._tell_waiting()
        elif kind in _ENDS:
            # The last event names a status by its type.
            said = text_of(event.own_response.get("status"))
            status = said if said in _FAILED or said == "incomplete" else kind.rpartition(".")[2]
            self.end({**event.own_response, "status": status})
        elif isinstance(self._teller, ForeignTeller) and event.output_index == self._place:
            self._teller.pass_on(kind, data)

    def _take_of_item(self, event: ResponsesEvent) -> None:
        """An event of an item: of the one that is being told, or of one that begins, or of one that has to wait."""
        item = event.own_item
        place = self._place_of(event, text_of(item.get("id")))
        if place in self._finished:
            return
        if self._teller is not None and place != self._place:
            self._waiting.setdefault(place, []).append(event)
            self._waiting_count += 1
            check_waiting(self._waiting_count)
            return
        if self._teller is None:
            self._begin_item(place, item or {"type": _GROWS.get(event.type)})
        if event.type == _DONE:
            self._finish_item(item)
        elif event.type != _ADDED and self._teller is not None:
            self._teller.take(event)

    def _place_of(self, event: ResponsesEvent, item_id: str) -> int:
        given = event.output_index
        if type(given) is not int:
            if event.type == _ADDED:
                self._finish_item({})
            return _RENUMBERED + self._items if self._teller is None else self._place
        place = self._places.get(given, given)
        if place in self._calls and event.own_item.get("call_id") == self._calls[place]:
            return place  # it is told of once more
        if event.type == _ADDED and (place in self._finished or (place == self._place and item_id != self._id)):
            self._finish_item({})  # of this number, if it is not over: another one has it now
            place = self._places[given] = _RENUMBERED + self._items
        return place

    def _begin_item(self, place: int, item: JsonObject) -> None:
        self._items += 1
        check_blocks(self._items)
        self._place, self._id, self._kind = place, text_of(item.get("id")), text_of(item.get("type"))
        self._kinds.append(self._kind)
        self._teller = teller_of(self._answer, item)

    def _finish_item(self, item: JsonObject) -> None:
        if self._teller is not None:
            self._finished.add(self._place)
            if call_id := text_of(item.get("call_id")):
                self._calls[self._place] = call_id
            teller, self._teller = self._teller, None
            teller.finish(item)

    def _tell_waiting(self) -> None:
        """What came of the item that waited longest."""
        place = next(iter(self._waiting))
        events = self._waiting.pop(place)
        self._waiting_count -= len(events)
        for event in events:
            self._take_of_item(event)

    def end(self, response: JsonObject) -> None:
        """Everything has come: the response as a whole."""
        if self.ended:
            return
        self.begin()
        if response.get("status") in _FAILED:
            error = response.get("error") or {"message": _NO_REASON}
            self.fail(failure_in({"error": error}) or CUT)
            return
        self._finish_items(objects_of(response.get("output")), is_cut=response.get("status") == "incomplete")
        answer = self._answer
        answer.blocks.close()
        reason = stop_reason_of(response, called=answer.calls > 0, refused=answer.refused)
        # What the backend counted. An output that it did not count is estimated, and marked as such
        given = object_of(response.get("usage"))
        usage = canonical_usage(given) if given else self._estimate()
        if not usage["output_tokens"] and (about := self._answer.blocks.tokens.total()):
            usage |= {"output_tokens": about, OUTPUT_ESTIMATED: True}
        answer.blocks.add(MessageDelta({"stop_reason": reason, "stop_sequence": None}, usage), _MESSAGE_STOP)
        self.ended = True

    def _finish_items(self, output: list[JsonObject], *, is_cut: bool) -> None:
        """Those that are not over, and those that never began."""
        while self._teller is not None or self._waiting:
            if self._teller is None:
                self._tell_waiting()
            known, _ = self._found_in(output)
            self._finish_item(known[-1] if len(known) == self._items and not is_cut else {})
        for item in self._found_in(output)[1]:
            self._begin_item(_RENUMBERED + self._items, item)
            self._finish_item(item)

    def _found_in(self, output: list[JsonObject]) -> tuple[list[JsonObject], list[JsonObject]]:
        """The items that have begun, and those behind the last of them. A server may keep some to itself until the end: one
        that was told must not be told again, for a call would be made twice."""
        known: list[JsonObject] = []
        end = 0
        for place, item in enumerate(output, 1):
            if len(known) < self._items and item.get("type") == self._kinds[len(known)]:
                known.append(item)
                end = place
        return known, output[end:] if len(known) == self._items else []

    def _estimate(self) -> JsonObject:
        return canonical_usage({"input_tokens": self._context.input_tokens})

    def fail(self, failure: Failure) -> None:
        """The answer broke off. An open block stays open, because a stop would say that it is whole."""
        if self.ended:
            return
        self._answer.blocks.add(failure.event())
        self.failure = failure
        self.ended = True
