"""Dress: the few things that are put on an answer for the client's sake, and come off again on the way to the maker.

The model's name as it was asked for (clients drop thinking of a model that they did not ask). A seal on every thinking block
from outside the realm `anthropic`, so that whoever sees the block again knows whose it is. A safe id on every tool call of a
backend whose ids may not be unique. Or, with `hide`, no foreign thinking at all. An answer of Claude's wears only the name.

One dress belongs to one answer. It remembers what it put on, so that the recording knows what the client holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from clew.model.blocks import THINKING_TYPES, Block, made
from clew.model.halves import encoded
from clew.model.json import JsonObject, JsonValue
from clew.model.origin import Origin
from clew.thinking.keys import block_key
from clew.thinking.seal import Seal, Sealer, needs_reference

__all__ = ["Dress", "Wear", "bare", "dressed_message"]


class Wear(Struct, frozen=True, kw_only=True):
    """What an answer is to wear."""

    model: str
    """The name that the client asked for."""
    exchange: str
    principal: str = "local"
    origin: Origin
    sealer: Sealer | None = None
    """Seals thinking; None leaves it as it came."""
    carries: bool = True
    """The maker wants its signature back; one that does not gets an empty one, and the seal is short."""
    blank: bool = False
    """An empty signature in place of the seal: the store alone knows whose it is."""
    by_reference: bool = False
    """Keep every payload in the store, whatever its size."""
    safe_ids: bool = False
    hide: bool = False
    secret: str = ""
    """The operator's key: an error that repeats it does not get through."""

    @property
    def is_plain(self) -> bool:
        """Nothing but the name."""
        return self.sealer is None and not self.safe_ids and not self.hide


class Dress:
    """Dresses the blocks of one answer, in the order in which they come."""

    __slots__ = ("_held", "refers", "wear")

    def __init__(self, wear: Wear) -> None:
        self.wear = wear
        self._held: dict[int, JsonObject] | None = None
        """Made when something is put on."""
        self.refers: Callable[[], None] | None = None
        """Called when a seal is put on that only refers to what the store has."""

    def is_hidden(self, block: JsonObject) -> bool:
        return self.wear.hide and block.get("type") in THINKING_TYPES

    def block(self, index: int, block: JsonObject) -> JsonObject:
        """A whole block as the client gets it."""
        kind = block.get("type")
        if kind == "tool_use":
            return self.tool(index, block)
        if kind not in THINKING_TYPES or self.wear.sealer is None:
            return block
        field = "signature" if kind == "thinking" else "data"
        text, proof = _text(block.get("thinking")), _text(block.get(field))
        return self._wearing(index, {**block, field: self.seal(index, str(kind), text, proof)})

    def tool(self, index: int, block: JsonObject) -> JsonObject:
        """A tool call under an id that no other call has."""
        return {**block, "id": self.call_id(index, "")} if self.wear.safe_ids else block

    def call_id(self, index: int, own: str) -> str:
        """The id of a call that its maker calls by this one."""
        if not self.wear.safe_ids:
            return own
        safe = f"toolu_{self.wear.exchange}_{index}"
        self._puts_on(index, {"id": safe})
        return safe

    def seal(self, index: int, kind: str, text: str, proof: str) -> str:
        """The signature that says whose this is, and carries what the maker wants back."""
        blank = self.wear.blank and kind == "thinking"
        token = "" if blank else self._minted(index, kind, text, proof)
        self._puts_on(index, {"signature" if kind == "thinking" else "data": token})
        return token

    def _minted(self, index: int, kind: str, text: str, proof: str) -> str:
        wear = self.wear
        assert wear.sealer is not None
        wanted = wear.carries or kind != "thinking"  # redacted data is the thought itself
        payload = proof.encode("utf-8", "surrogatepass") if wanted else b""
        reference = bool(payload) and (wear.by_reference or needs_reference(payload))
        carried = block_key(kind, proof) if reference else payload
        if reference and self.refers is not None:
            self.refers()
        return wear.sealer.mint(Seal(wear.principal, wear.origin, wear.exchange, index, carried, reference), text)

    def held(self, blocks: Sequence[JsonObject]) -> list[Block]:
        """The maker's blocks as the client holds them."""
        held = self._held or {}
        return [made({**block, **held.get(index, {})}) for index, block in enumerate(blocks) if not self.is_hidden(block)]

    def _wearing(self, index: int, block: JsonObject) -> JsonObject:
        worn = {name: block[name] for name in ("id", "signature", "data") if name in block}
        self._puts_on(index, worn)
        return block

    def _puts_on(self, index: int, worn: JsonObject) -> None:
        self._held = held = self._held or {}
        held[index] = {**held.get(index, {}), **worn}


def bare(dress: Dress) -> Dress:
    """Nothing but the name: for an answer that is read before it is dressed."""
    return Dress(replace(dress.wear, sealer=None, safe_ids=False, hide=False))


def dressed_message(message: JsonObject, dress: Dress) -> bytes:
    """A whole answer as the client gets it."""
    content = message.get("content")
    blocks: list[JsonValue] = []
    for index, block in enumerate(content if isinstance(content, list) else ()):
        if not isinstance(block, dict):
            blocks.append(block)
        elif not dress.is_hidden(block):
            blocks.append(dress.block(index, block))
    return encoded({**message, "model": dress.wear.model, "content": blocks})


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
