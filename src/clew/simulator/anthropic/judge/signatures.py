"""The simulator's signatures, `base64(header ‖ imprint ‖ MAC)`, and the signer of one judged request.

The *imprint* is all that the vendor must know about a thinking block to judge it when it comes back: its maker, its
account, what stood before it, and what was thought. The text is there only as a hash, so a block whose text was never shown
proves itself just as well (R33). How much of the text was shown is not there at all, so the signature is the same for every
`display` (R41). The key comes from the simulator's realm, or else from its kind and seed: simulators with the same key
accept each other's blocks, all others refuse them. A signature with one changed byte is invalid everywhere.

A new block is bound to the conversation up to it: the request, then the answer's earlier blocks, whose signatures also tell
their place in the row of thinking blocks.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec

from clew.model.json import JsonObject
from clew.simulator.anthropic.judge.case import THINKING, Case
from clew.simulator.anthropic.judge.prefix import ConversationPrefix, DeferredTools, deferred_tools
from clew.simulator.values import as_dict, as_list, as_str, tokens_of_text

_HEADER = b"\x12sim1"
_MAC_BYTES = 16


class Link(msgspec.Struct, frozen=True, array_like=True):
    """What stood before a block: the last thinking block, and the length of the unbroken row that it ended."""

    last: bytes = b""
    length: int = 0

    def followed_by(self, block: bytes, made_after: Link) -> Link:
        """The row with one more block. A new row begins if this is not the row that the block was made after."""
        linked = self.length > 0 and self.last == made_after.last
        return Link(block, self.length + 1 if linked else 1)

    def fits(self, made_after: Link) -> bool:
        """Whether a block can follow: this row is empty, or ends with the block's predecessor and is not too long."""
        return self.length == 0 or (self.last == made_after.last and self.length <= made_after.length)


class Imprint(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What a signature proves."""

    redacted: bool
    model: str
    """The name of the model's profile."""
    account: str
    end_user: bytes = b""
    """A hash of `metadata.user_id`, if the request asked for this binding (C-4: aws)."""
    accounts: tuple[str, ...] = ()
    """Other accounts that may read the block (C-4: aws)."""
    tokens: int
    """Of the whole text: the cost of reading it again."""
    prefix: bytes
    base: bytes
    head: bytes
    count: int
    sent: Link
    """The predecessor among all blocks that were sent."""
    read: Link
    """The predecessor among the blocks that the model could read."""
    answer: bytes
    """The response that the block is from."""
    place: int
    """The block's index in that response."""
    rank: int
    """The number of thinking blocks directly before it there."""
    text: bytes
    """A hash of what was thought."""


def hash_text(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:12]


def make_signature(key: bytes, imprint: Imprint) -> str:
    """The `signature` of a thinking block, or the `data` of a redacted one."""
    payload = _HEADER + msgspec.msgpack.encode(imprint)
    return base64.b64encode(payload + _mac(key, payload)).decode()


def read_signature(key: bytes, signature: str, *, redacted: bool) -> tuple[bytes, Imprint] | None:
    """The block's id and imprint; None if the signature was not made with this key, or for the other type of block."""
    try:
        whole = base64.b64decode(signature.encode(), validate=True)
    except (binascii.Error, ValueError):
        return None
    payload, mac = whole[:-_MAC_BYTES], whole[-_MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(key, payload)):
        return None
    imprint = msgspec.msgpack.decode(payload[len(_HEADER) :], type=Imprint)
    return (mac, imprint) if imprint.redacted == redacted else None


def _mac(key: bytes, payload: bytes) -> bytes:
    return hmac.digest(key, payload, "sha256")[:_MAC_BYTES]


@dataclass(frozen=True, slots=True)
class SigningPoint:
    """A point of the conversation: the content and the rows of thinking blocks up to it."""

    prefix: ConversationPrefix
    sent: Link
    read: Link
    rank: int = 0

    def after(self, block: JsonObject, key: bytes, tools: DeferredTools) -> SigningPoint:
        """The point after one more block of the answer."""
        if block.get("type") not in THINKING:
            return replace(self, prefix=self.prefix.after("assistant", block, tools), rank=0)
        redacted = block.get("type") == "redacted_thinking"
        proof = read_signature(key, as_str(block.get("data" if redacted else "signature")), redacted=redacted)
        if proof is None:
            return replace(self, rank=self.rank + 1)
        id_, own = proof
        sent, read = self.sent.followed_by(id_, own.sent), self.read.followed_by(id_, own.read)
        return SigningPoint(self.prefix, sent, read, self.rank + 1)


@dataclass(frozen=True, slots=True)
class RequestSigner:
    """Signs the thinking of the answer to one judged request. `start` is where the answer begins."""

    key: bytes = field(repr=False)
    case: Case
    start: SigningPoint

    def sign(self, text: str, *, answer: Sequence[JsonObject]) -> str | None:
        vendor = self.case.vendor
        match vendor.signature:
            case "none":
                return None
            case "empty":
                return ""
            case "noise":
                # It looks like a signature and proves nothing.
                length = vendor.noise[self.case.body.get("stream") is True]
                digest = hashlib.shake_256(self.key + hash_text(text)).digest(length)
                return base64.b64encode(digest).decode()[:length]
            case "bound" | "own":
                return make_signature(self.key, self._imprint(text, answer, redacted=False))

    def redact(self, text: str, *, answer: Sequence[JsonObject]) -> str:
        return make_signature(self.key, self._imprint(text, answer, redacted=True))

    def _imprint(self, text: str, answer: Sequence[JsonObject], *, redacted: bool) -> Imprint:
        here, tools = self.start, deferred_tools(self.case.body)
        for block in answer:
            here = here.after(block, self.key, tools)
        # AWS's block_binding can bind to an end user and open the block to other accounts (C-4).
        binding = as_dict(self.case.thinking.get("block_binding"))
        user = as_str(self.case.option("metadata", "user_id"))
        others = as_list(binding.get("bind_to_additional_organizations"))
        return Imprint(
            redacted=redacted,
            model=self.case.model.id,
            account=self.case.account.name,
            end_user=hash_text(user) if binding.get("bind_to_end_user") is True else b"",
            accounts=tuple(as_str(name) for name in others),
            tokens=tokens_of_text(text),
            prefix=here.prefix.digest,
            base=here.prefix.base,
            head=here.prefix.head,
            count=here.prefix.count,
            sent=here.sent,
            read=here.read,
            answer=self._answer_id(),
            place=len(answer),
            rank=here.rank,
            text=hash_text(text),
        )

    def _answer_id(self) -> bytes:
        """Which response this is: the same request to the same model for the same account gives the same one."""
        start, case = self.start, self.case
        names = (case.model.id.encode(), case.account.name.encode())
        return hashlib.sha256(b"\0".join((start.prefix.digest, start.sent.last, start.read.last, *names))).digest()[:8]
