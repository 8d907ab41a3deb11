"""What a client may ask for and clew does not serve: rows of paths, and the words for each.

A client of another vendor's API gets its 404 in the shape that it can read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from clew.http.message import Refusal

__all__ = ["not_served"]

_Dialect: TypeAlias = Literal["anthropic", "openai", "gemini"]
_SHOWN: Final = 120


@dataclass(frozen=True, slots=True)
class _Row:
    """An API: where its paths begin and, for one whose paths begin like ours, how they end."""

    what: str
    dialect: _Dialect
    starts: tuple[str, ...]
    ends: tuple[str, ...] = ("",)

    def fits(self, path: str) -> bool:
        begins = any(path == start or path.startswith(f"{start}/") for start in self.starts)
        return begins and path.endswith(self.ends)


_ROWS: Final = (
    _Row("Message batches", "anthropic", ("/v1/messages/batches",)),
    _Row("Files", "anthropic", ("/v1/files",)),
    _Row("Text completions", "anthropic", ("/v1/complete",)),
    _Row("Chat Completions", "openai", ("/v1/chat/completions", "/chat/completions")),
    _Row("the Responses API", "openai", ("/v1/responses", "/responses")),
    _Row("Completions", "openai", ("/v1/completions", "/completions")),
    _Row("Embeddings", "openai", ("/v1/embeddings", "/embeddings")),
    _Row("the Gemini API", "gemini", ("/v1beta", "/v1alpha")),
    _Row("the Gemini API", "gemini", ("/v1/models",), (":generateContent", ":streamGenerateContent", ":countTokens")),
)


def not_served(method: str, path: str) -> Refusal | None:
    """The refusal for a path that is another API's, or a part of Anthropic's that clew has not; None for any other."""
    row = next((row for row in _ROWS if row.fits(path)), None)
    if row is None:
        return None
    if row.dialect == "anthropic":
        said = f"{row.what} are not served by clew: send {method} {path[:_SHOWN]} to the vendor directly."
    else:
        said = (
            f"clew takes Anthropic's Messages API (POST /v1/messages) from clients, not {row.what}; other APIs are for "
            f"backends only. Use a client of the Messages API, or send {method} {path[:_SHOWN]} to the vendor directly."
        )
    return Refusal(404, said, dialect=row.dialect)
