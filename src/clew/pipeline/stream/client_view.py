"""What clients get that is not as the maker said it: names, seals and ids, estimated usage, errors without the key.

`ClientView` is the few things that are put on an answer for the client, and come off again on the way to the maker. The
model's name as it was asked for: clients drop thinking of a model that they did not ask for. A seal on every thinking block
from outside the realm `anthropic`, so that a request that brings the block back says whose it is; for clients that lose the
text of a thought, a seal that brings the whole block, on Claude's too. A safe id on every tool call of a backend whose ids
may not be unique, or on every call. Or, with `hide`, no foreign thinking at all. An answer of Claude's in its own dialect
gets only the name.

One view belongs to one answer. It remembers what it put on, so that the recording knows what the client holds.

`MissingUsage` is for an answer whose backend counts nothing. Clients read usage without asking whether it is there, so it
always is. The output is estimated from what came, and marked as an estimate; the input is not known here. What is recorded
stays as the backend said it.

The operator's key does not get through, where a backend's error repeats it. Nor does its beginning at the end of a text: of
a backend's words so many are told, and the key may stand where they end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clew.model.blocks import THINKING_TYPES, Block, made
from clew.model.events import BlockDelta, BlockStart, Event, MessageDelta, MessageStart, StreamFailed, altered
from clew.model.json import JsonObject, JsonValue, text_of
from clew.model.origin import ANTHROPIC, Origin
from clew.model.tokens import OUTPUT_ESTIMATED, TokenTally, tokens_of
from clew.thinking.keys import block_key
from clew.thinking.seal import INLINE_LIMIT, Seal, Sealer


def usual_id(exchange: str, index: int) -> str:
    """No other tool call has it."""
    return f"toolu_{exchange}_{index}"


class ViewOptions(Struct, frozen=True, kw_only=True):
    """What is put on an answer."""

    model: str
    """The name that the client asked for."""
    exchange: str
    principal: str = "local"
    origin: Origin
    sealer: Sealer | None = None
    """Seals thinking; None leaves it as it came."""
    whole: bool = False
    """Seals bring the whole block: the client loses the text that it gets beside them."""
    carries: bool = True
    """The maker wants its signature back; the seal of a maker that does not is short."""
    blank: bool = False
    """An empty signature in place of the seal: the store alone knows whose it is."""
    by_reference: bool = False
    """Keep every payload in the store, whatever its size."""
    inline_limit: int = INLINE_LIMIT
    """Bytes of a payload that travel in a seal; the store keeps what is larger."""
    safe_ids: bool = False
    make_id: Callable[[str, int], str] = usual_id
    """Makes a safe id, of the exchange and the index of the block."""
    joins_texts: bool = False
    """The client holds all texts of an answer as one."""
    hide: bool = False
    secret: str = ""
    """The operator's key: an error that repeats it does not reach the client."""

    @property
    def is_plain(self) -> bool:
        """Nothing but the name."""
        return self.sealer is None and not self.safe_ids and not self.hide and not self.joins_texts


class ClientView:
    """The blocks of one answer as the client gets them, in the order in which they come."""

    __slots__ = ("_held", "options", "when_referring")

    def __init__(self, options: ViewOptions) -> None:
        self.options = options
        self._held: dict[int, JsonObject] = {}
        """What the client holds in place of the maker's own values, by the index of the block."""
        self.when_referring: Callable[[], None] | None = None
        """Called when a seal is made that only refers to what the store has."""

    def plain(self) -> ClientView:
        """A view with nothing but the name: for an answer that is read before anything is put on it."""
        return ClientView(replace(self.options, sealer=None, safe_ids=False, hide=False, joins_texts=False))

    def is_hidden(self, block: JsonObject) -> bool:
        return self.options.hide and block.get("type") in THINKING_TYPES

    def show_block(self, index: int, block: JsonObject) -> JsonObject:
        """A whole block as the client gets it."""
        kind = block.get("type")
        if kind == "tool_use":
            if not self.options.safe_ids:
                return block
            safe = self.options.make_id(self.options.exchange, index)
            self._hold(index, "id", safe)
            return {**block, "id": safe}
        if kind not in THINKING_TYPES or self.options.sealer is None:
            return block
        field = "signature" if kind == "thinking" else "data"
        seal = self.seal(index, str(kind), text_of(block.get("thinking")), text_of(block.get(field)))
        return {**block, field: seal}

    def seal(self, index: int, kind: str, text: str, proof: str) -> str:
        """The signature that says whose block this is, and carries what the maker wants back."""
        options, token = self.options, ""
        if not options.blank or kind != "thinking":
            assert options.sealer is not None
            wanted = options.carries or kind != "thinking"  # redacted data is the thought itself
            payload = proof.encode("utf-8", "surrogatepass") if wanted else b""
            seal = Seal(options.principal, options.origin, options.exchange, index, payload)
            if options.whole:
                seal = self._whole(seal, kind, text, proof)
            elif payload and self._refers(len(payload)):
                seal = replace(seal, payload=block_key(kind, proof), reference=True)
            token = options.sealer.mint(seal, text)
        self._hold(index, "signature" if kind == "thinking" else "data", token)
        return token

    def _whole(self, seal: Seal, kind: str, text: str, proof: str) -> Seal:
        """The same, with the whole block: its key is Claude's own, since Claude's strands are rows of these; of another
        maker's, whose proofs may be alike, a value that no other block has."""
        is_claudes = seal.origin.realm == ANTHROPIC
        key = block_key(kind, proof) if is_claudes else block_key(kind, f"{seal.exchange}\0{seal.index}")
        seal = replace(seal, kind="thinking" if kind == "thinking" else "redacted_thinking", key=key)
        if self._refers(len(seal.payload) + len(text)):
            return replace(seal, payload=b"", reference=True)
        return replace(seal, text=text)

    def _refers(self, size: int) -> bool:
        """Whether a seal for so much only refers to the store; the store is told so."""
        refers = self.options.by_reference or size > self.options.inline_limit
        if refers and self.when_referring is not None:
            self.when_referring()
        return refers

    def _hold(self, index: int, name: str, value: str) -> None:
        self._held[index] = {**self._held.get(index, {}), name: value}

    def held(self, blocks: Sequence[JsonObject]) -> list[Block]:
        """The maker's blocks as the client holds them."""
        shown = [{**block, **self._held.get(index, {})} for index, block in enumerate(blocks) if not self.is_hidden(block)]
        return [made(block) for block in (_joined(shown) if self.options.joins_texts else shown)]

    def show_message(self, message: JsonObject) -> JsonObject:
        """A whole answer as the client gets it."""
        content = message.get("content")
        blocks: list[JsonValue] = []
        for index, block in enumerate(content if isinstance(content, list) else ()):
            if not isinstance(block, dict):
                blocks.append(block)
            elif not self.is_hidden(block):
                blocks.append(self.show_block(index, block))
        return {**message, "model": self.options.model, "content": blocks}


def _joined(blocks: Sequence[JsonObject]) -> list[JsonObject]:
    """The blocks with all texts in the place of the first."""
    texts = [text_of(block.get("text")) for block in blocks if block.get("type") == "text"]
    joined: list[JsonObject] = []
    for block in blocks:
        if block.get("type") != "text":
            joined.append(block)
        elif texts:
            joined.append({"type": "text", "text": "".join(texts)})
            texts = []
    return joined


def lacks_usage(event: Event) -> bool:
    """Whether it is an event that reports usage, and does not."""
    if isinstance(event, MessageStart):
        return not isinstance(event.message.get("usage"), dict)
    return isinstance(event, MessageDelta) and event.usage is None


class MissingUsage:
    """The usage of one streamed answer whose first event had none."""

    __slots__ = ("_tally",)

    def __init__(self) -> None:
        self._tally = TokenTally()

    def note(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, BlockDelta):
                for member in ("text", "thinking", "partial_json"):
                    if isinstance(text := event.delta.get(member), str):
                        self._tally.add(text)
            elif isinstance(event, BlockStart) and isinstance(name := event.content_block.get("name"), str):
                self._tally.add(name)

    def at_end(self) -> JsonObject:
        return _output(self._tally.total())


def usage_of_uncounted(message: JsonObject) -> JsonObject:
    """The usage of an answer that came whole without one."""
    return {"input_tokens": 0, **_output(heard_tokens(message))}


def _output(about: int) -> JsonObject:
    return {"output_tokens": about, OUTPUT_ESTIMATED: True} if about else {"output_tokens": 0}


def heard_tokens(message: JsonObject) -> int:
    """About how many tokens the words of a message have."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return round(sum(tokens_of(_words_of(block).encode("utf-8", "replace")) for block in blocks))


def _words_of(block: JsonValue) -> str:
    match block:
        case {"type": "text", "text": str(words)} | {"type": "thinking", "thinking": str(words)}:
            return words
        case {"name": str(name), "input": given}:
            return f"{name} {msgspec.json.encode(given).decode()}"
        case _:
            return ""


HIDDEN: Final = "<secret>"
"""Stands for a key that a backend repeats."""

_LEAST: Final = 6
"""Of a beginning: a shorter one tells nothing, and may be a word."""


def hidden(words: str, secret: str) -> str:
    """A text without it."""
    words = words.replace(secret, HIDDEN)
    cut = next((begin for begin in _beginnings(secret) if words.endswith(begin)), "")
    return f"{words[: -len(cut)]}{HIDDEN}" if cut else words


def hidden_in(raw: bytes, secret: str) -> bytes:
    """JSON without it, in which a text ends at a quotation mark."""
    if secret[:_LEAST].encode() not in raw:
        return raw
    raw = raw.replace(secret.encode(), HIDDEN.encode())
    for begin in _beginnings(secret):
        raw = raw.replace(f'{begin}"'.encode(), f'{HIDDEN}"'.encode())
    return raw


def without_secret(event: StreamFailed, raw: bytes, secret: str) -> tuple[StreamFailed, bytes]:
    """An error event and its bytes without the secret; "" is none."""
    shown = hidden_in(raw, secret) if secret else raw
    return (event, raw) if shown == raw else (without_secret_in(event, secret), shown)


def without_secret_in(event: StreamFailed, secret: str) -> StreamFailed:
    """An error event without the secret; "" is none."""
    if not secret:
        return event
    error = {name: hidden(value, secret) if isinstance(value, str) else value for name, value in event.error.items()}
    return event if error == event.error else altered(event, error=error)


def _beginnings(secret: str) -> list[str]:
    """The longest first."""
    return [secret[:size] for size in range(len(secret) - 1, _LEAST - 1, -1)]
