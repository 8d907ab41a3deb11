"""Who sends a request, and the ids and keys that go with it: accounts, organizations, ids, signing keys.

Any key that is not empty works (R1, C-1). `sim-NAME-anything` belongs to the account NAME, so several keys can share one
account; every other key has an account of its own. An account whose name begins with `old` was created before block
binding (R44), one whose name begins with `unverified` may not have summaries of reasoning. `sim-invalid` is a key that no
account has.

Ids look like the vendor's, and are the same in every run with the same seed. An id depends on the seed, the account, the
request's bytes, and on how often the same bytes came before. So parallel requests get the same ids in whichever order they
arrive, and a repeated request gets new ones, as it must.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from clew.model.facts import rules
from clew.simulator.interfaces import Account, Stance, VendorRefusal

# Accounts.

_NAMED: Final = re.compile(r"sim-([A-Za-z0-9_.]+)(?:-.*)?$")


def account_of(headers: Mapping[str, str], stance: Stance) -> Account | VendorRefusal:
    """The account, or why there is none."""
    bearer = _bearer(headers.get("authorization", ""))
    if headers.get("x-api-key") and bearer and rules()["R1.credential-both"].in_force(stance.choices):
        return refusal_of_rule("R1.credential-both")
    used = credential_of(headers)
    if not used:
        return refusal_of_rule("R1.credential-missing")
    return account_of_key(used) or refusal_of_rule("R1.credential-invalid")


def account_of_key(key: str) -> Account | None:
    """The account that a key belongs to; None for the invalid key."""
    named = _NAMED.match(key)
    name = named[1] if named else f"key-{hashlib.sha256(key.encode('latin-1', 'replace')).hexdigest()[:8]}"
    return None if name == "invalid" else Account(name=name, created_after_binding=not name.startswith("old"))


def credential_of(headers: Mapping[str, str]) -> str:
    """The key that counts; "" if there is none."""
    return headers.get("x-api-key", "") or _bearer(headers.get("authorization", "")) or headers.get("api-key", "")


def organization_of(account: Account) -> str:
    """The account's organization id, made from its name."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"clew:sim:{account.name}"))


def refusal_of_rule(rule: str, **names: str) -> VendorRefusal:
    """A refusal by a rule of the book that the server checks, not the judge. `names` fill its words."""
    row = rules()[rule]
    message = row.text.format(path=row.path, **names)
    return VendorRefusal(rule=row.id, grade=row.grade, status=row.status, error_type=row.type, message=message)


def _bearer(value: str) -> str:
    scheme, _, token = value.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


# Ids and signing keys.

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

    def item(self, prefix: str, n: int) -> str:
        """The id of the answer's nth output item, or of the answer itself."""
        return f"{prefix}_{self._text(f'{prefix} {n}')}"

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
