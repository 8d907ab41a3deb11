"""Calls as a model itself writes them: what a server without a parser for its tool calls leaves in the content."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from clew.model.json import JsonObject, JsonValue

TextForm: TypeAlias = Literal["hermes", "qwen-coder", "glm", "grok", "gpt-oss"]
WrittenForm: TypeAlias = TextForm | Literal[""]
"""The form in which calls are written; "": they are calls."""
_PIECE: Final = 5


def written_call(form: TextForm, name: str, arguments: str) -> str:
    """The call as text. The arguments are a JSON object."""
    given = msgspec.json.decode(arguments, type=dict[str, JsonValue])
    # Strings as they are, other values as JSON: so the templates of these models write them.
    texts = {key: value if isinstance(value, str) else msgspec.json.encode(value).decode() for key, value in given.items()}
    match form:
        case "hermes":
            return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'
        case "gpt-oss":
            return f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>"
        case "qwen-coder":
            members = "".join(f"<parameter={key}>\n{text}\n</parameter>\n" for key, text in texts.items())
            return f"<tool_call>\n<function={name}>\n{members}</function>\n</tool_call>"
        case "glm":
            members = "".join(f"<arg_key>{key}</arg_key>\n<arg_value>{text}</arg_value>\n" for key, text in texts.items())
            return f"<tool_call>{name}\n{members}</tool_call>"
        case "grok":
            members = "".join(f'<xai:parameter name="{key}">{text}</xai:parameter>\n' for key, text in texts.items())
            return f'<xai:function_call name="{name}">\n{members}</xai:function_call>'


def in_tokens(text: str) -> list[JsonObject]:
    """The text as deltas of a few characters, so that tags are cut."""
    return [{"content": text[at : at + _PIECE]} for at in range(0, len(text), _PIECE)]
