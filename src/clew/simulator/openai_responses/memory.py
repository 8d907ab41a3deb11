"""What a simulated vendor remembers between requests: all items that it gave, and the answers that it keeps.

An item is known by its id, a call also by its call id, and a message without an id by its text. Kept answers (`store`, which
is on unless it is switched off) serve `previous_response_id`, `item_reference` and GET. Everything belongs to an account:
what one organization got, no other can name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from clew.model.json import JsonObject
from clew.simulator.thought_index import ThoughtIndex
from clew.simulator.values import as_dict, as_list, as_str


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenOutput:
    """An answer that the simulator gave: its items, and the thought behind each reasoning item by its id."""

    model: str
    items: tuple[JsonObject, ...]
    thoughts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class GivenItem:
    """One item of an answer. `required` is the id of the reasoning before it, on which it depends; "" if there is none."""

    answer: GivenOutput
    index: int
    required: str

    @property
    def item(self) -> JsonObject:
        return self.answer.items[self.index]


@dataclass(frozen=True, slots=True)
class KeptResponse:
    """An answer that the vendor keeps."""

    response: JsonObject
    items: tuple[JsonObject, ...]
    """The whole conversation up to and with this answer."""


@dataclass(frozen=True, slots=True)
class OutputMemory:
    """The memory of one simulator, and the secret that its blobs and marks are made with. Keys begin with the account."""

    secret: bytes
    _given: dict[tuple[str, str], GivenItem] = field(default_factory=dict[tuple[str, str], GivenItem])
    _kept_items: dict[tuple[str, str], JsonObject] = field(default_factory=dict[tuple[str, str], JsonObject])
    _kept: dict[tuple[str, str], KeptResponse] = field(default_factory=dict[tuple[str, str], KeptResponse])
    _thoughts: dict[str, ThoughtIndex] = field(default_factory=dict[str, ThoughtIndex])

    def record(self, account: str, answer: GivenOutput) -> None:
        """Remember the items of an answer."""
        required = ""
        for index, item in enumerate(answer.items):
            for key in _keys(item):
                self._given[account, key] = GivenItem(answer, index, required)
            required = as_str(item.get("id")) if item.get("type") == "reasoning" else required
        index = self._thoughts.setdefault(account, ThoughtIndex())
        for thought in answer.thoughts.values():
            index.add(thought)

    def keep(self, account: str, response: JsonObject, items: tuple[JsonObject, ...]) -> None:
        """Keep an answer, and the conversation up to it."""
        self._kept[account, as_str(response.get("id"))] = KeptResponse(response, items)
        for item in items:
            if id_ := as_str(item.get("id")):
                self._kept_items[account, id_] = item

    def find(self, account: str, item: JsonObject) -> GivenItem | None:
        """The item of this simulator's that a client sends back, if it is one."""
        return next((found for key in _keys(item) if (found := self._given.get((account, key)))), None)

    def given(self, account: str, id_: str) -> GivenItem | None:
        """The item with this id, kept or not."""
        return self._given.get((account, f"id {id_}"))

    def kept_item(self, account: str, id_: str) -> JsonObject | None:
        return self._kept_items.get((account, id_))

    def kept(self, account: str, id_: str) -> KeptResponse | None:
        return self._kept.get((account, id_))

    def delete(self, account: str, id_: str) -> bool:
        """Forget an answer that was kept, and its own items; whether there was one."""
        found = self._kept.pop((account, id_), None)
        for item in as_list(found.response.get("output")) if found else ():
            self._kept_items.pop((account, as_str(as_dict(item).get("id"))), None)
        return found is not None

    def thoughts(self, account: str) -> ThoughtIndex:
        """The thoughts of the account's answers."""
        return self._thoughts.get(account, ThoughtIndex())

    def reset(self) -> None:
        for memory in (self._given, self._kept_items, self._kept, self._thoughts):
            memory.clear()


def _keys(item: JsonObject) -> Iterator[str]:
    """The keys by which an item is found again, the surest first."""
    if id_ := as_str(item.get("id")):
        yield f"id {id_}"
    if "output" not in item and (call := as_str(item.get("call_id"))):
        yield f"call {call}"
    if item.get("role") == "assistant" and (text := text_of_parts(item)):
        yield f"text {text}"


def text_of_parts(item: JsonObject) -> str:
    """The visible text of a message."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = (as_dict(part) for part in as_list(content))
    return "".join(as_str(part.get("text")) or as_str(part.get("refusal")) for part in parts)
