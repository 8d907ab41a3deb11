"""An answer for a client that asked for one piece, however it comes.

Some servers stream, whatever was asked for. That is read with the strictness of any stream, and only what came to its end is
folded into the message that it tells.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import structs

from clew.errors import BackendBroken
from clew.exchange.backend_dialect import Refused
from clew.exchange.commands import Compute, ReadBody
from clew.exchange.failures import shown
from clew.exchange.streamed import (
    JSON,
    MOST_BYTES,
    STREAM,
    AnswerReading,
    check_encoding,
    not_expected,
    read_stream,
    take_beginning,
)
from clew.exchange.turns import ReceivedAnswer, with_late
from clew.model.http import ResponseHead
from clew.model.json import JsonObject, count_of
from clew.pipeline.stream.answer import answer_of_message
from clew.pipeline.stream.client_view import usage_of_uncounted


class WholeAnswer(NamedTuple):
    """An answer in one piece: as it came, as the client gets it, and what it says."""

    raw: bytes
    shown: bytes
    heard: ReceivedAnswer


async def read_whole(reading: AnswerReading, head: ResponseHead, *, within: float) -> WholeAnswer | Refused:
    """`within`: how many seconds the first content may take, if it is a stream. Raises BackendError, StreamIllegal."""
    check_encoding(head, reading.backend)
    form, begun = await take_beginning(head)
    if form == STREAM and reading.call.kind == "messages":
        return await _read_streamed(reading, within, begun)
    raw = await ReadBody(MOST_BYTES, begun)
    if form != JSON:
        raise not_expected(head, raw, "JSON", reading.backend)
    found = await Compute(len(raw), lambda: _read(reading, raw))
    if found is None:
        raise BackendBroken(f"{reading.backend}: not a valid answer: {shown(raw) or 'nothing'}")
    return found


def _read(reading: AnswerReading, raw: bytes) -> WholeAnswer | Refused | None:
    """None if it is no answer at all."""
    message = reading.read_answer(raw)
    if message is None or isinstance(message, Refused):
        return message
    rules = reading.dialect.dialect.passthrough(reading.dialect.options) if reading.is_passed else None
    if not reading.view.options.is_plain or rules is None:
        return _shown(reading, raw, message)
    is_answer = reading.call.kind == "messages"
    uncounted = None if isinstance(message.get("usage"), dict) else usage_of_uncounted(message)
    shown_body = rules.pass_answer(raw, reading.context.model, uncounted) if is_answer else raw
    return WholeAnswer(raw, shown_body, ReceivedAnswer(answer=answer_of_message(message)))


def _shown(reading: AnswerReading, raw: bytes, message: JsonObject) -> WholeAnswer:
    answer, view, front = answer_of_message(message), reading.view, reading.call.front
    if reading.call.kind == "count_tokens":
        counted = front.write_count(count_of(message.get("input_tokens")))
        return WholeAnswer(raw, counted, ReceivedAnswer(answer=answer))
    seen = view.show_message(message)
    if not isinstance(seen.get("usage"), dict):
        seen["usage"] = usage_of_uncounted(message)
    held = None if view.options.is_plain else view.held(answer.blocks)
    return WholeAnswer(raw, front.write_answer(seen, reading.context), ReceivedAnswer(answer=answer, held=held))


async def _read_streamed(reading: AnswerReading, within: float, begun: bytes) -> WholeAnswer | Refused:
    """Read with a plain view: what the client gets is put on when the message is whole."""
    stream = structs.replace(reading, keep=True).stream(blocks=True, view=reading.view.plain())
    refused = await read_stream(stream, within, reading.backend, begun)
    if refused is not None:
        return refused
    answer = await Compute(stream.size, stream.answer)
    if answer.broken_calls:
        raise BackendBroken(f"{reading.backend}: {answer.broken_calls[0]}")
    whole = _shown(reading, stream.raw, answer.message)
    return whole if stream.late is None else whole._replace(heard=with_late(whole.heard, stream.late))
