"""Streams of the Responses API as vendors send them, by chance: items of every kind, in one manner of writing."""

import json
from typing import Any, NamedTuple

from hypothesis import strategies as st

Json = dict[str, Any]
KINDS = ("reasoning", "message", "function_call", "custom_tool_call", "web_search_call")
DELTAS = {
    "reasoning": ("response.reasoning_summary_text", {"summary_index": 0}),
    "message": ("response.output_text", {"content_index": 0}),
    "function_call": ("response.function_call_arguments", {}),
    "custom_tool_call": ("response.custom_tool_call_input", {}),
}
WORDS = (
    "a",
    " the",
    "\n",
    "",
    "é",
    "世界",
    "😀",
    "\ud83d",
    "\ude00",
    'say "x"',
    "back\\slash",
    "\x7f",
    "{",
    "}",
    '"a":1',
    "<",
)


class ItemWords(NamedTuple):
    """An item, and the words in which it comes."""

    kind: str
    words: list[str]


class Spelling(NamedTuple):
    """How a vendor writes: with names of events, with spaces, letters escaped, members in this order."""

    names: bool = True
    spaces: bool = False
    escapes: bool = False
    number_first: bool = False
    padding: bool = False
    rotates: bool = False
    """Each event has another id for its item."""


ITEMS = st.lists(st.builds(ItemWords, st.sampled_from(KINDS), st.lists(st.sampled_from(WORDS), max_size=8)), max_size=4)
SPELLINGS = st.builds(Spelling, *[st.booleans()] * 6)
ENDS = st.sampled_from(("completed", "incomplete", "failed"))


def written(items: list[ItemWords], spelling: Spelling, end: str) -> list[bytes]:
    """The events of an answer."""
    told: list[Json] = [{"type": "response.created", "response": {"id": "resp_b", "output": []}}]
    whole = [_item(at, each) for at, each in enumerate(items)]
    for at, (given, item) in enumerate(zip(items, whole, strict=True)):
        place = {"output_index": at}
        told.append({"type": "response.output_item.added", **place, "item": _begun(item)})
        told += [{**event, "item_id": item["id"], **place} for event in _growing(given)]
        told.append({"type": "response.output_item.done", **place, "item": item})
    usage = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}
    more: Json = {"incomplete_details": {"reason": "max_output_tokens"}} if end == "incomplete" else {}
    more |= {"error": {"code": "server_error", "message": "Oops."}} if end == "failed" else {}
    response = {"id": "resp_b", "status": end, "output": whole, "usage": usage, **more}
    told.append({"type": f"response.{end}", "response": response})
    return [_spelled(event, number, spelling) for number, event in enumerate(told)]


def _growing(given: ItemWords) -> list[Json]:
    if given.kind not in DELTAS:
        return [{"type": f"response.{given.kind}.searching"}]
    kind, part = DELTAS[given.kind]
    return [{"type": f"{kind}.delta", **part, "delta": word} for word in given.words]


def _item(at: int, given: ItemWords) -> Json:
    text = "".join(given.words)
    match given.kind:
        case "reasoning":
            own: Json = {"summary": [{"type": "summary_text", "text": text}], "encrypted_content": f"BLOB{at}"}
        case "message":
            own = {"role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]}
        case "function_call":
            own = {"call_id": f"call_{at}", "name": "f", "arguments": text}
        case "custom_tool_call":
            own = {"call_id": f"call_{at}", "name": "exec", "input": text}
        case _:
            own = {"status": "completed", "action": {"type": "search", "query": text}}
    return {"id": f"item_{at}", "type": given.kind, **own}


def _begun(item: Json) -> Json:
    empty: Json = {"summary": [], "content": [], "arguments": "", "input": ""}
    return {name: empty.get(name, value) for name, value in item.items()}


def _spelled(event: Json, number: int, spelling: Spelling) -> bytes:
    kind, *_ = event.values()
    rest = {name: value for name, value in event.items() if name != "type"}
    rest |= {"obfuscation": "x" * (number % 5)} if spelling.padding and "delta" in event else {}
    rest |= {"item_id": f"{event['item_id']}_{number}"} if spelling.rotates and "item_id" in event else {}
    counted = {"sequence_number": number}
    value = {"type": kind, **counted, **rest} if spelling.number_first else {"type": kind, **rest, **counted}
    data = json.dumps(value, ensure_ascii=spelling.escapes, separators=None if spelling.spaces else (",", ":"))
    name = f"event: {kind}\n" if spelling.names else ""
    return f"{name}data: {data}\n\n".encode("utf-8", "surrogatepass" if spelling.escapes else "replace")
