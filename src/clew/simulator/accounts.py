"""Who calls: from the credential to the account (R1, C-1).

Any key that is not empty works. `sim-NAME-anything` belongs to the account NAME, so several keys can share one; every other
key has an account of its own. An account whose name begins with `old` was created before block binding (R44). `sim-invalid`
is the key that nobody has.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Mapping
from typing import Final

from clew.model.facts import rules
from clew.simulator.interfaces import Account, Stance, Violation

__all__ = ["account_of", "account_of_key", "credential_of", "organization_of", "refusal"]

_NAMED: Final = re.compile(r"sim-([A-Za-z0-9_.]+)(?:-.*)?$")
_INVALID: Final = "invalid"
_OLD: Final = "old"


def account_of(headers: Mapping[str, str], stance: Stance) -> Account | Violation:
    """The account, or why there is none."""
    key = headers.get("x-api-key", "")
    bearer = _bearer(headers.get("authorization", ""))
    if key and bearer and rules()["R1.credential-both"].in_force(stance.choices):
        return refusal("R1.credential-both")
    used = credential_of(headers)
    if not used:
        return refusal("R1.credential-missing")
    return account_of_key(used) or refusal("R1.credential-invalid")


def account_of_key(key: str) -> Account | None:
    """The account that a key belongs to; None for the key that nobody has."""
    name = _name(key)
    return None if name == _INVALID else _account(name)


def credential_of(headers: Mapping[str, str]) -> str:
    """The key that counts; "" if there is none."""
    return headers.get("x-api-key", "") or _bearer(headers.get("authorization", "")) or headers.get("api-key", "")


def organization_of(account: Account) -> str:
    """The account's organization id: made from its name."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"clew:sim:{account.name}"))


def refusal(rule: str, **names: str) -> Violation:
    """A rule of the shell's own as a violation, with these names filled in."""
    row = rules()[rule]
    words = row.text.format(path=row.path, **names)
    return Violation(rule=row.id, grade=row.grade, status=row.status, error_type=row.type, message=words)


def _account(name: str) -> Account:
    return Account(name=name, created_after_binding=not name.startswith(_OLD))


def _name(key: str) -> str:
    named = _NAMED.match(key)
    return named[1] if named else f"key-{hashlib.sha256(key.encode('latin-1', 'replace')).hexdigest()[:8]}"


def _bearer(value: str) -> str:
    scheme, _, token = value.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
