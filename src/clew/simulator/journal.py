"""What came, what was found, what went out: one entry for each request, in memory and as JSON lines.

The journal is the oracle of most tests, so it tells what no client can see: which thinking blocks came back, whose they
are and what became of each; and whether the answer ended, was cut on purpose, or lost its reader, and when. Secrets are
masked on the way in; the key is told by its fingerprint. Bodies are kept as they came; when they grow over the budget, the
oldest are forgotten first.
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
from clew.simulator.accounts import credential_of
from clew.simulator.answers import ModelAnswer
from clew.simulator.interfaces import BlockFate, Verdict, Violation

__all__ = ["Entry", "Journal", "encoded"]

_SECRETS: Final = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-clew-key", "x-goog-api-key"}
)
_MASK: Final = "***"
_BODY_BUDGET: Final = 256 * 1024 * 1024


@dataclass(slots=True, kw_only=True)
class Entry:
    """One request and what befell it."""

    n: int
    request_id: str
    account: str
    credential: str
    """The first 8 hex digits of the key's SHA-256; "" without one."""
    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    body: bytes | None
    """None once it has been forgotten."""
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
    """When: of an answer that lost its reader, the moment at which the connection was known to be gone."""
    readable: bool | None = None
    """Is the body JSON? None until somebody asks: it costs as much as reading it."""

    def judged(self, verdict: Verdict) -> None:
        """Note what the judge found."""
        self.found([_fate(block) for block in verdict.prompt.blocks], verdict.violation)

    def found(self, thinking: list[JsonObject], violation: Violation | None) -> None:
        """Note which thinking came back, and what is wrong with the request."""
        self.thinking = thinking
        self.verdict = {"ok": True} if violation is None else _violation(violation)

    def refused(self, violation: Violation) -> None:
        """Note why there is no answer."""
        self.verdict = _violation(violation)
        self.response = {"status": violation.status}

    def played(self, scenario: str, turn: int) -> None:
        """Note where the answer is written."""
        self.scenario, self.turn = scenario, turn

    def answered(self, answer: ModelAnswer, *, id: str, model: str, stop: str | None, stream: bool) -> None:
        """Note what the model says, and what the client is told of it."""
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
        """The entry for a reader: the body as JSON where it is, as text or base64 where it is not."""
        if self.readable is None:
            self.readable = _is_json(self.body or b"")
        shown = {name: getattr(self, name) for name in self.__slots__ if name not in ("body", "readable")}
        return {**shown, **_body(self.body or b"", readable=self.readable)}


class Journal:
    """The entries of one simulator. `file` gets each as a line when it has ended."""

    def __init__(
        self, file: Path | None = None, body_budget: int = _BODY_BUDGET, *, now: Callable[[], float] = time.time
    ) -> None:
        self._now = now
        self._entries: list[Entry] = []
        self._next = 1
        self._budget = body_budget
        self._kept = 0
        self._oldest = 0
        self._file = file.open("ab") if file else None

    def open(self, request: HttpRequest, request_id: str, account: str) -> Entry:
        """Begin an entry."""
        entry = Entry(
            n=self._next,
            request_id=request_id,
            account=account,
            credential=_fingerprint(credential_of(request.joined)),
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
        self._kept += len(request.body)
        self._forget()
        return entry

    def close(self, entry: Entry, ended: Literal["whole", "cut", "client left"]) -> None:
        """The answer is over."""
        entry.ended, entry.ended_at = ended, self._now()
        if self._file is not None:
            self._file.write(msgspec.json.encode(_on_one_line(entry.as_json())) + b"\n")
            self._file.flush()

    def since(self, n: int = 0) -> Iterator[Entry]:
        """Entries after number n, in order of arrival. Numbers are never used twice."""
        return (entry for entry in self._entries if entry.n > n)

    def find(self, n: int) -> Entry | None:
        return next((entry for entry in self._entries if entry.n == n), None)

    def reset(self) -> None:
        """Forget all entries; the file keeps its lines."""
        self._entries.clear()
        self._kept = self._oldest = 0

    def shut(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _forget(self) -> None:
        while self._kept > self._budget and self._oldest < len(self._entries) - 1:
            entry = self._entries[self._oldest]
            self._kept -= len(entry.body or b"")
            entry.body, entry.readable = None, None
            self._oldest += 1


def encoded(entries: Iterable[Entry]) -> bytes:
    """Entries as one JSON array."""
    return msgspec.json.encode([entry.as_json() for entry in entries])


def _on_one_line(shown: dict[str, object]) -> dict[str, object]:
    """The body's own line breaks must go."""
    body = shown.get("body")
    return {**shown, "body": msgspec.json.decode(body)} if isinstance(body, msgspec.Raw) else shown


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return False
    return True


def _body(body: bytes, *, readable: bool) -> dict[str, object]:
    if readable:
        return {"body": msgspec.Raw(body)}
    return {"body": None, **_opaque(body)}


def _opaque(body: bytes) -> dict[str, str]:
    if not body:
        return {}
    try:
        return {"body_text": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode("ascii")}


def _fate(block: BlockFate) -> JsonObject:
    return {
        "path": block.path,
        "maker": block.maker,
        "whose": block.whose,
        "fate": block.fate,
        "reason": block.reason,
    }


def _fingerprint(key: str) -> str:
    return hashlib.sha256(key.encode("latin-1", "replace")).hexdigest()[:8] if key else ""


def _violation(violation: Violation) -> JsonObject:
    return {
        "ok": False,
        "rule": violation.rule,
        "grade": violation.grade,
        "status": violation.status,
        "type": violation.error_type,
        "message": violation.message,
        "path": violation.path,
    }
