"""The reasoning in a request: item by item, whose it is, and which of it the vendor refuses or wants back.

An item is *own* if its encrypted content opens with the key of the account, if it is what the simulator gave under this id,
or if the text has the mark of this realm's model. It is a *placeholder* if it has nothing at all. Otherwise it is *foreign*.
Own reasoning with other bytes, or no longer before the item that it was given with, is own, but not the *same*. Reasoning of
earlier turns is *unread* unless the model reads all turns. Reasoning that was given and did not come back with its calls or
text is reported as missing, and a thought in the visible text of any item as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from clew.model.json import JsonObject
from clew.simulator.openai_responses.blobs import PREFIX, BlobContent, signature_of_thought
from clew.simulator.openai_responses.judge.case import CALLS, PlacedItem, ResponsesCase, shortened
from clew.simulator.openai_responses.memory import GivenItem, text_of_parts
from clew.simulator.rule_book import RuleBreach
from clew.simulator.thought_index import is_marked
from clew.simulator.values import as_dict, as_list, as_str

_COMPARED: Final = ("id", "summary", "content", "encrypted_content", "signature", "format")
_UNREADABLE: Final = "Encrypted content could not be decrypted or parsed."
_OTHER_ITEM: Final = "Encrypted content item_id did not match the target item id."


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedItem:
    """One reasoning item of a request, or the place where one is missing."""

    path: str
    field: str
    id: str = ""
    maker: str = ""
    """The model that made it; "" if another vendor did."""
    whose: Literal["own", "foreign", "placeholder"] = "foreign"
    same: bool = False
    """Byte for byte what was given, and before the item that it was given with."""
    fate: Literal["kept", "missing", "unread", "as text", "refused"] = "kept"

    def as_json(self) -> JsonObject:
        return {
            "path": self.path,
            "field": self.field,
            "id": self.id,
            "maker": self.maker,
            "whose": self.whose,
            "same": self.same,
            "fate": self.fate,
        }


# What came back.


def returned_items(case: ResponsesCase) -> tuple[ReturnedItem, ...]:
    """All reasoning of the request, in order. Items that the vendor kept itself are not the client's."""
    found: list[ReturnedItem] = []
    there = {id_ for each in case.items if each.kind == "reasoning" for id_ in _ids(each, case)}
    told: dict[int, int] = {}
    thoughts = case.memory.thoughts(case.account)
    for place, each in enumerate(case.items):
        if each.kind == "reasoning" and not each.kept:
            found.append(_judged(each, place, case))
        elif each.is_models and (given := case.memory.find(case.account, each.item)) is not None:
            found += _missing(each, given, there, told)
        visible = "" if each.kind == "reasoning" else _visible(each.item)
        for _ in thoughts.found_in(visible):
            found.append(ReturnedItem(path=each.path, field="text", whose="own", fate="as text"))
    return tuple(found)


def _visible(item: JsonObject) -> str:
    output = item.get("output")
    return text_of_parts(item) or (output if isinstance(output, str) else text_of_parts({"content": output}))


def _ids(each: PlacedItem, case: ResponsesCase) -> Iterator[str]:
    """The ids under which a reasoning item is known."""
    yield each.id
    opened = _opened(each, case)
    if opened is not None:
        yield opened.id
    text = thought_of(each.item) or as_str(each.item.get("encrypted_content"))
    yield f"text {text}"


def _opened(each: PlacedItem, case: ResponsesCase) -> BlobContent | None:
    blob = as_str(each.item.get("encrypted_content"))
    return case.key.open(blob) if blob else None


def thought_of(item: JsonObject) -> str:
    """The readable thought of a reasoning item, without the titles of its parts."""
    parts = [as_dict(part) for name in ("content", "summary") for part in as_list(item.get(name))]
    texts = [as_str(part.get("text")) for part in parts]
    return "\n\n".join(_untitled(text) for text in texts if text)


def _untitled(text: str) -> str:
    title, blank, rest = text.partition("\n\n")
    return rest if blank and title.startswith("**") and title.endswith("**") else text


def _judged(each: PlacedItem, place: int, case: ResponsesCase) -> ReturnedItem:
    item, text, opened = each.item, thought_of(each.item), _opened(each, case)
    blob = as_str(item.get("encrypted_content"))
    field = "encrypted_content" if blob else "content" if as_list(item.get("content")) else "summary"
    judged = ReturnedItem(path=each.path, field=field, id=each.id)
    given = case.memory.given(case.account, opened.id if opened else each.id)
    if opened is not None:
        judged = replace(judged, whose="own", maker=opened.model)
    elif given is not None and given.answer.thoughts.get(each.id) == (blob or text):
        judged = replace(judged, whose="own", maker=given.answer.model)
    elif _is_signed(item, case):
        judged = replace(judged, whose="own", maker=case.model)
    elif is_marked(case.memory.secret, text) or is_marked(case.memory.secret, blob):
        judged = replace(judged, whose="own")
    elif not text and not blob:
        judged = replace(judged, whose="placeholder")
    if given is not None and judged.whose == "own":
        judged = replace(judged, same=_is_same(item, given, case.items[place + 1 : place + 2]))
    if case.reasoning.get("context", case.traits.reads) not in ("all_turns", "auto") and place < case.turn_start:
        judged = replace(judged, fate="unread")
    return judged


def _is_signed(item: JsonObject, case: ResponsesCase) -> bool:
    return item.get("signature") == signature_of_thought(case.memory.secret, case.model, thought_of(item))


def _is_same(item: JsonObject, given: GivenItem, behind: Sequence[PlacedItem]) -> bool:
    """Whether it has the bytes that were given, and what follows is what followed then."""
    equal = all((item.get(name) or None) == (given.item.get(name) or None) for name in _COMPARED)
    following = given.answer.items[given.index + 1 : given.index + 2]
    if not equal or not following:
        return equal
    if not behind:
        return False
    wanted, there = following[0], behind[0].item
    if wanted.get("type") in CALLS:
        return wanted.get("call_id") == there.get("call_id")
    return behind[0].kind == wanted.get("type")


def _missing(each: PlacedItem, given: GivenItem, there: set[str], told: dict[int, int]) -> Iterator[ReturnedItem]:
    """The reasoning of the answer before this item that did not come back. `told` says up to where each answer was seen."""
    answer, start = given.answer, told.get(id(given.answer), 0)
    told[id(answer)] = max(start, given.index)
    for item in answer.items[start : given.index]:
        id_ = as_str(item.get("id"))
        if item.get("type") == "reasoning" and id_ not in there and f"text {answer.thoughts.get(id_)}" not in there:
            yield ReturnedItem(path=each.path, field="reasoning", id=id_, maker=answer.model, whose="own", fate="missing")


# What is refused.


def check_blobs(case: ResponsesCase) -> Iterator[RuleBreach]:
    """Encrypted content opens with the account's key, and is that of its item. Without any, the vendor has kept the item."""
    for each in case.items:
        if each.kept or each.kind not in ("reasoning", "compaction"):
            continue
        blob, path = as_str(each.item.get("encrypted_content")), f"{each.path}.encrypted_content"
        if blob:
            yield from _check_blob(case, each, blob, path)
        elif each.kind == "reasoning" and case.memory.kept_item(case.account, each.id) is None:
            yield RuleBreach("responses.blob-missing", each.path, {"id": each.id})


def _check_blob(case: ResponsesCase, each: PlacedItem, blob: str, path: str) -> Iterator[RuleBreach]:
    yield RuleBreach("responses.blob-unsupported", path)
    if not blob.startswith(PREFIX):
        yield RuleBreach("responses.blob-prefix", path)
    if case.key.shape in ("plain", "none"):
        return
    opened = case.key.open(blob)
    what = f"for item {each.id}" if each.id else shortened(blob)
    if opened is None:
        yield RuleBreach("responses.blob-invalid", path, {"what": what, "reason": _UNREADABLE})
    elif each.id and opened.id != each.id:
        yield RuleBreach("responses.blob-invalid", path, {"what": what, "reason": _OTHER_ITEM})


def check_signatures(case: ResponsesCase) -> Iterator[RuleBreach]:
    """Where thoughts are signed, a signature fits its thought and the model."""
    for each in case.items if case.traits.signs else ():
        if each.kind == "reasoning" and each.item.get("signature") and not _is_signed(each.item, case):
            yield RuleBreach("responses.signature-invalid", f"{each.path}.signature")


def check_places(case: ResponsesCase) -> Iterator[RuleBreach]:
    """What was given with its reasoning and comes back under its id has that reasoning; reasoning is followed by an item."""
    before: set[str] = set()
    for each, following in zip(case.items, (*case.items[1:], None), strict=False):  # an empty list has no next
        if each.kind == "reasoning":
            before.update(_ids(each, case))
            if following is None or not following.is_models:
                opened = _opened(each, case)
                id_ = each.id or (opened.id if opened else "")
                yield RuleBreach("responses.reasoning-alone", each.path, {"id": id_})
        elif each.is_models and each.id and (given := case.memory.given(case.account, each.id)) is not None:
            names = {"id": each.id, "type": each.kind, "reasoning": given.required}
            if given.required and given.required not in before:
                yield RuleBreach("responses.reasoning-missing", each.path, names)


def check_texts(case: ResponsesCase) -> Iterator[RuleBreach]:
    """While thinking is on, each turn with calls has its reasoning text before the first of them."""
    if case.traits.needs != "text" or not case.thinking:
        return
    has_text = False
    for each in case.items:
        if each.kind == "reasoning":
            has_text = has_text or bool(thought_of({"content": each.item.get("content")}))
        elif each.kind in CALLS and not has_text:
            yield RuleBreach("responses.text-missing", each.path)
        elif not each.is_models:
            has_text = False
