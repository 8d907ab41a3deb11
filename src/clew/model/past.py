"""Past: the part of a history that was read before, and what is known of it.

A client sends its whole history with every request, and most of it was sent before. The messages of that part are then the
very objects of the earlier reading, so any function of them alone needs to be computed once. A `Fold` is such a function
that can be continued: its value over the first messages, and then over the next. `folded` goes over all messages of a plain
history, and over the new ones of a `Retold` one, once; the result is the same, and only work is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from clew.model.request import RequestMessage

S = TypeVar("S")

_UNSETTLED: Final = 4
"""Messages at the end of a history that the next request may bring in another form: clients move their cache marks along."""


class Fold(Generic[S]):
    """`over(state, messages, at)` is the value after these messages, the first of which has the index `at`.

    A state is never altered, since another history may go on from it too.
    """

    __slots__ = ("begin", "over")

    def __init__(self, begin: S, over: Callable[[S, Sequence[RequestMessage], int], S]) -> None:
        self.begin = begin
        self.over = over


class Past:
    """The first `count` messages, and the values of folds: over the first `kept` messages or fewer, and over all of them."""

    __slots__ = ("_states", "_whole", "count", "kept")

    def __init__(self, count: int, before: Past | None = None, *, kept: int | None = None) -> None:
        """`before` is the past of an earlier request; its values hold here if they cover no more messages. Values over the
        first `kept` messages are kept for the next request: by default over those that were there before."""
        self.count = count
        self.kept = count if kept is None else kept
        known = before is not None and before.kept <= count
        self._states: dict[Fold[Any], tuple[int, Any]] = dict(before._states) if before and known else {}
        self._whole: dict[Fold[Any], Any] = {}

    def value(self, fold: Fold[S], messages: Sequence[RequestMessage]) -> S:
        """The fold's value over all of these messages."""
        if fold not in self._whole:
            done, state = self._states.get(fold, (0, fold.begin))
            if done < self.kept:
                state = fold.over(state, messages[done : self.kept], done)
                self._states[fold] = self.kept, state
            self._whole[fold] = fold.over(state, messages[self.kept :], self.kept)
        return self._whole[fold]


class Retold(tuple[RequestMessage, ...]):
    """The messages of a request, with what is known of them. A step that alters one makes a plain tuple."""

    past: Past


def retold(messages: Sequence[RequestMessage], count: int, before: Past | None = None) -> Retold:
    """Messages of which the first `count` are the very same objects as before."""
    made = Retold(messages)
    made.past = Past(count, before)
    return made


def told_first(messages: Sequence[RequestMessage]) -> Retold:
    """Messages that were never there before."""
    made = Retold(messages)
    made.past = Past(0, kept=max(0, len(messages) - _UNSETTLED))
    return made


def folded(messages: Sequence[RequestMessage], fold: Fold[S]) -> S:
    """The fold's value over all messages."""
    if not isinstance(messages, Retold):
        return fold.over(fold.begin, messages, 0)
    return messages.past.value(fold, messages)


def all_of(holds: Callable[[Sequence[RequestMessage]], bool]) -> Fold[bool]:
    """Whether something holds for every message by itself; `holds` gets several messages at a time."""
    return Fold(True, lambda held, messages, at: held and holds(messages))


def each_of(found: Callable[[Sequence[RequestMessage]], Sequence[S]]) -> Fold[tuple[S, ...]]:
    """The things found in each message by itself, in order; `found` gets several messages at a time."""
    return Fold((), lambda before, messages, at: (*before, *found(messages)))
