"""The names of a client's tools in the canonical request.

This API has kinds of tools that others do not: custom tools, which take one text in place of an object, and namespaces. In
the canonical request each is a tool with a flat name (`namespace__name`) and a schema; `ResponsesDetail.tools` says what it
was, so that calls come back as what the client offered. The flat name is a pure function of the tools of the request: names
that would be too long, or would be those of another tool, get a hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Final

from clew.dialects.openai.tools import LONGEST_NAME, own_name
from clew.dialects.openai_responses.detail import ClientTool, ResponsesDetail, ToolKind

BETWEEN: Final = "__"
_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9_-]")
_HASH: Final = 8


def flat_name(namespace: str, name: str) -> str:
    """The canonical name of a tool, as long as no other one has it. Plain names pass as they are."""
    if not namespace and not _ILLEGAL.search(name):
        return name
    flat = _ILLEGAL.sub("_", f"{namespace}{BETWEEN}{name}" if namespace else name)
    return flat if len(flat) <= LONGEST_NAME else hashed_name(namespace, name)


def hashed_name(namespace: str, name: str) -> str:
    """The beginning of the flat name and a hash of the whole: no other tool has it."""
    flat = _ILLEGAL.sub("_", f"{namespace}{BETWEEN}{name}" if namespace else name)
    digest = hashlib.sha256(f"{namespace}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{flat[: LONGEST_NAME - _HASH - 1]}_{digest[:_HASH]}"


def name_tools(tools: Iterable[ClientTool]) -> dict[str, ClientTool]:
    """The tools by their canonical names, in their order. A tool that is there twice is one: the first."""
    given = list(dict.fromkeys(tools))
    plain = {tool.name for tool in given if not tool.namespace}
    named: dict[str, ClientTool] = {}
    for tool in given:
        name = flat_name(tool.namespace, tool.name)
        if name in named or (tool.namespace and name in plain):
            if (named.get(name) or ClientTool()).name == tool.name and not tool.namespace:
                continue
            name = hashed_name(tool.namespace, tool.name)
        named[name] = tool
    return named


class ToolNames:
    """Finds the canonical name of the tool that a call names. A call need not say the namespace if no other tool has its
    name."""

    def __init__(self, tools: Mapping[str, ClientTool]) -> None:
        self._exact = {(tool.namespace, tool.name): name for name, tool in tools.items()}
        self._bare: dict[str, str] = {}
        for name, tool in tools.items():
            self._bare[tool.name] = "" if tool.name in self._bare else name

    def find(self, namespace: str, name: str) -> str:
        exact = self._exact.get((namespace, name))
        bare = self._bare.get(name) if not namespace else None
        return exact or bare or flat_name(namespace, name)


def canonical_name(detail: ResponsesDetail, kind: ToolKind, namespace: str, name: str, document: bytes = b"") -> str:
    """The canonical name of the tool that a call in an answer names; by the tools of the canonical request where its own
    name was too long for the backend."""
    if name in detail.tools and not namespace:
        return name  # it went under its flat name, as a function
    found = ToolNames(detail.tools).find(namespace, name)
    return own_name(found, document) if document and found not in detail.tools else found
