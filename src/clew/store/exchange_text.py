"""One exchange as text for people: what was asked and who answered, what became of the thinking and why, what it cost.

Reasons are grouped: a history with forty blocks of one maker has one reason forty times. What a dialect has no field for is
the same in every request, and one line. Nothing in it is what a terminal would obey.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from clew.model.change import THINKING_STEPS, Change, count_of, tally
from clew.store.endings import ending_word
from clew.store.values import Exchange, Try, Usage

__all__ = ["at_time", "details_of", "head_of", "thinking_of"]

_DIALECTS = frozenset({"openai_chat"})
"""Steps that write a request in another dialect."""
_MOST_PATHS = 3
_PURPOSES = {"title": "  for a title", "count_tokens": "  tokens counted"}
"""Of requests that are no turn of a conversation."""


def head_of(exchange: Exchange) -> str:
    """When, in which thread, who was asked and who answered, how it ended, how long it took."""
    route = f"{exchange.asked_model} → {exchange.backend or 'no backend'} {exchange.model}"
    whose = (f"  agent {exchange.agent}" if exchange.agent else "") + _PURPOSES.get(exchange.kind, "")
    return _printable(
        f"{at_time(exchange.started)}  {exchange.thread[:11]}  {route}  {_ending(exchange)}  {_times(exchange)}{whose}"
    )


def details_of(exchange: Exchange) -> list[str]:
    """What there is to say below it."""
    forgotten = ["its conversation was deleted meanwhile: no word of it is kept"] if exchange.kind == "forgotten" else []
    return [_printable(text) for text in (*forgotten, *_thinking(exchange), *_tokens(exchange.usage), *_tries(exchange))]


def at_time(seconds: float) -> str:
    """The local time; with the day, unless that is today."""
    moment, today = time.localtime(seconds), time.localtime()
    return time.strftime("%H:%M:%S" if moment[:3] == today[:3] else "%Y-%m-%d %H:%M:%S", moment)


def thinking_of(exchange: Exchange) -> dict[str, int]:
    """How many blocks were kept, restored, left out, handed over, healed."""
    counts = tally(change for change in exchange.changes if change.step in THINKING_STEPS)
    altered = {what: counts.get(what, 0) for what in ("restored", "left out", "handed over", "healed")}
    return {"kept": exchange.kept, **altered}


def _ending(exchange: Exchange) -> str:
    if exchange.outcome == "whole":
        return exchange.stop_reason or "whole"
    word = ending_word(exchange)
    return f"{word} ({exchange.status})" if exchange.status >= 400 else word


def _times(exchange: Exchange) -> str:
    took = exchange.ended - exchange.started
    total = f"{took:.2f} s" if took < 1 else f"{took:.1f} s"  # a short answer did not end before its first byte
    return total if exchange.first_byte is None else f"{total}, first byte {exchange.first_byte:.2f} s"


def _thinking(exchange: Exchange) -> Iterator[str]:
    counts = {name: count for name, count in thinking_of(exchange).items() if count}
    if counts:
        yield "thinking: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    yield from _reasons(change for change in exchange.changes if not _is_wordless(change))
    if wordless := [change.path for change in exchange.changes if _is_wordless(change)]:
        yield f"not said in the backend's dialect: {', '.join(wordless)}"


def _is_wordless(change: Change) -> bool:
    """A parameter that is left out for want of words. What is said in the conversation is never among these."""
    return change.step in _DIALECTS and change.what == "left out" and not change.path.startswith("messages.")


def _reasons(changes: Iterable[Change]) -> Iterator[str]:
    alike: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        alike.setdefault((change.what, change.why), []).append(change)
    for (what, why), some in alike.items():
        shown = [change.path for change in some[:_MOST_PATHS]]
        left = count_of(some) - len(shown)
        yield f"{what} {', '.join(shown)}{f' and {left} more' if left else ''}: {why}"


def _tokens(usage: Usage | None) -> Iterator[str]:
    if usage:
        about = "about " if usage.estimated else ""
        cache = f"; cache {usage.cache_read:,} read, {usage.cache_written:,} written"
        yield f"tokens: {about}{usage.input:,} in, {usage.output:,} out{cache}"


def _tries(exchange: Exchange) -> Iterator[str]:
    if len(exchange.tries) > 1 or any(each.why for each in exchange.tries):
        yield "tries: " + "; ".join(map(_try, exchange.tries))
    if exchange.request_id and exchange.outcome != "whole":
        yield f"the backend calls it {exchange.request_id}"


def _try(each: Try) -> str:
    answered = str(each.status) if each.status else "no answer"
    return f"{each.backend} {answered} after {each.seconds:.1f} s" + (f" ({each.why})" if each.why else "")


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
