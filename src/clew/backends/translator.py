"""Translator: a backend of another dialect for programs that bring their own connection.

Pure, like all that it is made of: it writes requests and reads answers, and sends nothing. Seals, recordings and switches
are the gateway's; what a maker needs back stands as the signature of its thinking blocks, and goes back to it if the program
sends these blocks again.
"""

from __future__ import annotations

import json

from msgspec import structs

from clew.backends.presets import presets
from clew.backends.row import Backend, chat_options_of
from clew.dialects.failures.reading import failure_of
from clew.dialects.openai_chat.answers import read_message
from clew.dialects.openai_chat.requests import write_request
from clew.dialects.openai_chat.streams import ChatStreamReader
from clew.dialects.shape import AnswerContext, WrittenRequest
from clew.errors import BackendRejected, SettingsInvalid
from clew.model.failure import Failure
from clew.model.json import JsonObject
from clew.wire.events import encode_event
from clew.wire.requests import parse

CHAT = "openai-chat"


class Translator:
    """One exchange with a backend that speaks Chat Completions, in the words of the Messages API.

    `backend` is a name of the table of backends; without one every field of reasoning is read. `served` is the backend's own
    name of the model, `model` the one that answers are to bear.

    >>> translator = Translator(backend="deepseek", served="deepseek-v4-pro")
    >>> asked = {"model": "claude-opus-5-5", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
    >>> translator.request(asked).body[:27]
    b'{"model":"deepseek-v4-pro",'
    >>> chunk = b'data: {"choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}'
    >>> print(translator.feed(chunk + b"\\n\\n").decode().splitlines()[-2])
    data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}
    """

    def __init__(self, *, backend: str = "", served: str = "", model: str = "", message_id: str = "msg_0") -> None:
        row = _row(backend)
        self._served = served or row.model
        self._options = chat_options_of(row, self._served)
        self.left_out: list[str] = []
        """Kinds of parts in the answers that the Messages API has no block for, such as "image"."""
        self._context = AnswerContext(
            model=model or self._served, message_id=message_id, unsaid=self.left_out.append, own_ids=False
        )
        self._stream = ChatStreamReader(self._context, self._options)

    def request(self, body: bytes | JsonObject) -> WrittenRequest:
        """What to post to the backend, and what became of the rest. Raises Unrepresentable, RequestInvalid."""
        raw = body if isinstance(body, bytes) else json.dumps(body, allow_nan=False).encode()
        request = parse(raw)
        self._context = structs.replace(self._context, document=raw)
        self._stream = ChatStreamReader(self._context, self._options)
        return write_request(request.with_fields(model=self._served) if self._served else request, self._options)

    def feed(self, data: bytes) -> bytes:
        """The server-sent events of the Messages API that these bytes of the backend's stream complete."""
        return b"".join(map(encode_event, self._stream.feed(data)))

    def flush(self) -> bytes:
        """What the end of the stream completes; an error event, if it ended too early."""
        return b"".join(map(encode_event, self._stream.flush()))

    def message(self, body: bytes, status: int = 200) -> JsonObject:
        """A whole answer as a message. Raises BackendRejected, in Anthropic's words, for one that is an error."""
        found = failure_of(status, body) if status >= 400 else read_message(body, self._context, self._options)
        if isinstance(found, Failure):
            raise BackendRejected(found.message, status=found.status, body=body)
        return found


def _row(name: str) -> Backend:
    preset = presets().get(name)
    spoken = preset.speaking(CHAT) if preset else None
    if name and spoken is None:
        known = ", ".join(key for key, row in presets().items() if row.speaking(CHAT))
        raise SettingsInvalid(f"nothing is known of a backend {name!r} that speaks {CHAT}; there are: {known}", key=name)
    if spoken is None:
        return Backend(name="", dialect=CHAT, url="", realm="")
    fields = {field: getattr(spoken, field) for field in ("model", "quirks", "wire", "speech", "by_model")}
    return Backend(name=name, dialect=CHAT, url=spoken.url, realm=spoken.realm, **fields)
