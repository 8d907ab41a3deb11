"""The three ways to name an answer: by block key, by its visible content, and by its place.

A client does not send back what it got: it adds fields to tool inputs, trims, drops empty texts, moves its system messages,
turns lists into strings. So identity covers only the parts that a model wrote and clients leave alone: signatures, tool ids,
and trimmed texts. No tool input, no tool output, no system text and no tools list is ever hashed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from msgspec import Struct

from clew.model.blocks import THINKING_TYPES, Block, is_signed, string_of
from clew.model.recording import AnswerContent
from clew.thinking.seal import named_key

_HALF = 32
_REMINDER = ("<system-reminder>", "</system-reminder>")


class QuestionContent(Struct, frozen=True):
    """The messages between two answers: tool_result ids and texts, without reminders and system-role messages."""

    ids: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    def longer(self, contents: Sequence[tuple[Block, ...] | str | None]) -> QuestionContent:
        """The same with what was asked next, as the contents of messages."""
        if not contents:
            return self
        more = question_content(contents)
        return QuestionContent(self.ids + more.ids, self.texts + more.texts)


def block_key(type: str, value: str) -> bytes:
    """SHA-256 over type and signature, or type and data, as the client holds them (so over the seal where there is one)."""
    return sha256(f"{type}\0{value}".encode("utf-8", "surrogatepass")).digest()


def proof_of(block: Block) -> str:
    """The part that only the maker can write: the signature, or the redacted data; "" if there is none."""
    if block.type == "thinking":
        return block.signature or ""
    return (block.data or "") if block.type == "redacted_thinking" else ""


def key_of(block: Block) -> bytes | None:
    """The block key, or None for a block that proves nothing. (Text alone never finds a recording: it proves nothing.)

    A seal that brings the whole block names the key itself: the maker's own block's for Claude's, so that a strand is one
    row whatever the client speaks. Its type does not count, since clients of other dialects have one for both.
    """
    type = block.type
    proof = block.signature if type == "thinking" else block.data if type == "redacted_thinking" else None
    return _key(type, proof) if proof else None


def keys_of(blocks: Iterable[Block]) -> tuple[bytes, ...]:
    """The keys of those that have one. Only thinking has: most blocks are not asked for theirs."""
    return tuple([key for block in blocks if block.type in THINKING_TYPES and (key := key_of(block))])


@lru_cache(maxsize=256)
def _key(type: str, proof: str) -> bytes:
    """The new blocks of a request are asked for their keys a few times."""
    return named_key(proof) or block_key(type, proof)


class ProofRow(NamedTuple):
    """Signed blocks in their order, as far as a digest looks at them. Of each proof it keeps the length and the end, where a
    proof has its MAC, and not the kilobytes before, because every request of a conversation pays for it. Of each text it
    keeps a hash, because a client can change a text and keep its signature."""

    lengths: bytes = b""
    ends: bytes = b""
    words: bytes = b""

    def extended(self, blocks: Sequence[Block]) -> ProofRow:
        """The row with these blocks at its end."""
        if not blocks:
            return self
        lengths, ends = _lengths_and_ends([proof_of(block) for block in blocks])
        return ProofRow(
            self.lengths + lengths,
            self.ends + b"\0" + ends if self.lengths else ends,
            self.words + b"".join([text_hash(block) for block in blocks]),
        )

    def digest(self) -> bytes:
        """Equal digests mean that a client's copy is whole and unchanged, without a look-up for each block.

        The first half (`proof_half`) guards against a block that is missing, new or out of place, the second against a text
        that was changed. A proof that was changed in its middle is left to the vendor, who refuses it anyway. Recordings
        from before there was a second half have the first alone, which equals no digest of a row.
        """
        return sha256(self.lengths + self.ends).digest() + sha256(self.words).digest()


def digest_of(proofs: Sequence[str]) -> bytes:
    """The first half of the digest of a row with these proofs."""
    return sha256(b"".join(_lengths_and_ends(proofs))).digest()


def proof_half(digest: bytes) -> bytes:
    """The first half of a digest: equal ones mean the same proofs in the same order."""
    return digest[:_HALF]


def text_hash(block: Block) -> bytes:
    """A hash of a thinking block's text, however its JSON is written. (Members that clients add are no part of it: cache
    marks are taken off anyway, and members that no step reads go as they came.)"""
    return sha256(string_of(block.thinking).encode("utf-8", "surrogatepass")).digest()[:16]


def _lengths_and_ends(proofs: Sequence[str]) -> tuple[bytes, bytes]:
    ends = "\0".join([proof[-48:] for proof in proofs])
    return array("Q", map(len, proofs)).tobytes(), ends.encode("utf-8", "surrogatepass")


def keys_digest(keys: Iterable[bytes]) -> bytes:
    """The digest of a row of keys. Outside realm `anthropic` a proof has no MAC at its end, so a few bytes of each would not
    tell two apart."""
    return sha256(b"".join(keys)).digest()


def answer_content(blocks: Iterable[Block]) -> AnswerContent:
    """The visible content of an answer with these blocks."""
    ids: list[str] = []
    texts: list[str] = []
    for block in blocks:
        if block.type == "text":
            if text := string_of(block.text).strip():
                texts.append(text)
        elif block.type.endswith("tool_use") and is_signed(block.id):
            ids.append(block.id)
    return AnswerContent(tuple(ids), tuple(texts))


def question_content(contents: Iterable[tuple[Block, ...] | str | None]) -> QuestionContent:
    """The content of user messages with these contents, as one question."""
    ids: list[str] = []
    texts: list[str] = []
    for content in contents:
        if isinstance(content, str):
            texts.append(content)
        for block in content if isinstance(content, tuple) else ():
            if block.type == "text":
                texts.append(string_of(block.text))
            elif is_signed(block.tool_use_id):
                ids.append(block.tool_use_id)
    trimmed = [text.strip() for text in texts]
    return QuestionContent(tuple(ids), tuple([text for text in trimmed if text and not is_reminder(text)]))


def is_reminder(trimmed: str) -> bool:
    """Whether a text is a reminder that a client adds for the model, and no words of a person."""
    return trimmed.startswith(_REMINDER[0]) and trimmed.endswith(_REMINDER[1])


def place_of(
    principal: str, first: QuestionContent, before: AnswerContent | None, since: QuestionContent, said: AnswerContent
) -> bytes:
    """A hash of what was said and asked just before an answer: the weakest way to find it.

    Every part is length-prefixed, so that no two different histories run together into one hash.
    """
    groups = (first.ids, first.texts, before.ids if before else (), before.texts if before else ())
    parts: list[bytes] = []
    for group in ((principal,), *groups, since.ids, since.texts, said.ids, said.texts):
        if not group:  # as most are
            parts.append(b"0;")
            continue
        parts.append(b"%d;" % len(group))
        for part in group:
            raw = part.encode("utf-8", "surrogatepass")
            parts += (b"%d:" % len(raw), raw)
    return sha256(b"".join(parts)).digest()
