"""The log of requests, switches and recordings, with the events and fields that people grep for.

| level | event | says |
|---|---|---|
| INFO | `backend switch` | old and new backend, and the epochs that end and begin |
| INFO | `backend chosen` | the same choice under the session policy, where a switch is what the registry counts |
| INFO | `request` | what became of one request, with the counts of thinking blocks |
| DEBUG | `recorded` | one block of an answer: its hash, its epoch, its length (its beginning only if asked for) |
| DEBUG | `Started thinking block` | a block of an answer in another dialect has started |
| DEBUG | `Closed thinking block …` | it has stopped after so many deltas; `transitioning to …` says what takes its place |
| DEBUG | `Broke off thinking block` | the stream ended inside it: the client got no stop for it |
| DEBUG | `body` | a request or an answer, by its length, or whole |
| TRACE | `delta` | of an answer in another dialect: one delta, by its type and the index of its block |
| TRACE | `block` | one thinking block of a request: kept or removed, and why |

The *session* in these lines is the backend epoch of this process: how often the active backend has changed. It is for
people who follow a log. No decision depends on it (law 7), so under the origin policy the three cleanup counts are zero.
Under the session policy the session, the counts and the decisions are those of its registry, which has lines of its own
(`session_lines`).

`debug = false` writes no DEBUG and no TRACE line, whatever the level says. Nothing is built that nobody reads.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from msgspec import structs

from clew.engine.log.files import LogFile, LogOutput
from clew.engine.log.lines import TRACE, Line, as_json, as_pairs, line_of
from clew.engine.log.session_lines import decision_lines, registration_lines, short_hash, switch_line
from clew.engine.log.sink import Sink
from clew.engine.log.summary import Summary, SummaryCounts, short_line_of
from clew.exchange.redact import Redactor
from clew.model.blocks import is_thinking, made, string_of
from clew.model.change import THINKING_STEPS, Change, count_of
from clew.model.json import JsonObject
from clew.model.recording import Recording
from clew.model.turn import Exchange
from clew.pipeline.stream.translation import BlockStep
from clew.settings.values import LogSettings
from clew.thinking.registry.blocks import Registration
from clew.thinking.registry.table import BackendSwitch, Filtered

PREVIEW: Final = 50
"""Characters of a thought, where thinking text is asked for."""

OPEN: Final = 10_000
"""Requests whose decisions wait for their end. More were never finished: the oldest are forgotten."""

AS_IT_CAME: Final = "sent as it came"

_LEVELS: Final = {
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
    "trace": TRACE,
}
_NEXT: Final = {"text": "content", "tool_use": "tool use"}
"""What a block makes room for, in the words of the log; other types are said as they are."""
_UNDECIDED: Final = (None, None)
_GONE: Final = frozenset({"left out", "handed over", "healed"})


def open_log(wanted: LogSettings, redact: Redactor, *, out: LogOutput | None = None) -> Sink:
    """Send what clew and its libraries log to `out` (standard error), until the sink is closed. Once per process."""
    own = stream = out or sys.stderr
    with suppress(OSError, ValueError):  # a text in memory
        # under a descriptor of our own: lines that wait are written though the caller has closed its own
        own = os.fdopen(os.dup(stream.fileno()), "w", encoding="utf-8", errors="backslashreplace")
    form = wanted.form if wanted.form != "auto" else "short" if stream.isatty() else "json"
    if form == "short" and not wanted.full_body:
        line = partial(short_line_of, redact=redact)
    else:
        line = partial(line_of, redact=redact, form=as_json if form == "json" else as_pairs, pretty=wanted.pretty_print)
    sink = Sink(own, line, owned=own is not stream or isinstance(own, LogFile))
    logging.addLevelName(TRACE, "TRACE")
    logging.basicConfig(handlers=[sink], level=logging.WARNING, force=True)
    return sink


class RequestLog:
    """What the engine calls. `known` is how many thinking blocks the store held at the start."""

    def __init__(
        self,
        wanted: LogSettings,
        *,
        logger: logging.Logger | None = None,
        known: int = 0,
        sink: Sink | None = None,
        by_sessions: bool = False,
    ) -> None:
        """Lines go to `logger`, and so to its handlers; or at once to `sink`, where that is known to be all that listens.
        `by_sessions`: the registry of the session policy decides, and counts the switches."""
        self._logger = logger or logging.getLogger("clew")
        self._sink = sink
        self._write = sink.emit if sink is not None else self._logger.handle
        self._open: dict[str, tuple[SummaryCounts, int | None]] = {}
        """What was decided for each request that is under way, and the size of the table then, if there is one."""
        self._open_blocks: dict[str, BlockStep] = {}
        self._known = known
        self.epoch = 0
        self._none = SummaryCounts(0)
        self.wanted = wanted
        self.follow(wanted, by_sessions=by_sessions)

    def follow(self, wanted: LogSettings, *, by_sessions: bool = False) -> None:
        """New settings, from the next line on."""
        self.wanted = wanted
        self._by_sessions = by_sessions
        chosen = _LEVELS.get(wanted.level.lower(), logging.INFO)
        self._logger.setLevel(min(chosen, logging.DEBUG) if wanted.debug else max(chosen, logging.INFO))
        self.shows_bodies = self._logger.isEnabledFor(logging.DEBUG)
        """Looked at for every request, so it is looked up once."""
        self._tells = self._logger.isEnabledFor(logging.INFO)

    @property
    def traces(self) -> bool:
        """Whether anybody reads what `decided` has to say."""
        return self._logger.isEnabledFor(TRACE)

    def unrecorded(self, exchange: str, why: Exception) -> None:
        """An answer went out that the store could not take in time."""
        self._say(logging.WARNING, "unrecorded", {"exchange": exchange, "why": str(why)})

    def kept_here(self, exchange: str) -> None:
        """An answer went out that the shared store did not take in time: it waits on this machine."""
        self._say(logging.WARNING, "recorded on this machine", {"exchange": exchange, "recorded": "local"})

    def switched(self, old: str, new: str) -> None:
        """The active backend is another one. No line if it is the same."""
        if old == new:
            return
        if self._by_sessions:
            self._say(logging.INFO, "backend chosen", {"old_backend": old, "new_backend": new})
            return
        self.epoch += 1
        self._none = SummaryCounts(self.epoch)
        self._say(*switch_line(BackendSwitch(old, new, self.epoch - 1, self.epoch)))

    def decided(self, exchange: str, changes: Sequence[Change], kept: Sequence[str] | int) -> None:
        """What the projection did. `kept` are the paths of the blocks that went as they came, or just their number."""
        self._remember(exchange, self._counts(kept if isinstance(kept, int) else len(kept), changes))
        if self._logger.isEnabledFor(TRACE):
            self._trace(exchange, [change for change in changes if change.step in THINKING_STEPS], kept)

    def filtered(self, exchange: str, filtered: Filtered) -> None:
        """The same under the session policy: its own switches, counts and decisions."""
        if filtered.switch is not None:
            self._say(*switch_line(filtered.switch))
        counts = SummaryCounts(
            session=filtered.session,
            confirmed=filtered.confirmed,
            cleanup_old_session=filtered.cleanup_old_session,
            cleanup_confirmed_unused=filtered.cleanup_confirmed_unused,
            cleanup_orphaned=filtered.cleanup_orphaned,
            filtered_from_request=filtered.removed,
        )
        self._remember(exchange, counts, filtered.cache_size_after)
        for line in decision_lines(exchange, filtered) if self._logger.isEnabledFor(logging.DEBUG) else ():
            self._say(*line)
        for each in filtered.decisions if self._logger.isEnabledFor(TRACE) else ():
            self._block(exchange, each.path, "kept" if each.kept else "removed", each.why)

    def registered(self, exchange: str, registered: Registration) -> None:
        """What an answer brought into the registry of the session policy."""
        for line in registration_lines(exchange, registered, thinking_text=self.wanted.thinking_text):
            self._say(*line)

    def lived(self, exchange: str, step: BlockStep) -> None:
        """A block of a translated answer has started, grown or stopped."""
        if step.state == "delta":
            if (opened := self._open_blocks.get(exchange)) is not None:
                self._open_blocks[exchange] = structs.replace(opened, deltas=step.deltas)
            self._say_block(TRACE, "delta", exchange, step)
        elif step.state == "started":
            _make_room(self._open_blocks)
            self._open_blocks[exchange] = step
            self._say_block(logging.DEBUG, f"Started {step.type} block", exchange, step)
        else:
            self._open_blocks.pop(exchange, None)
            then = f", transitioning to {_NEXT.get(step.next, step.next)}" if step.next else ""
            self._say_block(logging.DEBUG, f"Closed {step.type} block{then}", exchange, step)

    def _say_block(self, level: int, event: str, exchange: str, step: BlockStep) -> None:
        if self._logger.isEnabledFor(level):
            fields: JsonObject = {"exchange": exchange, "state": step.state, "index": step.index, "type": step.type}
            self._say(level, event, fields | {"delta_count": step.deltas})

    def body(self, exchange: str, which: str, raw: bytes) -> None:
        """A body as it came or went: its length, or all of it where `full_body` asks for that."""
        if not self._logger.isEnabledFor(logging.DEBUG):
            return
        more = {"raw": bytes(raw), "thinking": self.wanted.thinking_text} if self.wanted.full_body else {}
        self._say(logging.DEBUG, "body", {"exchange": exchange, "which": which, "bytes": len(raw)}, more)

    def finished(self, exchange: Exchange, recording: Recording | None) -> None:
        """The end of a request: its blocks, then its summary."""
        if self._open_blocks and (left := self._open_blocks.pop(exchange.id, None)) is not None:
            broken = structs.replace(left, state="stopped")
            self._say_block(logging.DEBUG, f"Broke off {left.type} block", exchange.id, broken)
        counts, size = self._open.pop(exchange.id, _UNDECIDED) if self._open else _UNDECIDED
        if counts is None:
            counts = self._counts(exchange.kept, exchange.changes) if exchange.kept or exchange.changes else self._none
        if recording is not None:
            self._known += len(recording.keys)
            if self._logger.isEnabledFor(logging.DEBUG):
                self._recorded(recording, counts.session)
        if self._tells:
            self._write(Summary(self._logger.name, exchange, counts, self._known if size is None else size))

    def _counts(self, kept: int, changes: Sequence[Change]) -> SummaryCounts:
        gone = [change for change in changes if change.step in THINKING_STEPS and change.what in _GONE]
        return SummaryCounts(self.epoch, confirmed=kept, filtered_from_request=count_of(gone))

    def _recorded(self, recording: Recording, session: int) -> None:
        thoughts = [block for block in map(made, recording.blocks) if is_thinking(block)]
        for key, block in zip(recording.keys, thoughts, strict=False):
            text = string_of(block.thinking)
            fields: JsonObject = {"exchange": recording.id, "hash": short_hash(key), "session": session}
            fields |= {"content_preview": text[:PREVIEW]} if self.wanted.thinking_text else {"content_length": len(text)}
            self._say(logging.DEBUG, "recorded", fields | {"backend": recording.origin.backend, "type": block.type})

    def _trace(self, exchange: str, changes: Sequence[Change], kept: Sequence[str] | int) -> None:
        for path in () if isinstance(kept, int) else kept:
            self._block(exchange, path, "kept", AS_IT_CAME)
        for change in changes:
            decision = "removed" if change.what in _GONE else change.what
            self._block(exchange, change.path, decision, change.why, change.count)

    def _block(self, exchange: str, path: str, decision: str, why: str, count: int = 1) -> None:
        fields: JsonObject = {"exchange": exchange, "path": path, "decision": decision, "why": why}
        self._say(TRACE, "block", fields | ({"count": count} if count > 1 else {}))

    def _remember(self, exchange: str, counts: SummaryCounts, size: int | None = None) -> None:
        _make_room(self._open)
        self._open[exchange] = counts, size

    def _say(self, level: int, event: str, fields: JsonObject, more: Mapping[str, object] | None = None) -> None:
        if self._logger.isEnabledFor(level):
            self._write(Line(self._logger.name, level, event, fields, more))


def _make_room(waiting: dict[str, Any]) -> None:
    if len(waiting) >= OPEN:
        del waiting[next(iter(waiting))]
