"""Past: the part of a history that was read before, and what is known of it.

A client sends its whole history with every request, and most of it was sent before. The messages of that part are then the
very objects of the earlier reading, so any function of them alone needs to be computed once. A `Fold` is such a function
that can be continued: its value over the first messages, and then over the next. `folded` goes over all messages of a plain
history, and over the new ones of a `Retold` one, once; the result is the same, and only work is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeAlias, TypeVar

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


class Memo(Generic[S]):
    """The name of a value that a request leaves for the next ones of its history, or of a fork. The request that takes it
    checks whether it holds there."""


_State: TypeAlias = tuple[int, Any]
"""How many messages a value is over, and the value."""


class Past:
    """The first `count` messages, and the values of folds: over the first `kept` messages or fewer, over all but the last,
    and over all of them.

    The next request nearly always has the last message in another form, because clients move their cache marks along, and
    all others as they were: then no message but the last is looked at twice.
    """

    __slots__ = ("count", "kept", "newer", "states", "whole")

    def __init__(self, count: int, before: Past | None = None, *, kept: int | None = None) -> None:
        """`before` is the past of an earlier request; its values hold here if they cover no more messages. Values over the
        first `kept` messages are kept for the next request: by default over those that were there before."""
        self.count = count
        self.kept = count if kept is None else kept
        self.states = before._up_to(count) if before else {}
        """Over the first `kept` messages or fewer,"""
        self.newer: dict[object, _State] = {}
        """over all but the last,"""
        self.whole: dict[Fold[Any], Any] = {}
        """and over all of them."""

    def left(self, memo: Memo[S]) -> S | None:
        """What an earlier request left here."""
        return self.states.get(memo, (0, None))[1]

    def leave(self, memo: Memo[S], value: S) -> None:
        """Have the next requests of this history find it."""
        self.states[memo] = 0, value

    def _up_to(self, count: int) -> dict[object, _State]:
        """The values that cover no more than the first `count` messages, of each fold the one that covers the most."""
        if self.kept <= count:
            found = dict(self.states)
        else:
            found = {name: known for name, known in self.states.items() if known[0] <= count}
        covered = next(iter(self.newer.values()), (0, None))[0]  # the same for all: they are over one list of messages
        return found | self.newer if covered <= count else found


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
    over = fold.over
    if not isinstance(messages, Retold):
        return over(fold.begin, messages, 0)
    past = messages.past
    if fold in past.whole:
        return past.whole[fold]
    known: tuple[int, S] = past.states.get(fold) or (0, fold.begin)
    done, state = known
    if done < past.kept:
        state = over(state, messages[done : past.kept], done)
        past.states[fold] = past.kept, state
    done, last = past.kept, len(messages) - 1
    if done < last:
        state = over(state, messages[done:last], done)
        past.newer[fold] = last, state
        done = last
    past.whole[fold] = state = over(state, messages[done:], done)
    return state
