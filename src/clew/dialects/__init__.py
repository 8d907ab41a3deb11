"""Dialects: wire protocols between clients, clew and backends. A dialect is a folder of one shape and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from clew.dialects import anthropic, openai_chat, openai_responses
from clew.dialects.shape import Dialect

__all__ = ["DIALECTS"]

DIALECTS: Final[Mapping[str, Dialect[Any]]] = {
    each.name: each for each in (anthropic.DIALECT, openai_chat.DIALECT, openai_responses.DIALECT)
}
