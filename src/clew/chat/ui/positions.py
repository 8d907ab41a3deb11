"""The messages of a front end in the stored tree: which turns one of its messages is, and where its question belongs.

A turn that has only tool results continues the answer before it: to a person the whole tool loop is one message. A front end
sends its whole list of messages, and the question belongs after the last answer in it. So a message that is sent again or
edited becomes a branch, and nothing is lost. Answers are recognised by their ids; their content is taken from the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct, structs

from clew.chat.messages import blocks_in, result_block, user_message
from clew.chat.turns import StoredTurn, Tree, waiting_calls
from clew.chat.ui.requests import api_messages, user_content, with_known_role
from clew.chat.ui.tool_parts import outputs_of
from clew.errors import RequestInvalid
from clew.model.json import JsonObject

# Turns by message


class TurnGroup(Struct, frozen=True):
    """The turns of one message of the assistant, and the user's messages before them."""

    asked: tuple[JsonObject, ...]
    turns: tuple[StoredTurn, ...]

    @property
    def id(self) -> str:
        return self.turns[0].id


def groups_of(line: Iterable[StoredTurn]) -> list[TurnGroup]:
    """The turns of a line, grouped by message."""
    groups: list[list[StoredTurn]] = []
    for stored in line:
        if groups and has_only_results(stored):
            groups[-1].append(stored)
        else:
            groups.append([stored])
    return [TurnGroup(stored_turns[0].asked, tuple(stored_turns)) for stored_turns in groups]


def has_only_results(stored: StoredTurn) -> bool:
    """Does the question of this turn consist of tool results alone?"""
    asked = stored.asked
    return bool(asked) and not any(map(has_words, asked))


def has_words(message: JsonObject) -> bool:
    """Is there anything beside tool results in this message?"""
    return message.get("role") != "system" and bool(blocks_without_results(message))


def blocks_without_results(message: JsonObject) -> list[JsonObject]:
    return [block for block in blocks_in(message) if block.get("type") != "tool_result"]


# Positions


class UiPosition(Struct, frozen=True, kw_only=True):
    """The question, the turn before it ("" at the beginning), and the message that the answer continues ("": a new one)."""

    asked: tuple[bytes, ...]
    follows: str = ""
    message: str = ""


def position_of(messages: Sequence[JsonObject], tree: Tree, *, again: bool = False) -> UiPosition:
    """The position of the last message. `again`: it was there before, and is asked again or in other words.

    Raises RequestInvalid if there is nothing to answer, or the list does not fit the stored thread.
    """
    known = map(with_known_role, messages)
    said = [message for message in known if message.get("role") != "system"]
    if not said:
        raise RequestInvalid("there is no message to answer", path="messages")
    last = said[-1]
    if last.get("role") != "assistant":
        return _position_of_question(said, tree, again)
    turn = _turn_of(last, tree)  # the front end ran the tools of the last answer: the answer continues
    history = [] if turn or tree.newest else api_messages(said, mode="all")
    if history and history[-1]["role"] == "user":
        return UiPosition(asked=tuple(map(msgspec.json.encode, history)))
    results = _results_for(turn, [last], tree) if turn else []
    if not results or len(results) < len(waiting_calls(tree[turn])):
        raise RequestInvalid("the last message is an answer whose calls have no outputs: there is nothing to answer yet")
    return UiPosition(asked=(user_message(results),), follows=turn, message=str(last.get("id") or turn))


def position_of_single(message: JsonObject | None, tree: Tree, *, named: str = "", again: bool = False) -> UiPosition:
    """The position of a message that comes without the others: after the newest answer, or in place of the named turn.

    `again` without a message repeats the question of that turn. Raises RequestInvalid if there is none.
    """
    replaced = named if named in tree else named.rpartition(".")[0]  # a question's id is its turn's id and a number
    replaced = replaced if replaced in tree else ""
    groups = groups_of(tree.line(replaced or tree.newest))
    if again and groups:
        stored = groups[-1].turns[0]
        return UiPosition(asked=stored.passage.asked, follows=stored.follows)
    if message is None:
        raise RequestInvalid("there is no message to answer", path="messages")
    position = position_of([message], tree)
    return structs.replace(position, follows=tree[replaced].follows) if replaced and not position.message else position


def _position_of_question(said: Sequence[JsonObject], tree: Tree, again: bool) -> UiPosition:
    at = next((at for at in range(len(said) - 2, -1, -1) if said[at].get("role") == "assistant"), None)
    content = user_content(said[-1])
    if at is None:
        return UiPosition(asked=(_message_of(content),), follows="" if again else tree.last_answered(tree.newest))
    turn = _turn_of(said[at], tree)
    if turn:
        given = {str(block.get("tool_use_id")) for block in content}
        results = [block for block in _results_for(turn, said[at:-1], tree) if str(block["tool_use_id"]) not in given]
        return UiPosition(asked=(_message_of([*results, *content]),), follows=tree.last_answered(turn))
    if tree.newest:
        raise RequestInvalid(
            "the last answer in `messages` does not belong to this thread: read the thread again", path="messages"
        )
    return UiPosition(asked=tuple(map(msgspec.json.encode, api_messages(said, mode="all"))))


def _message_of(content: list[JsonObject]) -> bytes:
    """A user message; a single text is plain text there."""
    match content:
        case [{"type": "text", "text": str(text)}]:
            return user_message(text)
        case _:
            return user_message(content)


def _turn_of(message: JsonObject, tree: Tree) -> str:
    """The last turn of an assistant's message; "" if the message is not of this thread."""
    metadata = message.get("metadata")
    named = metadata.get("turn") if isinstance(metadata, dict) else None
    if isinstance(named, str) and named in tree:
        return named
    id = message.get("id")
    if not isinstance(id, str) or id not in tree:
        return ""
    loop = {id: True}  # the turns of this message's tool loop, in order
    for stored in tree:
        if stored.follows in loop and stored.answer is not None and has_only_results(stored):
            loop[stored.id] = True
    return next(reversed(loop))


def _results_for(turn: str, messages: Iterable[JsonObject], tree: Tree) -> list[JsonObject]:
    """The results that these messages of the front end have for the calls of this turn."""
    outputs = {id: output for message in messages for id, output in outputs_of(message).items()}
    return [result_block(call.id, outputs[call.id]) for call in waiting_calls(tree[turn]) if call.id in outputs]
