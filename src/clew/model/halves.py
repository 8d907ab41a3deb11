"""Characters that came in two halves.

JSON can write a character outside the basic plane as two escapes, and some vendors cut between them: each delta then holds a
half, which is no text by itself. Put together they are.
"""

from __future__ import annotations

__all__ = ["whole_text"]


def whole_text(text: str) -> str:
    """The text with halves put together; half a character that never became whole is the replacement mark."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
