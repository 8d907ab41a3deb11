"""Calls as a model itself writes them: what a server without a parser for its tool calls leaves in the content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from clew.model.json import JsonObject, JsonValue

WrittenForm: TypeAlias = Literal["", "hermes", "qwen-coder", "glm", "grok", "gpt-oss"]
"""The form in which calls are written; "": they are calls."""


def written_call(form: WrittenForm, name: str, arguments: str) -> str:
    """The call as text. The arguments are a JSON object."""
    return _FORMS[form](name, arguments)


def _hermes(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def _gpt_oss(name: str, arguments: str) -> str:
    return f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>"


def _qwen_coder(name: str, arguments: str) -> str:
    given = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in _texts(arguments).items())
    return f"<tool_call>\n<function={name}>\n{given}</function>\n</tool_call>"


def _glm(name: str, arguments: str) -> str:
    pairs = (f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n" for key, value in _texts(arguments).items())
    return f"<tool_call>{name}\n{''.join(pairs)}</tool_call>"


def _grok(name: str, arguments: str) -> str:
    given = (f'<xai:parameter name="{key}">{value}</xai:parameter>\n' for key, value in _texts(arguments).items())
    return f'<xai:function_call name="{name}">\n{"".join(given)}</xai:function_call>'


def _texts(arguments: str) -> dict[str, str]:
    """Strings as they are, other values as JSON: so the templates of these models write them."""
    given = msgspec.json.decode(arguments, type=dict[str, JsonValue])
    return {key: value if isinstance(value, str) else msgspec.json.encode(value).decode() for key, value in given.items()}


_FORMS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "hermes": _hermes,
    "qwen-coder": _qwen_coder,
    "glm": _glm,
    "grok": _grok,
    "gpt-oss": _gpt_oss,
}


def in_tokens(text: str, size: int = 5) -> list[JsonObject]:
    """The text as deltas of a few characters, so that tags are cut."""
    return [{"content": text[at : at + size]} for at in range(0, len(text), size)]
