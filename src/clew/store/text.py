"""What a store holds as text for people, in the words that commands, logs and pages share.

An answer that is not whole was either *stopped*, by the client that asked for it or by a gateway that ended, or *cut off*:
its backend broke off. The last try tells which: it gives a reason only where the backend is at fault.

The reasons of an exchange's changes are grouped: a history with forty blocks of one maker has one reason forty times. The
parameters that a dialect has no field for are the same in every request, and are one line. No text here contains characters
that a terminal would obey.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from clew.model.blocks import Block, made
from clew.model.change import THINKING_STEPS, Change, count_of, tally
from clew.model.json import JsonObject
from clew.model.turn import Exchange
from clew.thinking.keys import question_content

STOPPED: Final = "stopped"
CUT_OFF: Final = "cut off"

_DIALECT_STEPS: Final = frozenset({"openai_chat", "openai_responses"})
"""Steps that write a request in another dialect."""
_NO_FIELD: Final = ("has no field for it", "a header of Anthropic's")
"""In reasons that are the same for many parameters: their names stand in one line."""
_MOST_PATHS: Final = 3
_USUAL: Final = frozenset({"anthropic", "events"})
"""What most clients speak, and clew's own chats: the line does not name it."""
_PURPOSES: Final = {"title": "  for a title", "count_tokens": "  token count only"}
"""Of requests that are no turn of a conversation."""


def ending_word(exchange: Exchange) -> str:
    """The outcome; for `cut`, which of its two causes it was."""
    return unfinished_word(exchange) if exchange.outcome == "cut" else exchange.outcome


def unfinished_word(exchange: Exchange | None) -> str:
    """How an answer ended that is not whole; the exchange is None where it is no longer kept."""
    is_stopped = exchange is not None and exchange.outcome == "cut" and not failure_of(exchange)
    return STOPPED if is_stopped else CUT_OFF


def failure_of(exchange: Exchange) -> str:
    """Why the backend did not give a whole answer; "" if the backend is not at fault, or the reason is not known."""
    return exchange.tries[-1].why if exchange.tries and exchange.outcome != "whole" else ""


def exchange_line(exchange: Exchange) -> str:
    """When, in which thread, which model was asked for and which answered, how it ended, how long it took; the client's
    program, and its API unless that is the Messages API."""
    ending = ending_word(exchange)
    if exchange.outcome == "whole":
        ending = exchange.stop_reason or "whole"
    elif exchange.status >= 400:
        ending += f" ({exchange.status})"
    took = exchange.ended - exchange.started
    times = f"{took:.2f} s" if took < 1 else f"{took:.1f} s"  # two digits: a short answer must not end before its first byte
    if exchange.first_byte is not None:
        times += f", first byte {exchange.first_byte:.2f} s"
    route = f"{exchange.asked_model} → {exchange.backend or 'no backend'} {exchange.model}"
    agent = (f"  agent {exchange.agent}" if exchange.agent else "") + _PURPOSES.get(exchange.kind, "")
    named = (exchange.client, "" if exchange.dialect in _USUAL else exchange.client_api)
    client = f"  client: {', '.join(filter(None, named))}" if any(named) else ""
    return _printable(f"{format_time(exchange.started)}  {exchange.thread[:11]}  {route}  {ending}  {times}{agent}{client}")


def exchange_details(exchange: Exchange) -> list[str]:
    """The lines below it: what became of the thinking and why, the tokens, the tries."""
    forgotten = (
        ["its conversation was deleted meanwhile, so none of its text is kept"] if exchange.kind == "forgotten" else []
    )
    return [_printable(text) for text in (*forgotten, *_thinking(exchange), *_tokens_and_tries(exchange))]


def thinking_counts(exchange: Exchange) -> dict[str, int]:
    """How many blocks were kept, restored, left out, handed over, healed."""
    counts = tally(change for change in exchange.changes if change.step in THINKING_STEPS)
    altered = {what: counts.get(what, 0) for what in ("restored", "left out", "handed over", "healed")}
    return {"kept": exchange.kept, **altered}


def format_time(seconds: float) -> str:
    """The local time; with the date, unless that is today."""
    moment, today = time.localtime(seconds), time.localtime()
    return time.strftime("%H:%M:%S" if moment[:3] == today[:3] else "%Y-%m-%d %H:%M:%S", moment)


def format_size(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count / 1000:.0f} kB"


def texts_asked(asked: Iterable[bytes]) -> tuple[str, ...]:
    """What a person said in these messages of a client, without reminders and tool results."""
    contents: list[tuple[Block, ...] | str | None] = []
    for message in (msgspec.json.decode(raw, type=JsonObject) for raw in asked):
        content = message.get("content") if message.get("role") == "user" else None
        if isinstance(content, list):
            contents.append(tuple(made(msgspec.json.encode(block)) for block in content if isinstance(block, dict)))
        elif isinstance(content, str):
            contents.append(content)
    return question_content(contents).texts


def _thinking(exchange: Exchange) -> Iterator[str]:
    counts = {name: count for name, count in thinking_counts(exchange).items() if count}
    if counts:
        yield "thinking: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    reasons: dict[tuple[str, str], list[Change]] = {}
    unsaid: list[str] = []
    for change in exchange.changes:
        is_parameter = change.step in _DIALECT_STEPS and not change.path.startswith("messages.")
        if is_parameter and change.what == "left out" and any(reason in change.why for reason in _NO_FIELD):
            unsaid.append(change.path)
        else:
            reasons.setdefault((change.what, change.why), []).append(change)
    for (what, why), changes in reasons.items():
        shown = [change.path for change in changes[:_MOST_PATHS]]
        left = count_of(changes) - len(shown)
        yield f"{what} {', '.join(shown)}{f' and {left} more' if left else ''}: {why}"
    if unsaid:
        yield f"not sent, the backend's API has no field for: {', '.join(unsaid)}"


def _tokens_and_tries(exchange: Exchange) -> Iterator[str]:
    if usage := exchange.usage:
        about = "about " if usage.estimated else ""
        cache = f"; cache {usage.cache_read:,} read, {usage.cache_written:,} written"
        yield f"tokens: {about}{usage.input:,} in, {usage.output:,} out{cache}"
    if len(exchange.tries) > 1 or any(each.why for each in exchange.tries):
        tries = [
            f"{each.backend} {each.status or 'no answer'} after {each.seconds:.1f} s"
            + (f" ({each.why})" if each.why else "")
            for each in exchange.tries
        ]
        yield "tries: " + "; ".join(tries)
    if exchange.request_id and exchange.outcome != "whole":
        yield f"the backend's request id: {exchange.request_id}"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
