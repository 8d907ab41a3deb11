"""Translator: a backend of another dialect for programs that bring their own connection.

Pure, like all that it is made of: it writes requests and reads answers, and sends nothing. Recordings and switches are the
gateway's. What a maker needs back of a thought stands in the place of its signature, as it is or inside a seal, and goes
back to the maker if the program sends the block again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, Literal

from msgspec import structs

from clew.backends.presets import presets
from clew.backends.row import Backend, chat_options_of
from clew.dialects.failures.reading import failure_of
from clew.dialects.openai_chat.answers import read_message
from clew.dialects.openai_chat.requests import write_request
from clew.dialects.openai_chat.streams import ChatStreamReader
from clew.dialects.shape import AnswerContext, WrittenRequest
from clew.errors import BackendRejected, SealInvalid, SettingsInvalid
from clew.model.blocks import FILLER, Block, made, string_of
from clew.model.change import Change
from clew.model.events import BLOCK_EVENTS, Event
from clew.model.failure import Failure
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.model.request import Request, RequestMessage, blocks_of, with_blocks
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.pipeline.stream.sealed_blocks import SealedBlocks
from clew.thinking.keyring import keyring_of
from clew.thinking.keys import proof_of
from clew.thinking.seal import MAX_SEALED, MIN_SECRET, is_seal
from clew.wire.events import encode_event
from clew.wire.requests import parse

CHAT: Final = "openai-chat"
_PRINCIPAL: Final = "local"
_MOST_CARRIED: Final = MAX_SEALED // 2
"""Bytes of a payload in a seal: there is no store that could keep it."""
_NOT_ITS_OWN: Final = "its seal is of another backend, or cannot be opened"


class Translator:
    """Translates one exchange between the Messages API and a backend that speaks Chat Completions.

    `backend` is a name of the table of backends; without one every field of reasoning is read. `served` is the backend's own
    name of the model, `model` the one that answers are to bear.

    With `start="eager"` a stream begins with an empty text block, before the backend has said anything (`begin`).
    `signature` says what stands on thinking blocks: `"plain"` is what the maker needs back, as it is; `"seal"` puts it into
    a seal, which shows who made the block and breaks with one changed byte, and needs a `secret` of 32 bytes or more;
    `"empty"` leaves it empty, and then the maker gets the words of its thoughts alone.

    >>> translator = Translator(backend="deepseek", served="deepseek-v4-pro")
    >>> asked = {"model": "claude-opus-5-5", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
    >>> translator.request(asked).body[:27]
    b'{"model":"deepseek-v4-pro",'
    >>> chunk = b'data: {"choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}'
    >>> print(translator.feed(chunk + b"\\n\\n").decode().splitlines()[-2])
    data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}
    >>> eager = Translator(backend="deepseek", start="eager", signature="empty")
    >>> [line for line in eager.begin().decode().splitlines() if line.startswith("event")]
    ['event: message_start', 'event: content_block_start', 'event: ping']
    """

    def __init__(
        self,
        *,
        backend: str = "",
        served: str = "",
        model: str = "",
        message_id: str = "msg_0",
        start: Literal["lazy", "eager"] = "lazy",
        signature: Literal["plain", "seal", "empty"] = "plain",
        secret: bytes = b"",
    ) -> None:
        if start not in ("lazy", "eager"):
            raise SettingsInvalid(f"start is 'lazy' or 'eager', not {start!r}", key="start")
        row = _row(backend)
        self._served = served or row.model
        self._options = chat_options_of(row, self._served)
        self.left_out: list[str] = []
        """Kinds of parts in the answers that the Messages API has no block for, such as "image"."""
        self.changes: list[Change] = []
        """What was altered in the answers: calls that were written as text are calls now."""
        self._context = AnswerContext(
            model=model or self._served,
            message_id=message_id,
            unsaid=self.left_out.append,
            report=self.changes.append,
            own_ids=False,
            eager=start == "eager",
        )
        self._view_options = _view_options(self._context, Origin(row.realm, row.name, self._served), signature, secret)
        self._begin_stream()

    def _begin_stream(self) -> None:
        self._stream = ChatStreamReader(self._context, self._options)
        self._view = ClientView(self._view_options)
        self._sealed = None if self._view_options.is_plain else SealedBlocks(self._view)

    def request(self, body: bytes | JsonObject) -> WrittenRequest:
        """What to post to the backend, and what became of the rest. Raises Unrepresentable, RequestInvalid."""
        raw = body if isinstance(body, bytes) else json.dumps(body, allow_nan=False).encode()
        request = parse(raw)
        self._context = structs.replace(self._context, document=raw)
        self._begin_stream()
        changes: list[Change] = []
        request = self._unsealed(request.with_fields(model=self._served) if self._served else request, changes)
        written = write_request(request, self._options)
        return written._replace(changes=(*changes, *written.changes)) if changes else written

    def begin(self) -> bytes:
        """The events to send before the backend's first byte, with `start="eager"`. If nobody calls `begin`, `feed` gives
        them."""
        return self._encode(self._stream.begin())

    def feed(self, data: bytes) -> bytes:
        """The server-sent events of the Messages API that these bytes of the backend's stream complete."""
        return self.begin() + self._encode(self._stream.feed(data))

    def flush(self) -> bytes:
        """What the end of the stream completes; an error event, if it ended too early."""
        return self.begin() + self._encode(self._stream.flush())

    def message(self, body: bytes, status: int = 200) -> JsonObject:
        """A whole answer as a message. Raises BackendRejected, in Anthropic's words, for one that is an error."""
        found = failure_of(status, body) if status >= 400 else read_message(body, self._context, self._options)
        if isinstance(found, Failure):
            raise BackendRejected(found.message, status=found.status, body=body)
        return found if self._view_options.is_plain else ClientView(self._view_options).show_message(found)

    def _encode(self, events: Iterable[Event]) -> bytes:
        if self._sealed is None:
            return b"".join(map(encode_event, events))
        told: list[Event] = []
        for event in events:
            told += self._sealed.feed(event) if isinstance(event, BLOCK_EVENTS) else (event,)
        return b"".join(map(encode_event, told))

    def _unsealed(self, request: Request, changes: list[Change]) -> Request:
        """The request with what its maker needs back in place of each seal."""
        messages: list[RequestMessage] = []
        for at, message in enumerate(request.messages):
            blocks: list[Block] = []
            for place, block in enumerate(blocks_of(message)):
                proof = proof_of(block)
                if block.type != "thinking" or not is_seal(proof):
                    blocks.append(block)
                    continue
                text = string_of(block.thinking)
                payload = self._payload_of(proof, text)
                if payload is None:
                    changes.append(Change("thinking", f"messages.{at}.content.{place}", "left out", _NOT_ITS_OWN))
                else:
                    blocks.append(made({"type": "thinking", "thinking": text, "signature": payload}))
            is_emptied = bool(blocks_of(message)) and not blocks
            filler = [made({"type": "text", "text": FILLER})] if is_emptied else []
            messages.append(with_blocks(message, tuple(blocks or filler)) if blocks_of(message) else message)
        return request.with_messages(tuple(messages))

    def _payload_of(self, signature: str, text: str) -> str | None:
        options = self._view_options
        if options.sealer is None:
            return None
        try:
            seal = options.sealer.open(signature, text, principal=_PRINCIPAL)
        except SealInvalid:
            return None
        return None if seal.reference or seal.origin.realm != options.origin.realm else seal.payload.decode()


def _view_options(context: AnswerContext, maker: Origin, signature: str, secret: bytes) -> ViewOptions:
    """Raises SettingsInvalid for a word that says nothing, and for a seal without a secret that is long enough."""
    if signature not in ("plain", "seal", "empty"):
        raise SettingsInvalid(f"signature is 'plain', 'seal' or 'empty', not {signature!r}", key="signature")
    if signature == "seal" and len(secret) < MIN_SECRET:
        raise SettingsInvalid(f"a seal needs a secret of {MIN_SECRET} bytes or more, not {len(secret)}", key="secret")
    return ViewOptions(
        model=context.model,
        exchange=context.message_id,
        principal=_PRINCIPAL,
        origin=maker,
        sealer=None if signature == "plain" else keyring_of(secret or bytes(MIN_SECRET)).sealer(),
        blank=signature == "empty",
        inline_limit=_MOST_CARRIED,
    )


def _row(name: str) -> Backend:
    preset = presets().get(name)
    spoken = preset.speaking(CHAT) if preset else None
    if name and spoken is None:
        known = ", ".join(key for key, row in presets().items() if row.speaking(CHAT))
        raise SettingsInvalid(f"there is no known backend {name!r} that speaks {CHAT}; there are: {known}", key=name)
    if spoken is None:
        return Backend(name="", dialect=CHAT, url="", realm="")
    fields = {field: getattr(spoken, field) for field in ("model", "quirks", "wire", "speech", "responses", "by_model")}
    return Backend(name=name, dialect=CHAT, url=spoken.url, realm=spoken.realm, **fields)
