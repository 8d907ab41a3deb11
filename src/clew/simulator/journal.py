"""The journal: one entry for each request, with what was found and what went out, in memory and as JSON lines.

Most tests read the journal, so it tells what no client can see: which thinking blocks came back, whose they are and what
became of each; and whether the answer ended, was cut on purpose, or lost its reader, and when. Secrets are masked before
they are stored; the key is shown as a fingerprint. Bodies are kept as they came; over a budget, the oldest are dropped
first.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import msgspec

from clew.http.message import HttpRequest
from clew.model.json import JsonObject
from clew.simulator.identity import credential_of
from clew.simulator.interfaces import JudgeVerdict, VendorRefusal
from clew.simulator.player import PlayedTurn

_SECRETS: Final = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-clew-key", "x-goog-api-key"}
)
_MASK: Final = "***"
_BODY_BUDGET: Final = 256 * 1024 * 1024


@dataclass(slots=True, kw_only=True)
class JournalEntry:
    """A request that the simulator got, with its answer and the verdict on it."""

    n: int
    request_id: str
    account: str
    credential: str
    """The first 8 hex digits of the key's SHA-256; "" without a key."""
    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    body: bytes | None
    """None once it has been dropped."""
    size: int
    came: float
    """When the whole request was there, in seconds since the epoch."""
    verdict: JsonObject | None = None
    thinking: list[JsonObject] = field(default_factory=list[JsonObject])
    scenario: str | None = None
    turn: int | None = None
    faults: list[str] = field(default_factory=list[str])
    response: JsonObject | None = None
    ended: Literal["no", "whole", "cut", "client left"] = "no"
    ended_at: float | None = None
    """When the answer ended; if it lost its reader, when the connection was known to be gone."""
    readable: bool | None = None
    """Whether the body is JSON; None until it is needed, since finding out costs as much as reading the body."""

    def record_verdict(self, verdict: JudgeVerdict) -> None:
        fates: list[JsonObject] = [
            {"path": block.path, "maker": block.maker, "whose": block.whose, "fate": block.fate, "reason": block.reason}
            for block in verdict.prompt.blocks
        ]
        self.record_thinking(fates, verdict.violation)

    def record_thinking(self, thinking: list[JsonObject], refusal: VendorRefusal | None) -> None:
        """Record the returned thinking, and the verdict on the request."""
        self.thinking = thinking
        self.verdict = {"ok": True} if refusal is None else _refusal_json(refusal)

    def record_refusal(self, refusal: VendorRefusal) -> None:
        self.verdict = _refusal_json(refusal)
        self.response = {"status": refusal.status}

    def record_answer(self, played: PlayedTurn, *, id: str, model: str, stop: str | None, stream: bool) -> None:
        """Record the answer as the client gets it."""
        answer = played.answer
        self.scenario, self.turn = played.scenario, played.turn
        self.faults = [fault.kind for fault in answer.faults]
        self.response = {
            "status": 200,
            "stream": stream,
            "message_id": id,
            "model": model,
            "content": [block.get("type") for block in answer.content],
            "stop_reason": stop,
            "output_tokens": answer.output_tokens,
        }

    def as_json(self) -> dict[str, object]:
        """The entry for a reader: the body as JSON if it is JSON, else as text or base64."""
        body = self.body or b""
        if self.readable is None:
            try:
                msgspec.json.decode(body)
                self.readable = True
            except (ValueError, RecursionError):
                self.readable = False
        shown = {name: getattr(self, name) for name in self.__slots__ if name not in ("body", "readable")}
        shown["body"] = msgspec.Raw(body) if self.readable else None
        if body and not self.readable:
            try:
                shown["body_text"] = body.decode("utf-8")
            except UnicodeDecodeError:
                shown["body_base64"] = base64.b64encode(body).decode("ascii")
        return shown


class Journal:
    """The entries of one simulator. `file` gets each entry as a line when its answer has ended."""

    def __init__(
        self, file: Path | None = None, body_budget: int = _BODY_BUDGET, *, now: Callable[[], float] = time.time
    ) -> None:
        self._now = now
        self._entries: list[JournalEntry] = []
        self._next = 1
        self._budget = body_budget
        self._body_bytes = 0
        self._dropped = 0
        self._file = file.open("ab") if file else None

    def open(self, request: HttpRequest, request_id: str, account: str) -> JournalEntry:
        """Add an entry for a request that begins."""
        key = credential_of(request.joined)
        entry = JournalEntry(
            n=self._next,
            request_id=request_id,
            account=account,
            credential=hashlib.sha256(key.encode("latin-1", "replace")).hexdigest()[:8] if key else "",
            method=request.method,
            path=request.path,
            query=request.query,
            headers=[(name, _MASK if name in _SECRETS else value) for name, value in request.headers],
            body=request.body,
            size=len(request.body),
            came=self._now(),
        )
        self._next += 1
        self._entries.append(entry)
        self._body_bytes += len(request.body)
        while self._body_bytes > self._budget and self._dropped < len(self._entries) - 1:  # the newest is always kept
            oldest = self._entries[self._dropped]
            self._body_bytes -= len(oldest.body or b"")
            oldest.body, oldest.readable = None, None
            self._dropped += 1
        return entry

    def close(self, entry: JournalEntry, ended: Literal["whole", "cut", "client left"]) -> None:
        """Record the end of the answer."""
        entry.ended, entry.ended_at = ended, self._now()
        if self._file is not None:
            shown = entry.as_json()
            body = shown["body"]
            if isinstance(body, msgspec.Raw):  # the line must not have the body's own line breaks
                shown["body"] = msgspec.json.decode(body)
            self._file.write(msgspec.json.encode(shown) + b"\n")
            self._file.flush()

    def since(self, n: int = 0) -> Iterator[JournalEntry]:
        """The entries after number n, in the order of arrival. A number is never used twice."""
        return iter(self._entries[max(0, n + 1 - self._first) :])

    def find(self, n: int) -> JournalEntry | None:
        index = n - self._first
        return self._entries[index] if 0 <= index < len(self._entries) else None

    def reset(self) -> None:
        """Remove all entries; the file keeps its lines."""
        self._entries.clear()
        self._body_bytes = self._dropped = 0

    def close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    @property
    def _first(self) -> int:
        """The number of the first entry: the numbers have no gaps."""
        return self._next - len(self._entries)


def entries_json(entries: Iterable[JournalEntry]) -> bytes:
    """Entries as one JSON array."""
    return msgspec.json.encode([entry.as_json() for entry in entries])


def _refusal_json(refusal: VendorRefusal) -> JsonObject:
    return {
        "ok": False,
        "rule": refusal.rule,
        "grade": refusal.grade,
        "status": refusal.status,
        "type": refusal.error_type,
        "message": refusal.message,
        "path": refusal.path,
    }
