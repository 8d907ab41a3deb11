"""From the credential of a request to its account (R1, C-1); and ids of organizations.

Any key that is not empty works. `sim-NAME-anything` belongs to the account NAME, so several keys can share one account;
every other key has an account of its own. An account whose name begins with `old` was created before block binding (R44).
`sim-invalid` is a key that no account has.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Mapping
from typing import Final

from clew.model.facts import rules
from clew.simulator.interfaces import Account, Stance, VendorRefusal

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
