"""Redaction: the one place that takes secrets out of what is written for people.

Two nets. By shape: prefixes of keys, credentials of HTTP, cookies, user names and passwords in URLs, secrets in queries. By
value: every secret that this process loaded, wherever it turns up. Each pattern runs in time linear in the text: what is
logged comes from strangers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from clew.model.json import JsonValue
from clew.model.turn import Exchange

HIDDEN: Final = "[redacted]"

SHORTEST: Final = 6
"""A shorter secret is hidden by where it stands alone: by value it would blank innocent words."""

LONGEST_NAMES: Final = 500
MOST_TRUSTED: Final = 500

_SECRET_NAME = re.compile(
    r"(?:set-)?cookie|(?:proxy-)?authorization|x-api-key|x-clew-key|x-goog-api-key"
    r"|(?:.*[-_])?(?:api[-_]?key|access[-_]?token|auth[-_]?token|password|secret)",
    re.IGNORECASE,
)
_SHAPES: Final = (
    (re.compile(r"(?<![A-Za-z0-9])(sk-ant-|sk-|clew_|xai-|gsk_|AIza)[A-Za-z0-9_\-]{8,}"), rf"\1{HIDDEN}"),
    (re.compile(r"\b(bearer)\s{1,8}[^\s\"',;]+", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (re.compile(r"\b(basic)\s{1,8}[A-Za-z0-9+/=_\-]{8,}", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (
        re.compile(r"\b((?:set-)?cookie|(?:proxy-)?authorization)(\"?\s{0,4}[:=]\s{0,4}\"?)[^\"\r\n]+", re.IGNORECASE),
        rf"\1\2{HIDDEN}",
    ),
    (
        re.compile(
            r"\b(x-api-key|x-clew-key|x-goog-api-key|api[-_]?key|access[-_]token|auth[-_]token|password|client[-_]secret)"
            r"(\"?\s{0,4}[:=]\s{0,4}\"?)[^\s\"',;&]+",
            re.IGNORECASE,
        ),
        rf"\1\2{HIDDEN}",
    ),
    (re.compile(r"(?<=://)[^/\s@\"'?#]+@"), f"{HIDDEN}@"),
    (re.compile(r"([?&](?:key|token|code|secret|sig|signature)=)[^&\s\"'#]+", re.IGNORECASE), rf"\1{HIDDEN}"),
)
_SUSPECT: Final = (
    *("sk-", "clew_", "xai-", "gsk_", "aiza", "bearer", "basic", "cookie", "authorization"),
    *("key", "token", "password", "secret", "://", "?", "&"),
)
"""In lower case, one of these is in whatever a shape fits. Most texts hold none, and are done with after one look: words,
because to look for sixteen of them takes a fifth of the time that one pattern for all of them takes."""


class Redactor:
    """Call it with a text. `learn` each secret that is loaded; none is forgotten, for old ones are in old texts."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None
        self._trusted: set[tuple[str, ...]] = set()
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        known = self._secrets | {secret for secret in secrets if len(secret) >= SHORTEST}
        if known == self._secrets:
            return
        self._secrets = known
        longest_first = sorted(known, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))
        self._trusted = set()  # a new set: a thread that still looks at the old one adds to nothing

    def values(self, text: str) -> str:
        """Without the secrets that are known; what only looks like one stays."""
        return self._pattern.sub(HIDDEN, text) if self._pattern is not None else text

    def suspects(self, text: str) -> bool:
        """Whether there may be a secret in it."""
        if self._pattern is not None and self._pattern.search(text) is not None:
            return True
        small = text.lower()
        return any(word in small for word in _SUSPECT)

    def trusts(self, names: tuple[str, ...]) -> bool:
        """Whether these are short, and nothing in them can be a secret. The same few are asked about again and again."""
        trusted = self._trusted
        if names in trusted:
            return True
        text = "\n".join(names)
        if len(text) > LONGEST_NAMES or self.suspects(text):
            return False
        if len(trusted) >= MOST_TRUSTED:
            trusted.clear()
        trusted.add(names)
        return True

    def __call__(self, text: str) -> str:
        if not self.suspects(text):
            return text
        text = self.values(text)
        for shape, replacement in _SHAPES:
            text = shape.sub(replacement, text)
        return text

    def clean(self, value: JsonValue) -> JsonValue:
        """The same for a JSON value: every string in it, and all of what stands under a name that says secret."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict):
            return {
                self(name): HIDDEN
                if member and isinstance(member, str) and _SECRET_NAME.fullmatch(name)
                else self.clean(member)
                for name, member in value.items()
            }
        return [self.clean(member) for member in value] if isinstance(value, list) else value


_BY_SHAPE: Final = Redactor()


def with_redacted_tries(exchange: Exchange, redact: Redactor = _BY_SHAPE) -> Exchange:
    """The exchange as it may be shown: what a backend said when it failed is hidden like all that strangers wrote.

    It is kept without secrets; but what an older clew kept, or knew no secret of at the time, is there as it was said.
    """
    if not any(each.why for each in exchange.tries):
        return exchange
    return replace(exchange, tries=tuple(replace(each, why=redact(each.why)) for each in exchange.tries))
