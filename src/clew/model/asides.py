"""Asides: what a client says to the model alone, beside what a person said: in tags of its own, or as a system message.

People who read a conversation want to know that it is there, and not to read pages of it.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["aside_in"]

_ALONE: Final = "for the model alone"
_ASIDES: Final = {
    "system-reminder": _ALONE,
    "conversation-summary": "a summary of what was said before",
    "summary-request": "a summary is asked for",
}
"""What stands in tags, by the tag."""
_IN_TAGS: Final = re.compile(rf"\s*<({'|'.join(_ASIDES)})[ >].*</\1>\s*", re.DOTALL)


def aside_in(text: str, role: str = "") -> str:
    """What sort of aside a text is, in a message of this role; "" if it is none.

    >>> aside_in("<system-reminder>Mind the gap.</system-reminder>")
    'for the model alone'
    """
    found = _IN_TAGS.fullmatch(text)
    return _ASIDES[found[1]] if found else _ALONE if role == "system" else ""
