"""Ids that look like the vendor's, and signing keys. Both are the same in every run with the same seed.

An id depends on the seed, the account, the request's bytes, and on how often the same bytes came before. So parallel
requests get the same ids in whichever order they arrive, and a repeated request gets new ones, as it must.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

ToolIds: TypeAlias = Literal["unique", "call", "nine", "counted", "named", "empty"]
"""How a vendor names tool calls. Only the ids of the first three are unique."""

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_LENGTH: Final = 22


def signing_key(kind: str, seed: int, realm: str = "") -> bytes:
    """The key of a realm. Without a realm, all simulators of one kind and seed share a key."""
    named = f"realm {realm}" if realm else f"{kind} {seed}"
    return hashlib.sha256(f"clew simulator {named}".encode()).digest()


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids of one request and its answer."""

    origin: bytes
    tools: ToolIds = "unique"

    @property
    def request(self) -> str:
        return f"req_011{self._text('request')}"

    @property
    def message(self) -> str:
        return f"msg_01{self._text('message')}"

    def tool(self, n: int, name: str = "", before: int = 0) -> str:
        """The id of the answer's nth tool call, in a conversation with `before` earlier calls."""
        match self.tools:
            case "unique":
                return f"toolu_01{self._text(f'tool {n}')}"
            case "call":
                return f"call_{self._text(f'tool {n}')}"
            case "nine":
                return self._text(f"tool {n}")[:9]
            case "counted":
                return f"call_{n}"
            case "named":
                return f"functions.{name}:{before + n}"
            case "empty":
                return ""

    def _text(self, what: str) -> str:
        number = int.from_bytes(hashlib.sha256(self.origin + what.encode()).digest())
        letters: list[str] = []
        for _ in range(_LENGTH):
            number, rest = divmod(number, len(_ALPHABET))
            letters.append(_ALPHABET[rest])
        return "".join(letters)


class IdMaker:
    """Makes the ids of one simulator."""

    def __init__(self, seed: int, tools: ToolIds = "unique") -> None:
        self._seed = seed
        self._tools: ToolIds = tools
        self._seen: Counter[bytes] = Counter()

    def ids(self, account: str, path: str, body: bytes) -> Ids:
        """The ids for the next request with these bytes."""
        digest = hashlib.sha256(f"{self._seed}\n{account}\n{path}\n".encode() + body).digest()
        self._seen[digest] += 1
        return Ids(digest + self._seen[digest].to_bytes(4), self._tools)

    def reset(self) -> None:
        self._seen.clear()
