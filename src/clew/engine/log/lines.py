"""How the log is written: a record becomes one line. (`sink` writes it.)

A record is a line of JSON, or of key=value. Whatever a client or a model put into a field stays inside its
quotes: control characters, line separators and marks that turn the direction of writing are escaped, so no field can begin
a line or move a cursor. Records of other libraries come the same way, with their tracebacks, and all of it goes through the
redactor.
"""

from __future__ import annotations

import json
import logging
import re
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec

from clew.exchange.redact import Redactor
from clew.model.json import JsonObject, JsonValue

TRACE: Final = 5
"""Below DEBUG: one line for each block."""

LONGEST: Final = 2000
"""Characters of a field that came from outside. Bodies are asked for whole, and are not cut."""

_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]")
_BARE = re.compile(r"[\w./:@%+\-]+", re.ASCII)

_encoder = msgspec.json.Encoder()

Form: TypeAlias = Callable[[JsonObject], str]


class Line(logging.LogRecord):
    """A record of clew's own. Every request makes one, so it knows what is written and no more: finding out where in the
    code it was made, which nobody reads, would cost more than all the rest."""

    args = exc_info = exc_text = stack_info = None
    pathname = filename = module = funcName = ""  # noqa: N815  (as `logging` names them)
    lineno = 0
    is_light = False
    """Every request makes one, and it holds no body."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """All in it that came from outside, if that is known."""
        return None

    def __init__(
        self, name: str, level: int, event: str, fields: JsonObject, more: Mapping[str, object] | None = None
    ) -> None:
        self.name = name
        self.msg = event
        self.levelno = level
        self.levelname = "INFO" if level == logging.INFO else logging.getLevelName(level)
        self.created = time.time()
        self.msecs = self.created % 1 * 1000
        self._fields = fields
        if more:
            self.__dict__.update(more)

    @property
    def fields(self) -> JsonObject:
        """What it says."""
        return self._fields

    def told(self, at: str) -> msgspec.Struct | None:
        """All that its line of JSON says, where that has a form of its own."""
        return None


def line_of(record: logging.LogRecord, redact: Redactor, form: Form, *, pretty: bool = False) -> str:
    """The record as it is written, without the newline. A pretty one with a body is indented JSON, so it has several."""
    if form is as_json and isinstance(record, Line) and record.names is not None and redact.trusts(record.names):
        told = record.told(_moment(record.created))
        if told is not None:
            with suppress(UnicodeEncodeError):  # half a character: the other writer can say it
                return _visible(_encoder.encode(told).decode())
            return as_json(msgspec.to_builtins(told))
    level = "trace" if record.levelno == TRACE else record.levelname.lower()
    fields: JsonObject = {"at": _moment(record.created), "level": level, **_fields(record, redact)}
    return as_json(fields, indent=True) if pretty and "body" in fields else form(fields)


def _moment(at: float) -> str:
    return f"{_second(int(at))}.{int(at % 1 * 1000):03d}Z"


@lru_cache(maxsize=2)
def _second(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()[:19]


def _fields(record: logging.LogRecord, redact: Redactor) -> JsonObject:
    fields: JsonObject | None = getattr(record, "fields", None)
    told: JsonObject = {"event": record.getMessage()} if fields is not None else _foreign(record)
    told = told | fields if fields else told
    names: tuple[str, ...] | None = getattr(record, "names", None)
    if names is not None and redact.trusts(names):
        return told
    texts = "\n".join([value for value in told.values() if isinstance(value, str)])
    if redact.suspects(texts):
        told = _cleaned(told, redact)
    if len(texts) > LONGEST:  # later than that: half a secret is not recognised
        told = {name: _short(value, name) for name, value in told.items()}
    raw = getattr(record, "raw", None)
    if not isinstance(raw, bytes):
        return told
    body = body_value(raw, thinking=getattr(record, "thinking", False))  # in the log's own thread: bodies are large
    return told | _cleaned({"body": body}, redact)


def _cleaned(fields: JsonObject, redact: Redactor) -> JsonObject:
    cleaned = redact.clean(fields)
    assert isinstance(cleaned, dict)
    return cleaned


def _foreign(record: logging.LogRecord) -> JsonObject:
    told: JsonObject = {"event": record.name, "message": record.getMessage()}
    if record.exc_info and record.exc_info[0]:
        told["exception"] = "".join(traceback.format_exception(*record.exc_info))
    return told


def _short(value: JsonValue, name: str) -> JsonValue:
    """The beginning of a long text; of a traceback its end, which says what happened."""
    if not isinstance(value, str) or len(value) <= LONGEST:
        return value
    return f"…{value[-LONGEST:]}" if name == "exception" else f"{value[:LONGEST]}… ({len(value)} characters)"


def as_json(fields: JsonObject, *, indent: bool = False) -> str:
    """One line, or with `indent` a block of lines of which only the first begins with a brace."""
    try:
        raw = msgspec.json.encode(fields)
    except UnicodeEncodeError:  # half a character: the other writer can say it
        raw = json.dumps(fields).encode()
    return _visible((msgspec.json.format(raw, indent=2) if indent else raw).decode())


def _visible(text: str) -> str:
    return text if text.isascii() and "\x7f" not in text else _UNSEEN.sub(_escape, text)


def as_pairs(fields: JsonObject) -> str:
    """For people at a terminal."""
    moment, level, event, *_ = (str(fields.get(name, "")) for name in ("at", "level", "event"))
    rest = (f"{name}={_pair(value)}" for name, value in fields.items() if name not in ("at", "level", "event"))
    event = json.dumps(event, ensure_ascii=False)[1:-1]
    return " ".join((moment[11:19], level.upper().ljust(7), _UNSEEN.sub(_escape, event), *rest))


def _pair(value: JsonValue) -> str:
    if isinstance(value, str) and _BARE.fullmatch(value):
        return value
    return _UNSEEN.sub(_escape, json.dumps(value, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


_THOUGHTS: Final = frozenset(
    {
        "thinking",
        "signature",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "encrypted_content",
        "thought_signature",
    }
)
"""Fields whose text is a thought or its proof, in any dialect. As parameters they hold objects, which stay."""


def body_value(raw: bytes, *, thinking: bool) -> JsonValue:
    """JSON as a value, a stream as the list of its events' data, anything else as text."""
    try:
        return _shown(msgspec.json.decode(raw), thinking)
    except (ValueError, RecursionError):
        pass
    if raw.startswith((b"event:", b"data:", b":")):
        return [_line(line[5:].strip(), thinking) for line in raw.splitlines() if line.startswith(b"data:")]
    return _text(raw, thinking)


def _line(data: bytes, thinking: bool) -> JsonValue:
    try:
        return _shown(msgspec.json.decode(data), thinking)
    except (ValueError, RecursionError):
        return _text(data, thinking)


def _text(raw: bytes, thinking: bool) -> str:
    if not thinking and any(name.encode() in raw for name in _THOUGHTS):
        return f"[{len(raw)} bytes that cannot be read, and may hold thinking]"
    return raw.decode("utf-8", "replace")


def _shown(value: JsonValue, thinking: bool) -> JsonValue:
    if thinking:
        return value
    if isinstance(value, list):
        return [_shown(member, thinking) for member in value]
    return _object(value) if isinstance(value, dict) else value


def _object(value: JsonObject) -> JsonObject:
    hidden = _THOUGHTS | {"data"} if value.get("type") == "redacted_thinking" else _THOUGHTS
    return {name: _length(member) if name in hidden else _shown(member, False) for name, member in value.items()}


def _length(member: JsonValue) -> JsonValue:
    if isinstance(member, list):
        return f"[{len(member)} items]"
    return f"[{len(member)} characters]" if isinstance(member, str) and member else _shown(member, False)
