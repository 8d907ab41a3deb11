"""Thoughts that come inside the content, between tags, and may be cut anywhere.

`Tags` gets the content as it comes and gives it back as pieces, each a thought or a text. Only what could still become a
tag is held back. In the usual mode a tag counts at the very start, or right behind a thought that stood there, and nowhere
else: an answer may talk about `<think>`. Where a backend is known to think between its words, a tag counts anywhere outside
code.

White space around a thought belongs to the markup: with the tags themselves it is an `open` or a `close` piece, so that
all pieces together are the very characters that came. Some templates write nothing between the tags: that is no thought.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["PAIRS", "PieceKind", "Settled", "TagPiece", "Tags"]

PAIRS: Final = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|inner_prefix|>": "<|inner_suffix|>",
}
"""Each opening tag with the tag that closes it."""

_CALLS: Final = "<|tool_calls_section_begin|>"
"""Kimi K2 may begin its calls inside an unclosed thought. The mark ends the thought and stays in the content."""
_FENCE: Final = "```"
_OPEN: Final = re.compile("|".join(map(re.escape, (*PAIRS, _FENCE))))

_FIRST: Final = frozenset(tag[0] for tag in PAIRS)

PieceKind: TypeAlias = Literal["text", "thought", "open", "close"]
Settled: TypeAlias = Literal["", "text", "thought", "text for now"]

_INSIDE: Final = ("inside start", "opened", "inside")
_SETTLED: Final[dict[str, Settled]] = {"never": "text", "inside": "thought", "anywhere": "text for now"}


class TagPiece(NamedTuple):
    """A part of the content. Markup around a thought is kept for sending it back as it came; it is never shown."""

    kind: PieceKind
    text: str


class Tags:
    """`feed` content, `flush` where it is interrupted or ends; the pieces joined do not depend on the cuts."""

    __slots__ = ("_anywhere", "_blank", "_close", "_fenced", "_held", "_last", "_state")

    def __init__(self, mode: Literal["leading", "anywhere", "never"] = "leading", *, implicit_open: bool = False) -> None:
        self._anywhere = mode == "anywhere"
        self._held = ""
        self._blank: list[str] = []  # white space that is held, if that is all: it is not looked at again with each delta
        self._last = ""  # the character before the held ones
        self._fenced = False
        self._close = "</think>"
        self._state = "never" if mode == "never" else "inside start" if implicit_open else "start"

    @property
    def settled(self) -> Settled:
        """What content is from now on, as long as no tag begins in it: `text` for good, a `thought`, or text for now."""
        return "" if self._held or self._blank else _SETTLED.get(self._state, "")

    @property
    def is_idle(self) -> bool:
        """Whether a flush would change nothing."""
        return not self._held and not self._blank and self._state not in _INSIDE

    def passed(self, text: str) -> None:
        """Content has gone by in which nothing could be a tag or a fence."""
        self._last = text[-1:] or self._last

    def feed(self, text: str) -> list[TagPiece]:
        if self._state == "never":
            return [TagPiece("text", text)] if text else []
        if self._blank and text.isspace():
            self._blank.append(text)
            return []
        self._held = self._taken() + text
        pieces: list[TagPiece] = []
        while self._held and self._step(pieces):
            pass
        if self._held.isspace():
            self._blank, self._held = [self._held], ""
        return [piece for piece in pieces if piece.text]

    def _taken(self) -> str:
        """What was held back."""
        held, self._blank, self._held = "".join((*self._blank, self._held)), [], ""
        return held

    def flush(self) -> list[TagPiece]:
        """What was held back, for what it is by now. An open thought ends here."""
        held = self._taken()
        if self._state in _INSIDE:
            self._state = self._after()
            body = held.rstrip()
            return [piece for piece in (TagPiece("thought", body), TagPiece("close", held[len(body) :])) if piece.text]
        self._state = self._after() if held.strip() else self._state
        return [TagPiece("text", held)] if held else []

    def _after(self) -> str:
        """Where content goes on behind a thought, or when it did not begin with one."""
        return "anywhere" if self._anywhere else "never"

    def _step(self, pieces: list[TagPiece]) -> bool:
        """One move of the state; False if more content must come first."""
        match self._state:
            case "start" | "inside start":
                return self._begin(pieces)
            case "opened":
                return self._enter(pieces)
            case "inside":
                return self._think(pieces)
            case "closed":
                return self._resume(pieces)
            case "anywhere":
                return self._look(pieces)
            case _:
                self._give(pieces, "text", len(self._held))
                return False

    def _begin(self, pieces: list[TagPiece]) -> bool:
        """Before the first word: is it a tag?"""
        body = self._held.lstrip()
        suspect = not body or body[0] in _FIRST
        tag = next((tag for tag in PAIRS if body.startswith(tag)), "") if suspect else ""
        if not tag and suspect and any(tag.startswith(body) for tag in PAIRS):
            return False
        if tag:
            self._close = PAIRS[tag]
            self._give(pieces, "open", len(self._held) - len(body) + len(tag))
        self._state = "opened" if tag or self._state == "inside start" else self._after()
        return True

    def _enter(self, pieces: list[TagPiece]) -> bool:
        """Behind an opening tag: space belongs to it."""
        self._give(pieces, "open", len(self._held) - len(self._held.lstrip()))
        if self._held:
            self._state = "inside"
        return bool(self._held)

    def _think(self, pieces: list[TagPiece]) -> bool:
        """Inside a thought: the first end counts. Space before the end is markup, so it waits with what may be a tag."""
        ends = [at for end in (self._close, _CALLS) if (at := self._held.find(end)) >= 0]
        if not ends:
            self._give(pieces, "thought", _settled(self._held, (self._close, _CALLS)))
            return False
        at = min(ends)
        self._give(pieces, "thought", len(self._held[:at].rstrip()))
        space = len(self._held) - len(self._held.lstrip())
        closed = self._held.startswith(self._close, space)
        self._give(pieces, "close", space + len(self._close) if closed else space)
        self._state = "closed" if closed else self._after()
        return True

    def _resume(self, pieces: list[TagPiece]) -> bool:
        """Behind a closing tag: line ends belong to it, and another thought may follow."""
        self._give(pieces, "close", len(self._held) - len(self._held.lstrip("\r\n")))
        body = self._held.lstrip()
        if not body or any(tag.startswith(body) for tag in PAIRS if tag != body):
            return False
        self._state = "start" if body.startswith(tuple(PAIRS)) else self._after()
        return True

    def _look(self, pieces: list[TagPiece]) -> bool:
        """In the answer of a backend that thinks between its words: the next tag or fence."""
        match = _OPEN.search(self._held)
        if match is None:
            self._give(pieces, "text", len(self._held) - _begun(self._held, (*PAIRS, _FENCE)))
            return False
        quoted = self._fenced or (self._held[: match.start()] or self._last).endswith("`")
        if match[0] == _FENCE or quoted:
            self._fenced ^= match[0] == _FENCE
            self._give(pieces, "text", match.end())
            return True
        self._give(pieces, "text", match.start())
        self._close = PAIRS[match[0]]
        self._give(pieces, "open", len(match[0]))
        self._state = "opened"
        return True

    def _give(self, pieces: list[TagPiece], kind: PieceKind, size: int) -> None:
        """Hands out the first `size` of the held characters."""
        if size > 0:
            self._last = self._held[size - 1]
            pieces.append(TagPiece(kind, self._held[:size]))
            self._held = self._held[size:]


def _settled(text: str, tags: tuple[str, ...]) -> int:
    """How much of a thought can go out: not what may be a tag's beginning, nor the space before it."""
    return len(text[: len(text) - _begun(text, tags)].rstrip())


def _begun(text: str, tags: tuple[str, ...]) -> int:
    """How many characters at the end may be the beginning of a tag."""
    longest = min(len(text), max(map(len, tags)) - 1)
    return next((size for size in range(longest, 0, -1) if any(tag.startswith(text[-size:]) for tag in tags)), 0)
