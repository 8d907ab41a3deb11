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
_ENDS: Final = {close: re.compile(f"{re.escape(close)}|{re.escape(_CALLS)}") for close in PAIRS.values()}
"""What ends a thought, by the tag that closes it."""
_SPACE: Final = re.compile(r"\s*+")
_LINE_ENDS: Final = re.compile(r"[\r\n]*+")
_TAGS: Final = tuple(PAIRS)
_LONGEST: Final = max(map(len, PAIRS))

PieceKind: TypeAlias = Literal["text", "thought", "open", "close"]
_INSIDE: Final = ("inside start", "opened", "inside")


class TagPiece(NamedTuple):
    """A part of the content. Markup around a thought is kept for sending it back as it came; it is never shown."""

    kind: PieceKind
    text: str


class Tags:
    """`feed` content, `flush` where it is interrupted or ends; the pieces joined do not depend on the cuts."""

    __slots__ = ("_anywhere", "_at", "_blank", "_close", "_fenced", "_held", "_last", "_state")

    def __init__(self, mode: Literal["leading", "anywhere", "never"] = "leading", *, implicit_open: bool = False) -> None:
        self._anywhere = mode == "anywhere"
        self._held = ""
        self._at = 0  # so many of the held characters are handed out: a delta may hold thousands of tags
        self._blank: list[str] = []  # white space that is held, if that is all: it is not looked at again with each delta
        self._last = ""  # the character before the held ones
        self._fenced = False
        self._close = "</think>"
        self._state = "never" if mode == "never" else "inside start" if implicit_open else "start"

    @property
    def is_plain(self) -> bool:
        """Whether no tag counts from here on: all content is text."""
        return self._state == "never"

    @property
    def is_idle(self) -> bool:
        """Whether a flush would change nothing."""
        return not self._held and not self._blank and self._state not in _INSIDE

    def feed(self, text: str) -> list[TagPiece]:
        if self._state == "never":
            return [TagPiece("text", text)] if text else []
        if self._blank and text.isspace():
            self._blank.append(text)
            return []
        self._held, self._at = self._taken() + text, 0
        pieces: list[TagPiece] = []
        while self._at < len(self._held) and self._step(pieces):
            pass
        self._held, self._at = self._held[self._at :], 0
        if self._held.isspace():
            self._blank, self._held = [self._held], ""
        return pieces

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
            case "opened":  # space behind an opening tag belongs to it
                self._give(pieces, "open", self._past(_SPACE))
                self._state = "inside" if self._at < len(self._held) else "opened"
                return self._state == "inside"
            case "inside":
                return self._think(pieces)
            case "closed":
                # Line ends behind a closing tag belong to it, and another thought may follow.
                self._give(pieces, "close", self._past(_LINE_ENDS))
                word = self._past(_SPACE)
                is_tag = self._held.startswith(_TAGS, word)
                if not is_tag and self._may_become_a_tag(word):
                    return False
                self._state = "start" if is_tag else self._after()
                return True
            case "anywhere":
                return self._look(pieces)
            case _:
                self._give(pieces, "text", len(self._held))
                return False

    def _begin(self, pieces: list[TagPiece]) -> bool:
        """Before the first word: is it a tag?"""
        word = self._past(_SPACE)
        tag = next((tag for tag in PAIRS if self._held.startswith(tag, word)), "")
        if not tag and self._may_become_a_tag(word):
            return False
        if tag:
            self._close = PAIRS[tag]
            self._give(pieces, "open", word + len(tag))
        self._state = "opened" if tag or self._state == "inside start" else self._after()
        return True

    def _think(self, pieces: list[TagPiece]) -> bool:
        """Inside a thought: the first end counts. Space before the end is markup, so it waits with what may be a tag."""
        end = _ENDS[self._close].search(self._held, self._at)
        if end is None:
            rest = self._held[self._at :]
            settled = rest[: len(rest) - _begun(rest, (self._close, _CALLS))].rstrip()
            self._give(pieces, "thought", self._at + len(settled))
            return False
        self._give(pieces, "thought", self._at + len(self._held[self._at : end.start()].rstrip()))
        closed = end[0] == self._close
        self._give(pieces, "close", end.end() if closed else end.start())
        self._state = "closed" if closed else self._after()
        return True

    def _look(self, pieces: list[TagPiece]) -> bool:
        """In the answer of a backend that thinks between its words: the next tag or fence."""
        match = _OPEN.search(self._held, self._at)
        if match is None:
            self._give(pieces, "text", len(self._held) - _begun(self._held[self._at :], (*PAIRS, _FENCE)))
            return False
        before = self._held[match.start() - 1] if match.start() > self._at else self._last
        if match[0] == _FENCE or self._fenced or before == "`":
            self._fenced ^= match[0] == _FENCE
            self._give(pieces, "text", match.end())
            return True
        self._give(pieces, "text", match.start())
        self._close = PAIRS[match[0]]
        self._give(pieces, "open", match.end())
        self._state = "opened"
        return True

    def _past(self, what: re.Pattern[str]) -> int:
        """Where that ends with which the rest begins."""
        found = what.match(self._held, self._at)
        assert found is not None, "it fits nothing at all, too"
        return found.end()

    def _may_become_a_tag(self, start: int) -> bool:
        """Whether what stands from here to the end is nothing, or only the beginning of a tag."""
        return len(self._held) - start < _LONGEST and any(tag.startswith(self._held[start:]) for tag in PAIRS)

    def _give(self, pieces: list[TagPiece], kind: PieceKind, end: int) -> None:
        """Hands out the held characters up to there."""
        if end > self._at:
            self._last = self._held[end - 1]
            pieces.append(TagPiece(kind, self._held[self._at : end]))
            self._at = end


def _begun(text: str, tags: tuple[str, ...]) -> int:
    """How many characters at the end may be the beginning of a tag."""
    longest = min(len(text), max(map(len, tags)) - 1)
    return next((size for size in range(longest, 0, -1) if any(tag.startswith(text[-size:]) for tag in tags)), 0)
