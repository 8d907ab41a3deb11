"""Turns of a thread as UI messages: what was asked and what was answered, in the order in which it was said.

A turn that brings nothing but results of tools goes on with the answer before it: to a person the whole loop is one message.
That message has the id of its first turn, the user's the id of the turn and a number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct

from clew.chat.lines import held
from clew.chat.turns import Spot
from clew.chat.ui.compaction import summary_part
from clew.chat.ui.fold import Fold, folded
from clew.chat.ui.metadata import Account, began
from clew.chat.ui.parts import Part
from clew.chat.ui.step import Step
from clew.model.json import JsonObject, JsonValue
from clew.model.unfold import events_of
from clew.thinking.seal import Sealer

__all__ = ["Group", "brings_results", "groups_of", "parts_told", "result_parts", "ui_messages"]

_WHOLE_TEXT = 1 << 30


class Group(Struct, frozen=True):
    """The turns that are one message of the assistant, and what the user said before them."""

    asked: tuple[JsonObject, ...]
    spots: tuple[Spot, ...]

    @property
    def id(self) -> str:
        return self.spots[0].id


def groups_of(line: Iterable[Spot]) -> list[Group]:
    """The turns of a line, by the messages that they are."""
    groups: list[list[Spot]] = []
    for spot in line:
        if groups and brings_results(spot):
            groups[-1].append(spot)
        else:
            groups.append([spot])
    return [Group(_asked(spots[0]), tuple(spots)) for spots in groups]


def brings_results(spot: Spot) -> bool:
    """Whether nobody says anything in it, and tools alone do."""
    asked = _asked(spot)
    return bool(asked) and not any(map(_says, asked))


def _asked(spot: Spot) -> tuple[JsonObject, ...]:
    return tuple(msgspec.json.decode(raw, type=JsonObject) for raw in spot.passage.asked)


def ui_messages(line: Sequence[Spot], sealer: Sealer, account: Account) -> list[JsonObject]:
    """The line as a chat front end holds it."""
    groups = groups_of(line)
    following = [*groups[1:], None]
    return [
        message for group, after in zip(groups, following, strict=True) for message in _both(group, after, sealer, account)
    ]


def _both(group: Group, after: Group | None, sealer: Sealer, account: Account) -> Iterator[JsonObject]:
    yield from _said_before(group)
    if any(each.answer for each in group.spots):
        late = result_parts(after.asked) if after else iter(())
        yield folded([*parts_told(group, sealer), *late, {"type": "finish", "messageMetadata": account(group.spots)}])


def _said_before(group: Group) -> Iterator[JsonObject]:
    """What the user said; and what a front end brought along that began elsewhere, answers too."""
    spot, brought = group.spots[0], Fold()
    metadata: JsonObject = {"turn": spot.id, "at": began(spot), "outcome": spot.outcome}
    for number, asked in enumerate(group.asked):
        id = f"{spot.id}.{number}"
        if asked.get("role") == "assistant":
            brought.feed({"type": "start", "messageId": id})
            brought.feed_all(_step_parts(id, _blocks(asked)))
            continue
        brought.feed_all(part for part in result_parts([asked]) if brought.knows(part))
        if _says(asked):
            yield from brought.whole()
            brought = Fold()
            parts: list[JsonValue] = [*map(_ui_part, _said(asked))]
            yield {"id": id, "role": "user", "metadata": metadata, "parts": parts}


def parts_told(group: Group, sealer: Sealer) -> Iterator[Part]:
    """The parts of an answer that is kept, up to where it could go on."""
    yield {"type": "start", "messageId": group.id}
    for number, spot in enumerate(group.spots):
        if number:
            yield from result_parts(_asked(spot))
        if spot.answer is not None:
            yield from _step_parts(spot.id, held(spot.answer, sealer))


def _step_parts(name: str, blocks: Iterable[JsonObject]) -> Iterator[Part]:
    yield {"type": "start-step"}
    step = Step(name)
    for event in events_of({"type": "message", "content": [*blocks]}, chunk=_WHOLE_TEXT):
        yield from step.feed(event)
    yield {"type": "finish-step"}


def result_parts(asked: Iterable[JsonObject]) -> Iterator[Part]:
    """What the tools gave, as it was said."""
    for block in (block for message in asked for block in _blocks(message) if block.get("type") == "tool_result"):
        call = block.get("tool_use_id")
        if block.get("is_error"):
            yield {"type": "tool-output-error", "toolCallId": call, "errorText": _words(block.get("content"))}
        else:
            yield {"type": "tool-output-available", "toolCallId": call, "output": _output(block.get("content"))}


def _output(content: JsonValue) -> JsonValue:
    """Values were written down as JSON, words as they are. What cannot be written again (half a character) is words."""
    if not isinstance(content, str) or not content.startswith(("{", "[")):
        return content
    try:
        return msgspec.json.decode(content)
    except (ValueError, RecursionError):
        return content


def _words(content: JsonValue) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _says(message: JsonObject) -> bool:
    """Whether somebody says something here, beside what tools gave."""
    return message.get("role") != "system" and bool(_said(message))


def _said(message: JsonObject) -> list[JsonObject]:
    return [block for block in _blocks(message) if block.get("type") != "tool_result"]


def _blocks(message: JsonObject) -> list[JsonObject]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _ui_part(block: JsonObject) -> JsonObject:
    """What a user said. A picture or a document is shown from where it is."""
    match block:
        case {"type": "text", "text": str(text)}:
            return summary_part(block) or {"type": "text", "text": text}
        case {"type": "image" | "document", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            return {"type": "file", "mediaType": kind, "url": f"data:{kind};base64,{data}"}
        case {"type": "image" | "document", "source": {"type": "url", "url": str(url)}}:
            return {"type": "file", "mediaType": "image/*" if block["type"] == "image" else "application/pdf", "url": url}
        case _:
            return {"type": "data-block", "data": block}
