"""What a simulated vendor of the Messages API remembers between requests.

*The prompt cache*, simplified: the prefixes that an account had marked (R58). A mark writes an entry for the prefix that it
ends, if that is long enough for the model. A later request reads the longest entry that ends at most twenty segments before
one of its own marks. Entries last five minutes or an hour from their last use. A different tool, system text or earlier
block is a different prefix, and misses.

*The thinking that it gave out.* A signature is the same for every `display` (R41), so a block does not show whether it was
given with its text. The rule that text in an omitted block is ignored (R34) needs to know. A simulator that did not give the
block itself, or was reset, compares the text with the signed one. And where a vendor's signature proves nothing, or there is
none, only this memory knows the vendor's own blocks.

*The quota*: rate-limit headers (R77) with what an account has left of its minute. The simulator limits no account by itself
(a fault sends 429 when a test wants one). It only shows the numbers, as the vendor does, with tokens rounded to thousands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from clew.model.json import JsonObject
from clew.simulator.interfaces import Books
from clew.simulator.values import segments

_LOOKBACK: Final = 20
_SECONDS: Final = {"5m": 300.0, "1h": 3600.0}
_WINDOW: Final = 60
_LIMITS: Final = {"requests": 4000, "input-tokens": 2_000_000, "output-tokens": 400_000}


@dataclass(frozen=True, slots=True)
class CacheUse:
    """What one request read from the cache and wrote to it, in tokens."""

    read: int = 0
    written_5m: int = 0
    written_1h: int = 0

    def within(self, total: int) -> CacheUse:
        """The same, limited to the whole prompt: the parts of the input add up to it (R73)."""
        read = min(self.read, total)
        written_1h = min(self.written_1h, total - read)
        return CacheUse(read, min(self.written_5m, total - read - written_1h), written_1h)


@dataclass(frozen=True, slots=True)
class _PrefixEnd:
    """The end of a segment, and the prefix up to it."""

    digest: bytes
    tokens: int
    ttl: str | None


class PromptCache:
    """The prompt cache of a simulator. `clock` counts seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._expiry: dict[bytes, float] = {}

    def use(self, request: JsonObject, *, owner: str, minimum: int, without: Set[str] = frozenset()) -> CacheUse:
        """Read and write for one request of this owner (account and model), without the segments at these paths."""
        ends = _prefix_ends(request, owner, without)
        marks = [i for i, end in enumerate(ends) if end.ttl and end.tokens >= minimum]
        if not marks:
            return CacheUse()
        now = self._clock()
        near = (end for mark in marks for end in ends[max(0, mark - _LOOKBACK + 1) : mark + 1])
        read = max((end.tokens for end in near if self._expiry.get(end.digest, 0) > now), default=0)
        written = {"5m": 0, "1h": 0}
        done = read
        for mark in marks:
            end = ends[mark]
            ttl = end.ttl or "5m"
            written[ttl] += max(0, end.tokens - done)
            done = max(done, end.tokens)
            self._expiry[end.digest] = now + _SECONDS[ttl]
        return CacheUse(read=read, written_5m=written["5m"], written_1h=written["1h"])

    def reset(self) -> None:
        self._expiry.clear()


def _prefix_ends(request: JsonObject, owner: str, without: Set[str]) -> list[_PrefixEnd]:
    found: list[_PrefixEnd] = []
    rolling = hashlib.sha256(owner.encode())
    tokens = 0
    for segment in segments(request):
        if segment.path in without:
            continue
        rolling.update(f"\n{segment.role}\n".encode())
        rolling.update(msgspec.json.encode(segment.value, order="sorted"))
        tokens += segment.tokens
        found.append(_PrefixEnd(rolling.digest(), tokens, None if segment.mark is None else _lifetime(segment.mark)))
    automatic = request.get("cache_control")
    if isinstance(automatic, dict) and found:
        found[-1] = _PrefixEnd(found[-1].digest, found[-1].tokens, _lifetime(automatic))
    return found


def _lifetime(mark: JsonObject) -> str:
    return "1h" if mark.get("ttl") == "1h" else "5m"


class GivenThinking:
    """The thinking that a simulator has sent to its clients. `books` is the judge's view of it."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._omitted: set[str] = set()
        self._shown: set[str] = set()
        self.books = Books(self._given, self._omitted)

    def record(self, content: Iterable[JsonObject]) -> None:
        """Remember the thinking of an answer. The client may ask for the same answer again, with another `display`."""
        for block in content:
            known = str(block.get("data") or block.get("signature") or block.get("thinking") or "")
            if known and "thinking" in str(block.get("type")):
                self._given.add(known)
                if block.get("thinking"):
                    self._shown.add(known)
                    self._omitted.discard(known)
                elif known not in self._shown:
                    self._omitted.add(known)

    def reset(self) -> None:
        for memory in (self._given, self._omitted, self._shown):
            memory.clear()


@dataclass(slots=True)
class _MinuteUse:
    window: int
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Quota:
    """Counts what each account uses in the current minute. `now` is seconds since the epoch."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._used: dict[str, _MinuteUse] = {}

    def headers(self, account: str, *, input_tokens: int = 0, output_tokens: int = 0) -> list[tuple[str, str]]:
        """Count one request; the headers with what is left."""
        window = int(self._now()) // _WINDOW
        used = self._used.get(account)
        if used is None or used.window != window:
            used = self._used[account] = _MinuteUse(window)
        used.requests += 1
        used.input_tokens += input_tokens
        used.output_tokens += output_tokens
        left = {
            "requests": max(0, _LIMITS["requests"] - used.requests),
            "input-tokens": max(0, round(_LIMITS["input-tokens"] - used.input_tokens, -3)),
            "output-tokens": max(0, round(_LIMITS["output-tokens"] - used.output_tokens, -3)),
        }
        reset = datetime.fromtimestamp((window + 1) * _WINDOW, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return [
            (f"anthropic-ratelimit-{name}-{what}", value)
            for name in left
            for what, value in (("limit", str(_LIMITS[name])), ("remaining", str(left[name])), ("reset", reset))
        ]

    def reset(self) -> None:
        self._used.clear()
