"""Histories: what was read of the last requests, so that the next of a conversation is read from where it goes on.

A request is looked for by its owner and by how its history begins; the candidate is compared byte for byte
(`wire.known_history`), so a wrong guess costs time and nothing else, and histories of two principals are never compared.
What is kept is bounded in bytes over all; the longest unused goes first. Several may begin alike (forks, sub-agents of
one prompt), so a few are kept for each beginning.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from msgspec import structs

from clew.engine.aside import LARGE
from clew.engine.gathering import recalled_bytes
from clew.exchange.call import Call
from clew.model.past import Fold, Retold, folded, told_first
from clew.model.request import ALWAYS, Request, Source, Wanted, blocks_of
from clew.wire.known_history import read_on

MOST_BYTES = 64 * 1024 * 1024
LEAST = 16 * 1024
"""Bytes of a request that is worth remembering: a shorter one is read as fast as it is looked for."""
AT_ONCE = 8 * 1024 * 1024
"""Bytes that may be compared in the event loop; that is a millisecond."""
ALIKE = 4
"""Histories with one beginning that are kept."""
NEAR = 8
"""Messages at the end that may be others where a history is still taken to go on, and not to have forked."""

_MESSAGES, _BEGINNING = b'"messages"', 1024
_MESSAGE, _BLOCK = 1024, 256  # about what each takes besides its bytes

_Key: TypeAlias = tuple[str, str, str, bytes]


class _Kept(NamedTuple):
    source: Source
    weight: int


class Histories:
    """Any thread may ask."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, list[_Kept]] = OrderedDict()
        self._at = 0
        """Where the messages began in the last request: in the next one they nearly always begin there, too."""
        self.bytes = 0
        """About how many are kept."""

    def read(self, call: Call, wanted: Wanted = ALWAYS) -> Request:
        """As the front dialect reads it. Only long documents that are canonical are remembered: short ones are read as fast,
        and others are made again for each request."""
        is_kept = len(call.body) >= LEAST and call.front.is_canonical
        recalled = self._recalled(call, len(call.body) // 2, wanted) if is_kept else None
        if recalled is not None:
            return recalled
        request = call.front.read_request(call.body, call.headers, wanted)
        source = request.source
        source.body = structs.replace(source.body, messages=told_first(source.body.messages))
        if is_kept:
            self._keep(self._key(call), source, None)
        return Request(source, source.body, request.betas)

    def recall(self, call: Call) -> Request | None:
        """The request, if that is a matter of a moment."""
        is_quick = len(call.body) <= AT_ONCE and call.front.is_canonical
        return self._recalled(call, LARGE, ALWAYS, measured=True) if is_quick else None

    def clear(self) -> None:
        """Let go of everything: which thread it belongs to, nobody knows here. It is read again when it comes."""
        with self._lock:
            self._kept.clear()
            self.bytes = 0

    def _recalled(self, call: Call, most: int, wanted: Wanted, *, measured: bool = False) -> Request | None:
        key, best, old = self._key(call), None, None
        for known, _ in tuple(self._kept.get(key, ())):
            found = read_on(known, call.body, most, wanted) if known.layout or not measured else None
            if found is None:
                continue
            in_common = _in_common(found)
            if in_common >= len(known.body.messages) - NEAR:  # it goes on
                best, old = found, known
                break
            if best is None or in_common > _in_common(best):
                best = found
        if best is None:
            return None
        self._keep(key, best, old)
        return Request(best, best.body, call.betas)

    def _keep(self, key: _Key, new: Source, old: Source | None) -> None:
        """`old` is the one that it takes the place of."""
        with self._lock:
            kept = self._kept.setdefault(key, [])
            now = [_Kept(new, _weight(new)), *[each for each in kept if each.source is not old][: ALIKE - 1]]
            self.bytes += _sum(now) - _sum(kept)
            kept[:] = now
            self._kept.move_to_end(key)
            while self.bytes > self._most and self._kept:
                _, gone = self._kept.popitem(last=False)
                self.bytes -= _sum(gone)

    def _key(self, call: Call) -> _Key:
        context, body, at = call.context, call.body, self._at
        if not body.startswith(_MESSAGES, at):
            self._at = at = max(0, body.find(_MESSAGES))
        return context.principal, context.session, context.agent, body[at : at + _BEGINNING]


def _sum(kept: Iterable[_Kept]) -> int:
    return sum([each.weight for each in kept])


def _in_common(found: Source) -> int:
    messages = found.body.messages
    return messages.past.count if isinstance(messages, Retold) else 0


def _weight(source: Source) -> int:
    messages = source.body.messages
    views = _MESSAGE * len(messages) + _BLOCK * folded(messages, _BLOCKS)
    return len(source.raw) + source.held + views + recalled_bytes(messages)


_BLOCKS = Fold(0, lambda before, messages, at: before + sum([len(blocks_of(message)) for message in messages]))
