"""How long a name may be, in both of OpenAI's dialects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from clew.model.json import JsonObject, list_of, object_of, text_of
from clew.thinking.compliance.findings import RuleFinding

LONGEST: Final = 64
"""Characters of a tool's name, and of a call id."""


def names_too_long(rule: str, body: JsonObject) -> Iterator[RuleFinding]:
    """The tools whose names have too many characters. In Chat Completions a name is inside of `function`."""
    for place, tool in enumerate(object_of(each) for each in list_of(body.get("tools"))):
        inside = ".function" if "function" in tool else ""
        name = text_of((object_of(tool["function"]) if inside else tool).get("name"))
        if len(name) > LONGEST:
            yield RuleFinding(rule, f"tools[{place}]{inside}.name", {"limit": LONGEST, "length": len(name)})
