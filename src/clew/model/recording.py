"""Recordings: answers as their makers said them, with what is needed to find them and to send them back.

The three questions of identity are kept apart: *which recording is this* (the keys below), *may it go there* (origin), and
*what must go with it* (strand). A recording is a value; the store decides where it is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from clew.model.origin import Origin


class AnswerContent(Struct, frozen=True):
    """The visible content of an answer: its tool_use ids and its trimmed, non-empty texts, in order."""

    ids: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


class Strand(Struct, frozen=True):
    """The thinking blocks that went to the maker ahead of an answer, in order, by block key.

    Nearly always "as for answer X, and X's own": then it is a link (`after`), and costs nothing. A `listed` strand is
    written out when something had to stay out or was never recorded. The answer's own blocks are in neither.

    A link may come with a list: the *remarks*, the part of the row that the next request has to know (marks of repairs, and
    thoughts that went without what only their maker reads). They are in the row of X, too; repeated here, they are found
    without following a link, and stay where X is lost.
    """

    after: str | None = None
    listed: tuple[bytes, ...] | None = None


class Recording(Struct, frozen=True, kw_only=True):
    """One recorded answer. `blocks` are the maker's own bytes, in the order in which they were generated.

    >>> recording = Recording(
    ...     id="1a",
    ...     principal="local",
    ...     origin=Origin("anthropic", "claude", "claude-opus-5-5"),
    ...     blocks=(b'{"type":"text","text":"Hi."}',),
    ...     keys=(),
    ...     said=AnswerContent(texts=("Hi.",)),
    ...     place=b"",
    ...     strand=Strand(),
    ... )
    >>> recording.whole
    True
    """

    id: str
    principal: str
    origin: Origin
    blocks: tuple[bytes, ...]
    keys: tuple[bytes, ...]
    """The block key of each thinking block, as the client holds it (sealed where it is sealed), in order."""
    said: AnswerContent
    place: bytes
    strand: Strand
    digest: bytes = b""
    """One hash over the strand and this answer's own blocks: equal hashes mean the same row. In realm `anthropic` it is over
    proofs, and a second hash over the texts follows, so that a client's copy is seen to be whole and unchanged
    (`keys.ProofRow`); elsewhere, where a client has blocks under seals, it is over the keys of the blocks that the maker
    gets."""
    followed: str | None = None
    session: str = ""
    agent: str = ""
    thread: str = ""
    whole: bool = True


class Recordings(Protocol):
    """Where recordings are found, within one principal."""

    def by_id(self, id: str) -> Recording | None: ...
    def by_key(self, key: bytes) -> Recording | None: ...
    def by_tool(self, id: str) -> Sequence[Recording]: ...
    def by_place(self, place: bytes) -> Sequence[Recording]: ...


class Shelf:
    """Recordings as plain values: those that were collected for a projection, and all that tests need. It finds only what
    was put in. If two have the same key, it finds the one that was added last.

    >>> Shelf().by_id("1a") is None
    True
    """

    def __init__(self, recordings: Iterable[Recording] = ()) -> None:
        self._ids = {recording.id: recording for recording in recordings}
        self._keys: dict[bytes, Recording] | None = None
        self._tools: dict[str, tuple[Recording, ...]] | None = None
        self._places: dict[bytes, list[Recording]] | None = None

    def add(self, recording: Recording) -> None:
        """Put it there; one of the same id is replaced."""
        is_new = self._ids.pop(recording.id, None) is None
        self._ids[recording.id] = recording
        if self._keys is not None and is_new:
            self._keys.update(dict.fromkeys(recording.keys, recording))
        else:
            self._keys = None
        self._tools = self._places = None  # each is made when it is asked for: most requests need one

    def extended(self, recordings: Sequence[Recording]) -> Shelf:
        """A shelf that has these, too. This one stays as it is, and what was worked out for it is not worked out again."""
        longer = Shelf()
        longer._ids = self._ids | {recording.id: recording for recording in recordings}
        if len(longer._ids) < len(self._ids) + len(recordings):  # one of them takes the place of another
            return Shelf([*self._ids.values(), *recordings])
        if self._keys is not None:
            longer._keys = self._keys | _by_key(recordings)
        if self._tools is not None:
            longer._tools = _by_tool(recordings, self._tools)
        return longer

    @property
    def all(self) -> Sequence[Recording]:
        """Every one, in the order in which they were put there."""
        return tuple(self._ids.values())

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be found in it."""
        return not self._ids

    def by_id(self, id: str) -> Recording | None:
        """The one of this id."""
        return self._ids.get(id)

    def by_key(self, key: bytes) -> Recording | None:
        """The one that has a thinking block of this key."""
        if self._keys is None:
            self._keys = _by_key(self._ids.values())
        return self._keys.get(key)

    def by_tool(self, id: str) -> Sequence[Recording]:
        """All that made a call of this id."""
        if self._tools is None:
            self._tools = _by_tool(self._ids.values(), {})
        return self._tools.get(id, ())

    def by_place(self, place: bytes) -> Sequence[Recording]:
        """All that were said at this place."""
        if self._places is None:
            places: dict[bytes, list[Recording]] = {}
            for recording in self._ids.values():
                places.setdefault(recording.place, []).append(recording)
            self._places = places  # only now: another thread may ask
        return self._places.get(place, ())


def _by_key(recordings: Iterable[Recording]) -> dict[bytes, Recording]:
    return {key: recording for recording in recordings for key in recording.keys}


def _by_tool(recordings: Iterable[Recording], before: dict[str, tuple[Recording, ...]]) -> dict[str, tuple[Recording, ...]]:
    """By the ids of their calls, after those that were found so `before`."""
    tools = dict(before)
    for recording in recordings:
        for tool in dict.fromkeys(recording.said.ids):
            tools[tool] = (*tools.get(tool, ()), recording)
    return tools
