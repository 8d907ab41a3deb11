"""From the built-in model's answer to the chat message: each piece by its kind, in the vendor's form."""

from __future__ import annotations

from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator.answer import Answer, Piece
from clew.simulator.chat.case import ChatCase
from clew.simulator.chat.forms import FORMS, Thought
from clew.simulator.chat.said import Said
from clew.simulator.chat.sealing import seal
from clew.simulator.chat.vendors import decoded
from clew.simulator.values import as_str

__all__ = ["field_of", "message_of", "written"]


_PLACES: Final = {"details": "reasoning_details", "chunks": "content", "tags": "content"}
"""In which field of a message the forms write that are not themselves one."""


def written(answer: Answer, case: ChatCase, salt: str) -> Said:
    """What the vendor says. `salt` is the answer's own: it goes into seals."""
    said = Said()
    for item in answer.items:
        if isinstance(item, Piece):
            _write(said, item, case, salt)
        else:
            said.steps.append(item)
    if said.text and not said.calls and case.thinking:
        _sign_words(said, case, salt)
    return said


def message_of(said: Said, case: ChatCase) -> JsonObject:
    """The whole message."""
    message: JsonObject = {"role": "assistant", "content": _content(said, case)}
    if case.thinking:
        message |= _reasoning(said, case)
    if said.calls:
        message["tool_calls"] = said.calls
    return message | said.signed


def field_of(said: Said, case: ChatCase) -> str:
    """Where the client finds what it has to send back; "" if there is nothing."""
    if case.traits.signs and (said.calls or said.signed):
        return "extra_content"
    place = case.traits.back or _PLACES.get(case.form, case.form)
    there = said.details if case.form == "details" else said.reasoning
    return place if there and place in case.traits.takes else ""


def _content(said: Said, case: ChatCase) -> JsonValue:
    if said.chunks and case.form == "chunks":
        return [*said.chunks]
    return said.content or (None if said.calls else "")


def _reasoning(said: Said, case: ChatCase) -> JsonObject:
    flat: JsonObject = dict.fromkeys(case.traits.mirrors, said.reasoning)
    match case.form:
        case "reasoning_content" | "reasoning":
            return {case.form: said.reasoning, **flat}
        case "details":
            return {**flat, "reasoning_details": said.details}
        case "tags":
            return flat if said.reasoning else {}
        case "chunks" | "hidden":
            return {}


def _write(said: Said, piece: Piece, case: ChatCase, salt: str) -> None:
    match piece.block.get("type"):
        case "thinking" | "redacted_thinking":
            _think(said, piece, case, salt)
        case "text":
            _say(said, piece, case)
        case "tool_use":
            _call(said, piece, case, salt)
        case _:
            pass  # blocks of the other dialect have no place here


def _think(said: Said, piece: Piece, case: ChatCase, salt: str) -> None:
    parts = [as_str(delta.get("thinking")) for delta in piece.deltas if delta.get("type") == "thinking_delta"]
    redacted = piece.block.get("type") == "redacted_thinking"
    thought = Thought(
        text=as_str(piece.block.get("thinking" if not redacted else "data")),
        pieces=[part for part in parts if part],
        redacted=redacted,
        traits=case.traits,
        model=case.model,
        secret=case.books.secret,
        salt=salt,
    )
    FORMS[case.form](said, thought)


def _say(said: Said, piece: Piece, case: ChatCase) -> None:
    text = as_str(piece.block.get("text"))
    said.text += text
    said.content += text
    in_list = case.form == "chunks" and bool(said.chunks)
    if in_list:
        said.chunks.append({"type": "text", "text": text})
    for delta in piece.deltas:
        part = delta.get("text")
        said.add("content", {"content": [{"type": "text", "text": part}] if in_list else part})


def _call(said: Said, piece: Piece, case: ChatCase, salt: str) -> None:
    parts = [as_str(delta.get("partial_json")) for delta in piece.deltas]
    arguments = "".join(parts) or "{}"
    head: JsonObject = {"id": piece.block["id"], "type": "function"}
    signed = _signature(said, case, salt)
    name, number = piece.block["name"], len(said.calls)
    said.calls.append({**head, "function": {"name": name, "arguments": arguments}, **signed})
    ways = case.vendor.chunks
    index: JsonObject = {"index": number} if ways.indices else {}
    whole = ways.calls == "whole" and case.body.get(ways.pieces_if) is not True
    function: JsonObject = {"name": name, "arguments": arguments if whole else ""}
    said.add("tool_calls", {"tool_calls": [{**index, **head, "function": function, **signed}]})
    for part in [] if whole else [part for part in parts if part] or ["{}"]:
        said.add("tool_calls", {"tool_calls": [{**index, **decoded(ways.again), "function": {"arguments": part}}]})
    if case.form == "details" and case.traits.makes == "gemini" and not number:
        _sealed_call(said, case, salt, as_str(piece.block["id"]))


def _signature(said: Said, case: ChatCase, salt: str) -> JsonObject:
    """A thought signature, on the first call of a step (gemini's way on this wire)."""
    if not case.traits.signs or said.calls:
        return {}
    data = seal(case.books.secret, msgspec.json.encode(said.text).decode(), salt=salt)
    return {"extra_content": {"google": {"thought_signature": data}}}


def _sign_words(said: Said, case: ChatCase, salt: str) -> None:
    """An answer that calls nothing is signed as a whole; a stream says so at its end, beside an empty text."""
    said.signed = _signature(said, case, salt)
    if said.signed:
        said.add("content", {"content": "", **said.signed})


def _sealed_call(said: Said, case: ChatCase, salt: str, identity: str) -> None:
    """The same through an aggregator: an entry whose id is the call's."""
    entry: JsonObject = {
        "type": "reasoning.encrypted",
        "data": seal(case.books.secret, identity, salt=salt),
        "id": identity,
        "format": "google-gemini-v1",
        "index": 0,
    }
    said.details.append(entry)
    said.add("reasoning", {"reasoning_details": [dict(entry)]})
