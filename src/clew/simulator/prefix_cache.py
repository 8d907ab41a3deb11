"""The prompt cache of vendors that cache by themselves: the part that a request shares with an earlier one is cached."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from clew.model.json import JsonValue


@dataclass(frozen=True, slots=True)
class PrefixCache:
    """The beginnings of the prompts that one simulator has seen."""

    _seen: set[bytes] = field(default_factory=set[bytes])

    def use(self, segments: Iterable[tuple[JsonValue, int]], *, owner: str, model: str, unit: int) -> int:
        """The number of prompt tokens that this owner sent before, from the beginning on, in whole units.

        A segment is a piece of the prompt and its tokens. The whole prompt counts as seen from now on.
        """
        running = hashlib.sha256(f"{owner}\n{model}".encode())
        cached = count = 0
        for segment, tokens in segments:
            running.update(msgspec.json.encode(segment, order="sorted"))
            count += tokens
            if running.digest() in self._seen:
                cached = count
            self._seen.add(running.digest())
        return cached // unit * unit if unit else 0

    def reset(self) -> None:
        self._seen.clear()
