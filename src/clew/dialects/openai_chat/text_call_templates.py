"""Templates of markup, matched against text that may end anywhere.

`Template.match` has three answers: the text fits, it does not, or more of it must come first. A longer text never changes
one of the first two, so what is found does not depend on where a stream was cut. Every element has a greatest length, so no
more than a few hundred characters are ever held back for a template.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, TypeAlias, cast

_SPACE: Final = re.compile(r"(?:\s|\\n){0,64}+")
_PATTERNS: Final = {
    "name": re.compile(r"[\w.:-]{0,128}+"),
    "key": re.compile(r"""[^<>"'\n]{0,128}+"""),
    "rest": re.compile(r"[^<>]{0,128}+>?"),
}
_TOKEN: Final = re.compile(r"\{(space|name|key|value|rest|json)\}|\[([^\]]+)\]")

ElementKind: TypeAlias = Literal["text", "maybe", "space", "name", "key", "value", "rest", "json"]


class TemplateElement(NamedTuple):
    """A part of a template; `text` is that of a literal one."""

    kind: ElementKind
    text: str = ""


class TemplateMatch(NamedTuple):
    """How a text fits. `end` is where the part that is certain ends; `name` is the tool, or the key, that it names."""

    answer: Literal["fits", "differs", "more"]
    end: int = 0
    name: str = ""
    is_enough: bool = False
    """Nothing is missing but what may be missing."""


_DIFFERS: Final = TemplateMatch("differs")


class Template:
    """One template, as `text_calls.toml` writes it."""

    def __init__(self, source: str) -> None:
        found: list[TemplateElement] = []
        at = 0
        for token in _TOKEN.finditer(source):
            if token.start() > at:
                found.append(TemplateElement("text", source[at : token.start()]))
            kind, maybe = token.groups()
            found.append(TemplateElement("maybe", maybe) if maybe else TemplateElement(cast("ElementKind", kind)))
            at = token.end()
        self.elements = (*found, TemplateElement("text", source[at:])) if at < len(source) else tuple(found)
        self._last = max([at for at, each in enumerate(self.elements) if each.kind not in ("maybe", "space")], default=-1)

    @property
    def openings(self) -> list[str]:
        """The texts with which something that fits can begin."""
        found: list[str] = []
        for kind, text in self.elements:
            if kind in ("text", "maybe"):
                found.append(text)
            if kind not in ("maybe", "space"):
                break
        return found

    def match(self, text: str, at: int) -> TemplateMatch:
        """How the text from `at` on fits."""
        name, end = "", at
        for place, element in enumerate(self.elements):
            found = _past(element, text, at)
            if found is None:
                return TemplateMatch("more", end, name, is_enough=place > self._last)
            if found < 0 and element.kind != "maybe":
                return _DIFFERS
            if element.kind in ("name", "key"):
                name = text[at:found].strip()
            at = max(at, found)
            if found >= 0 and element.kind != "space":
                end = at
        return TemplateMatch("fits", end, name, is_enough=True)


def _past(element: TemplateElement, text: str, at: int) -> int | None:
    """Where the text goes on behind the element; -1 if it is not there; None if more of the text must come first."""
    kind, literal = element
    match kind:
        case "text" | "maybe":
            came = text[at : at + len(literal)]
            if came == literal:
                return at + len(literal)
            return None if literal.startswith(came) else -1
        case "space":
            end = _end_of(_SPACE, text, at)
            is_cut = end == len(text) or (end == len(text) - 1 and text[end] == "\\")
            return None if is_cut else end
        case "json":
            return None if at == len(text) else at if text[at] == "{" else -1
        case _:
            end = _end_of(_PATTERNS[kind], text, at)
            is_whole = text[end - 1 : end] == ">" if kind == "rest" else end > at
            if end == len(text) and not (kind == "rest" and is_whole):
                return None
            return end if is_whole else -1


class ArgumentTemplate(Template):
    """A template up to its value; then how the value ends, and which tag inside it is that of another one."""

    def __init__(self, source: str) -> None:
        before, _, self.close = source.partition("{value}")
        super().__init__("{space}" + before)
        self.nested = [each.text for each in self.elements if each.text.startswith("<")][-1]


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    assert found is not None, "it fits nothing at all, too"
    return found.end()
