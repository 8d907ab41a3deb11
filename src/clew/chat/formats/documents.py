"""Conversations that are one JSON document: a list of messages, question and answer in turn.

A file is one document, or one on each line. Nothing in it says when an answer was given or under which name, so its name is
a hash over all that came before it: the same conversation imported again, or again with more at its end, adds what is new
and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from clew.chat.formats.shape import KNOWN, UNREADABLE, Broken, Found, Numbered, Passed, Read, Reading
from clew.chat.formats.weaving import IMPORTED, Chain, Given, Woven, asked_in, id_of, title_of, weave
from clew.model.json import JsonObject
from clew.store.values import Exchange, Turn

__all__ = ["MOST_BYTES", "document_reader"]

MOST_BYTES: Final = 64 * 1024 * 1024
"""A document is read as a whole; a larger one is nobody's conversation."""


def document_reader(name: str, messages_in: Callable[[JsonObject], list[JsonObject]]) -> Read:
    """A reader of such documents; `messages_in` says the messages in Anthropic's words."""

    def read(lines: Iterable[Numbered], reading: Reading) -> Iterator[Found]:
        for number, raw in _documents(lines):
            try:
                document = msgspec.json.decode(raw, type=JsonObject)
                messages = messages_in(document)
            except UNREADABLE as error:
                yield Broken(number, str(error))
                continue
            yield from _conversation(number, name, str(document.get("model") or ""), messages, reading)

    return read


def _documents(lines: Iterable[Numbered]) -> Iterator[Numbered]:
    """Each line that is a document by itself; else all of them together are one."""
    at = iter(lines)
    first = next((line for line in at if line.raw.strip()), None)
    if first is None:
        return
    if _is_whole(first.raw):
        yield first
        yield from (line for line in at if line.raw.strip())
        return
    parts, size = [first.raw], len(first.raw)
    for line in at:
        parts.append(line.raw)
        size += len(line.raw) + 1
        if size > MOST_BYTES:
            break
    yield Numbered(first.number, b"\n".join(parts))


def _is_whole(raw: bytes) -> bool:
    try:
        msgspec.json.decode(raw, type=msgspec.Raw)
    except UNREADABLE:
        return False
    return True


def _conversation(number: int, name: str, model: str, messages: list[JsonObject], reading: Reading) -> Iterator[Found]:
    asked: list[bytes] = []
    chain: Chain | None = None
    path = id_of(name)
    for message in messages:
        raw = msgspec.json.encode(message)
        path = id_of(path, raw.decode())
        if message.get("role") != "assistant":
            asked.append(raw)
            continue
        try:
            woven = weave(_given(path, model, message, tuple(asked)), chain, reading)
        except UNREADABLE as error:
            yield Broken(number, str(error))
            return
        yield _turn(woven, tuple(asked), model, reading.at) if woven.new else Passed(KNOWN)
        asked, chain = [], woven.chain


def _given(path: str, model: str, message: JsonObject, asked: tuple[bytes, ...]) -> Given:
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": str(content or "")}]
    return Given(name=path, thread=path, model=model, asked=asked, blocks=tuple(map(msgspec.json.encode, blocks)))


def _turn(woven: Woven, asked: tuple[bytes, ...], model: str, at: float) -> Turn:
    recording = woven.recording
    exchange = Exchange(
        id=recording.id,
        principal=recording.principal,
        thread=recording.thread,
        started=at,
        ended=at,
        asked_model=model,
        backend=IMPORTED,
        model=recording.origin.model,
    )
    return Turn(exchange=exchange, recording=recording, asked=asked, title=title_of(asked_in(asked)))
