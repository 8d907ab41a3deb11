"""What every dialect owes, in both roles. A dialect is in here by being in the registry."""

from __future__ import annotations

from typing import Any, Final

from clew.dialects import DIALECTS
from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatRequestOptions
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.shape import BackendFacts, Dialect
from tests.dialects.contract import toy

__all__ = ["ALL", "options_for"]

ALL: Final[dict[str, Dialect[Any]]] = {**DIALECTS, "toy": toy.DIALECT}
_TABLES: Final = {"wire": ChatRequestOptions(), "speech": ChatAnswerOptions(), "responses": ResponsesOptions()}


def options_for(dialect: Dialect[Any]) -> Any:
    """The options of a backend that nobody has described."""
    return dialect.options_of(BackendFacts(tables=_TABLES))
