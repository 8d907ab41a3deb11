"""Tree: the turns of one thread, each after the one that it followed.

A conversation is a line in it, from a beginning to a tip; to go on from an earlier turn makes another line, and none is ever
lost. A question that came to nothing and was asked again is one turn, of several attempts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from clew.chat.turns import Spot, is_summary

__all__ = ["Tree"]


class Tree:
    """Spots by their ids, in the order of time."""

    def __init__(self, spots: Iterable[Spot] = ()) -> None:
        self._spots: dict[str, Spot] = {}
        for spot in spots:
            self.put(spot)

    def __contains__(self, id: str) -> bool:
        return id in self._spots

    def __getitem__(self, id: str) -> Spot:
        return self._spots[id]

    def __iter__(self) -> Iterator[Spot]:
        return iter(self._spots.values())

    def __len__(self) -> int:
        return len(self._spots)

    @property
    def is_open(self) -> bool:
        """Is a turn of it under way, as far as is known here?"""
        return any(spot.outcome == "open" for spot in self._spots.values())

    def get(self, id: str) -> Spot | None:
        return self._spots.get(id)

    def put(self, spot: Spot) -> None:
        """A new one, or the same as it is now. One that nobody noted the place of is in no line."""
        if spot.passage.recording is not None:
            self._spots[spot.id] = spot

    @property
    def newest(self) -> str:
        """The last turn in which somebody spoke, and did not only ask for a summary; "" if there is none."""
        said = (id for id, spot in reversed(self._spots.items()) if not is_summary(spot))
        return next(said, "") or next(reversed(self._spots), "")

    def line(self, tip: str) -> list[Spot]:
        """From its beginning to this turn."""
        line: list[Spot] = []
        seen: set[str] = set()
        while tip in self._spots and tip not in seen:
            seen.add(tip)
            line.append(self._spots[tip])
            tip = line[-1].follows
        return line[::-1]

    def followers(self, id: str) -> int:
        """How many turns go on from this one."""
        return sum(spot.passage.recording is not None and spot.passage.recording.followed == id for spot in self)

    def onward(self, tip: str) -> str:
        """The newest turn that goes on from this one; itself, if none does."""
        reached = {tip}
        for spot in self._spots.values():  # none is older than the one that it follows
            if spot.follows in reached:
                reached.add(spot.id)
        found = (id for id in reversed(self._spots) if id in reached and not is_summary(self._spots[id]))
        return next(found, tip)

    def tips(self) -> list[str]:
        """The last turn of each line, oldest first."""
        followed = {spot.follows for spot in self._spots.values()}
        newest = {_question(spot): spot.id for spot in self._spots.values()}
        return [
            spot.id
            for spot in self._spots.values()
            if spot.id not in followed and (spot.answer is not None or newest[_question(spot)] == spot.id)
        ]

    def attempts(self) -> dict[str, int]:
        """How many times each was asked up to then: those before that came to nothing, and itself."""
        vain: Counter[tuple[str, tuple[bytes, ...]]] = Counter()
        attempts: dict[str, int] = {}
        for spot in self._spots.values():
            question = _question(spot)
            attempts[spot.id] = 1 + vain[question]
            vain[question] += spot.answer is None
        return attempts


def _question(spot: Spot) -> tuple[str, tuple[bytes, ...]]:
    """What was asked, and where."""
    return spot.follows, spot.passage.asked
