"""Which model a name means.

One model has many names: with a date, with a platform's prefix and suffix, with dots for dashes. The canonical one is the
id under which the tables know it, or, for a Claude that they do not know, its name without all that. Other vendors' names
stay as they are, but for a bracket at the end: what looks like a suffix there may be the name. So does a text that is too
long for a name: clients choose it, and taking it apart would take its length squared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import structs

from clew.model.facts.models import UNKNOWN, ModelFacts, models

__all__ = ["canonical_model", "display_name", "model_facts"]

_LONGEST: Final = 256
"""No model has a longer name."""

_CLAUDE: Final = re.compile(r"(?:^|[/.:])(claude-[^/]*)$")
_SUFFIX: Final = re.compile(
    r"\[[^\]]*\]$"  # claude-opus-5-5[1m]
    r"|-v\d+(?::\w+)*$"  # claude-sonnet-4-5-20250929-v1:0
    r"|[-@]20\d{6}$"  # a date
    r"|@[\w.-]+$"  # claude-opus-5@default
    r"|:[a-z][\w-]*$"  # claude-sonnet-4.5:thinking
    r"|-latest$"
)


def canonical_model(name: str, rows: Mapping[str, ModelFacts] | None = None) -> str:
    """The reader's model id: `us.anthropic.claude-sonnet-4-5-20250929-v1:0` is `claude-sonnet-4-5`."""
    bare = _bare(name)
    return next((row.id for row in (rows or models()).values() if bare in row.match), bare)


def model_facts(name: str, rows: Mapping[str, ModelFacts] | None = None) -> ModelFacts:
    """The row of the most specific name that fits, under the canonical id; else the unknown model's row."""
    rows = rows or models()
    canonical = canonical_model(name, rows)
    for candidate in _candidates(canonical):
        if candidate in rows and candidate != UNKNOWN:
            return structs.replace(rows[candidate], id=canonical)
    return structs.replace(rows[UNKNOWN], id=canonical)


def display_name(name: str) -> str:
    """As the vendor writes it for people: `claude-opus-5-5` is Claude Opus 5.5."""
    words: list[str] = []
    for word in name.split("-"):
        if word.isdecimal() and words and words[-1].replace(".", "").isdecimal():
            words[-1] += f".{word}"
        else:
            words.append(word.capitalize())
    return " ".join(words)


def _bare(name: str) -> str:
    if len(name) > _LONGEST:
        return name
    claude = _CLAUDE.search(name.strip().lower())
    if not claude:
        return re.sub(r"\[[^\]]*\]$", "", name.strip())
    bare = claude[1]
    while (shorter := _SUFFIX.sub("", bare)) != bare:
        bare = shorter
    return bare.replace(".", "-")


def _candidates(canonical: str) -> Iterator[str]:
    """The name, then what is left of it as words fall off its end; never a number, which would be another version."""
    for whole in dict.fromkeys((canonical, canonical.rpartition("/")[2])) if len(canonical) <= _LONGEST else ():
        yield whole
        while (cut := whole.rpartition("-"))[0] and not cut[2].isdecimal():
            whole = cut[0]
            yield whole
