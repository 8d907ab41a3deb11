"""How the log is written: a record becomes one line, and a thread of its own writes it.

A record is a line of JSON, or of key=value on a terminal. Whatever a client or a model put into a field stays inside its
quotes: control characters, line separators and marks that turn the direction of writing are escaped, so no field can begin
a line or move a cursor. Records of other libraries come the same way, with their tracebacks, and all of it goes through the
redactor.

The thread keeps a slow disk or a blocked pipe away from the event loop. What may wait is bounded; what does not fit is
counted, and the count is told as soon as there is room.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import IO, Final, TypeAlias

import msgspec

from clew.engine.log.body import body_value
from clew.engine.redact import Redactor
from clew.model.json import JsonObject, JsonValue

__all__ = ["TRACE", "Form", "Line", "Sink", "as_json", "as_pairs", "line_of"]

TRACE: Final = 5
"""Below DEBUG: one line for each block."""

LONGEST: Final = 2000
"""Characters of a field that came from outside. Bodies are asked for whole, and are not cut."""

WAITING: Final = 10_000
WAITING_BYTES: Final = 64 << 20
LINGER_SECONDS: Final = 0.05
FLUSH_SECONDS: Final = 5.0

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
    lines = 1

    def each(self) -> Sequence[Line]:
        """One for each line, where it is many."""
        return ()

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

    def told(self, at: str) -> Sequence[msgspec.Struct]:
        """All that its lines of JSON say, where that has a form of its own."""
        return ()


def line_of(record: logging.LogRecord, redact: Redactor, form: Form, *, pretty: bool = False) -> str:
    """The record as it is written, without the newline. A pretty one with a body is indented JSON, so it has several."""
    if form is as_json and isinstance(record, Line) and record.names is not None and redact.trusts(record.names):
        told = record.told(_moment(record.created))
        if told:
            return _as_lines(told)
    if isinstance(record, Line) and (many := record.each()):
        return "\n".join([line_of(each, redact, form) for each in many])
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
    return told | _cleaned(_body(record), redact) if hasattr(record, "raw") else told


def _cleaned(fields: JsonObject, redact: Redactor) -> JsonObject:
    cleaned = redact.clean(fields)
    assert isinstance(cleaned, dict)
    return cleaned


def _body(record: logging.LogRecord) -> JsonObject:
    """Read here, in the log's own thread: bodies are large."""
    raw = getattr(record, "raw", None)
    thinking = getattr(record, "thinking", False)
    return {"body": body_value(raw, thinking=thinking)} if isinstance(raw, bytes) else {}


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


def _as_lines(told: Sequence[msgspec.Struct]) -> str:
    try:
        return _visible(_encoder.encode_lines(told)[:-1].decode())
    except UnicodeEncodeError:  # half a character
        return "\n".join([as_json(msgspec.to_builtins(each)) for each in told])


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
    return " ".join((moment[11:19], level.upper().ljust(7), _UNSEEN.sub(_escape, _oneline(event)), *rest))


def _pair(value: JsonValue) -> str:
    if isinstance(value, str) and _BARE.fullmatch(value):
        return value
    return _UNSEEN.sub(_escape, json.dumps(value, ensure_ascii=False))


def _oneline(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


class Sink(logging.Handler):
    """Where records go: `line` makes the text, `out` gets it, in a thread. `close` writes what waits.

    An `owned` output is closed then.
    """

    def __init__(self, out: IO[str], line: Callable[[logging.LogRecord], str], *, owned: bool = False) -> None:
        super().__init__()
        self._out = out
        self._owned = owned
        self._line = line
        self._waiting: deque[logging.LogRecord] = deque()
        self._bytes = 0
        self._more = 0
        """Lines that wait, beyond one for each record."""
        self._lost = 0
        self._closing = False
        self._writing = False
        self._hurry = False
        self._asleep = False
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._thread = threading.Thread(target=self._write, name="clew log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "is_light", False) and len(self._waiting) < WAITING and not self._closing:
            self._waiting.append(record)  # no lock: a deque takes one at a time, and one thread takes them out again
            if self._asleep:
                with self._lock:
                    self._arrived.notify_all()
            return
        weight, lines = _weight(record), getattr(record, "lines", 1)
        with self._lock:
            waiting = len(self._waiting) + self._more + lines
            if self._closing or waiting > WAITING or self._bytes + weight > WAITING_BYTES:
                self._lost += lines
                return
            self._waiting.append(record)
            self._bytes += weight
            self._more += lines - 1
            if len(self._waiting) == 1:
                self._arrived.notify_all()

    def flush(self) -> None:
        """Wait until what came so far is written, but not for ever."""
        with self._arrived:
            self._hurry = True
            self._arrived.notify_all()
            self._arrived.wait_for(lambda: not self._waiting and not self._writing, FLUSH_SECONDS)
            self._hurry = False

    def close(self) -> None:
        with self._arrived:
            self._closing = True
            self._arrived.notify_all()
        self._thread.join(FLUSH_SECONDS)
        if self._owned and not self._thread.is_alive():
            self._out.close()
        super().close()

    def _write(self) -> None:
        for batch in self._batches():
            text = "".join(f"{self._safe(record)}\n" for record in batch)
            try:
                self._out.write(text)
                self._out.flush()
            except (OSError, ValueError):
                continue  # a log that cannot be written has nobody to tell

    def _batches(self) -> Iterator[list[logging.LogRecord]]:
        """All that waits, a moment after something does: a thread that wakes for each line would cost more than the line."""
        while True:
            with self._arrived:
                self._writing = False
                self._arrived.notify_all()
                self._asleep = True  # before the look: whoever comes after it wakes us
                self._arrived.wait_for(lambda: self._waiting or self._closing)
                self._asleep = False
                self._arrived.wait_for(lambda: self._hurry or self._closing, LINGER_SECONDS)
                batch, lost = [self._waiting.popleft() for _ in range(len(self._waiting))], self._lost
                if not batch and not lost:
                    return
                self._writing = True
                self._bytes = self._more = self._lost = 0
            yield [*batch, _loss(lost)] if lost else batch

    def _safe(self, record: logging.LogRecord) -> str:
        """A record that cannot be written is said to be so: the log must not end because of one line."""
        try:
            return self._line(record)
        except Exception as error:
            return as_json({"level": "error", "event": "log", "why": f"a record cannot be written: {type(error).__name__}"})


def _weight(record: logging.LogRecord) -> int:
    raw = getattr(record, "raw", b"")
    return len(raw) if isinstance(raw, bytes) else 0


def _loss(lost: int) -> logging.LogRecord:
    told = "lines lost: the log could not be written as fast as it came"
    record = logging.LogRecord("clew", logging.WARNING, "", 0, told, None, None)
    record.fields = {"lost": lost}
    return record
