"""Placing: which turn a request in UI message form is, in the tree that the store has.

A front end sends its whole list, and the list says where it stands: after the last answer in it. So a message that is sent
again or edited is a branch, and nothing that was said is lost. The answers themselves are known by their ids; what they say
is taken from the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct, structs

from clew.chat.contents import Output, result_block, user_message
from clew.chat.tree import Tree
from clew.chat.turns import Spot, message_of
from clew.chat.ui.requests import api_messages, outputs_of, user_content
from clew.chat.ui.stored import brings_results, groups_of
from clew.errors import RequestInvalid
from clew.model.json import JsonObject

__all__ = ["Place", "place_alone", "place_of"]


class Place(Struct, frozen=True, kw_only=True):
    """What is asked, after which turn ("" for a beginning), and which message the answer goes on with ("" for a new one)."""

    asked: tuple[bytes, ...]
    follows: str = ""
    message: str = ""


def place_of(messages: Sequence[JsonObject], tree: Tree, *, again: bool = False) -> Place:
    """Where the last message belongs. `again`: it was there before, and is asked anew or in other words.

    Raises RequestInvalid where the list ends with nothing to answer, or does not fit what is kept.
    """
    said = [message for message in messages if message.get("role") != "system"]
    if not said:
        raise RequestInvalid("there is no message to answer", path="messages")
    return _goes_on(said[-1], tree) if said[-1].get("role") == "assistant" else _asks(said, tree, again)


def place_alone(message: JsonObject | None, tree: Tree, *, named: str = "", again: bool = False) -> Place:
    """Where a message belongs that comes without the others: after the newest answer, or in place of the turn that is named.

    `again` without a message asks the question of that turn once more. Raises RequestInvalid where there is none.
    """
    groups = groups_of(tree.line(_turn_named(named, tree) or tree.newest))
    if again and groups:
        spot = groups[-1].spots[0]
        return Place(asked=spot.passage.asked, follows=spot.follows)
    if message is None:
        raise RequestInvalid("there is no message to answer", path="messages")
    place = place_of([message], tree)
    replaced = _turn_named(named, tree)
    return structs.replace(place, follows=tree[replaced].follows) if replaced and not place.message else place


def _turn_named(id: str, tree: Tree) -> str:
    """The turn of a message that was read here: an answer has its id, a question its id and a number."""
    turn = id if id in tree else id.rpartition(".")[0]
    return turn if turn in tree else ""


def _goes_on(last: JsonObject, tree: Tree) -> Place:
    """The front end ran the tools: the answer goes on."""
    turn = _turn(last, tree)
    results = _results(turn, outputs_of(last), tree) if turn else []
    if not results or len(results) < len(_calls(turn, tree)):
        raise RequestInvalid("the last message is an answer whose calls have no outputs: there is nothing to answer yet")
    return Place(asked=(user_message(results),), follows=turn, message=str(last.get("id") or turn))


def _asks(said: Sequence[JsonObject], tree: Tree, again: bool) -> Place:
    before = next((message for message in reversed(said[:-1]) if message.get("role") == "assistant"), None)
    content = user_content(said[-1])
    if before is None:
        return Place(asked=(user_message(_plain(content)),), follows="" if again else _answered(tree.newest, tree))
    turn = _turn(before, tree)
    if turn:
        results = _results(turn, outputs_of(before), tree)
        return Place(asked=(user_message(_plain([*results, *content])),), follows=_answered(turn, tree))
    if tree.newest:
        raise RequestInvalid(
            "the last answer in `messages` is none of this thread's: read the thread again", path="messages"
        )
    return Place(asked=tuple(map(msgspec.json.encode, api_messages(said))))


def _plain(content: list[JsonObject]) -> str | list[JsonObject]:
    """Words alone are said as words."""
    match content:
        case [{"type": "text", "text": str(text)}]:
            return text
        case _:
            return content


def _turn(message: JsonObject, tree: Tree) -> str:
    """The last turn of an assistant's message; "" if it is none of this thread's."""
    metadata = message.get("metadata")
    named = metadata.get("turn") if isinstance(metadata, dict) else None
    if isinstance(named, str) and named in tree:
        return named
    id = message.get("id")
    return _loop_end(id, tree) if isinstance(id, str) and id in tree else ""


def _loop_end(turn: str, tree: Tree) -> str:
    """The newest turn that came of this one by nothing but results of tools."""
    loop = {turn: True}
    for spot in tree:
        if spot.follows in loop and spot.answer is not None and brings_results(spot):
            loop[spot.id] = True
    return next(reversed(loop))


def _answered(turn: str, tree: Tree) -> str:
    """The last turn up to this one that has an answer."""
    return next((spot.id for spot in reversed(tree.line(turn)) if spot.answer is not None), "")


def _calls(turn: str, tree: Tree) -> Sequence[str]:
    spot: Spot = tree[turn]
    message = message_of(spot) if spot.outcome == "whole" else None
    return [call.id for call in message.tool_calls] if message else []


def _results(turn: str, outputs: Mapping[str, Output], tree: Tree) -> list[JsonObject]:
    return [result_block(call, outputs[call]) for call in _calls(turn, tree) if call in outputs]
