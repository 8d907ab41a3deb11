"""One call that a model writes as text, read as it comes.

It is read in order: the beginning, then one argument after the other or a JSON object, then the end. What does not follow
that order is no call, and this is known at the first character that differs. A value may hold the markup of its own form, as
in a file about tool calls, as long as each tag in it is closed. Brackets in JSON strings do not count.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec import Struct

from clew.dialects.openai_chat.offered_tools import OfferedTools
from clew.dialects.openai_chat.text_call_templates import ArgumentTemplate, Template, TemplateMatch
from clew.model.facts.chat_backends import TextCallForm
from clew.model.texts import LongText

_JSON_MARKS: Final = re.compile(r'[{}\[\]"]')
_STRING_MARKS: Final = re.compile(r'"|\\')
_DEPTH: Final = {"{": 1, "[": 1, "}": -1, "]": -1, '"': 0}


class TextCall(NamedTuple):
    """A call that was written as text: the client's name of the tool, its arguments as JSON, and the form."""

    name: str
    arguments: str
    form: str


class CallGrammar:
    """The templates of one form."""

    def __init__(self, form: TextCallForm) -> None:
        self.form = form
        self.begins = tuple(map(Template, form.begin))
        self.arguments = tuple(map(ArgumentTemplate, form.argument))
        before = "{space}" if form.body == "arguments" else ""
        self.ends = tuple(Template(before + each) for each in form.end)

    @cached_property
    def value_marks(self) -> dict[str, re.Pattern[str]]:
        """By the text that ends a value: what counts inside it."""
        return {each.close: re.compile(f"{re.escape(each.nested)}|{re.escape(each.close)}") for each in self.arguments}


class _JsonCall(Struct):
    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"")
    parameters: msgspec.Raw = msgspec.Raw(b"")


class TextCallReader:
    """`feed` it what follows the beginning. `state` is `reading` until the call is `whole`, or `broken`."""

    def __init__(self, grammar: CallGrammar, begun: str, name: str, tools: OfferedTools) -> None:
        """`begun` is the beginning as it was written; `name` is "" if the object names the tool."""
        self.state: Literal["reading", "whole", "broken"] = "reading"
        self.call: TextCall | None = None
        """What it says, if it is whole and the tool was offered."""
        self._grammar, self._name, self._tools = grammar, name, tools
        self._said = LongText(begun)
        self._part: Literal["arguments", "value", "json", "end"] = "json" if grammar.form.body == "json" else "arguments"
        self._arguments: dict[str, str] = {}
        self._key, self._close = "", ""
        self._value = LongText()
        self._depth = 0
        self._in_string = False
        self._escaped = False

    @property
    def said(self) -> str:
        """All of it as it was written."""
        return self._said.whole()

    @property
    def has_content(self) -> bool:
        """Whether more than its beginning came."""
        return self._part != "arguments" or bool(self._arguments)

    def feed(self, text: str, at: int) -> int:
        """Reads the text from `at` on. Returns where it stopped: behind the call, where it broke, or where more must
        come first."""
        start = at
        while self.state == "reading" and at < len(text):
            # Where to go on; None if more must come first
            match self._part:
                case "arguments":
                    next_at = self._next_argument(text, at)
                case "value":
                    next_at = self._read_value(text, at)
                case "json":
                    next_at = self._read_json(text, at)
                case "end":
                    next_at = self._take(text, at, self._grammar.ends)
            if next_at is None:
                break
            at = next_at
        self._said.add(text[start:at])
        return at

    def finish(self, near: str, *, regular: bool) -> int:
        """No more comes behind `near`, which was not read yet. Returns how much of it belongs to the call. A whole object
        without its end is a call where the form says so, and the answer ended well."""
        end = len(near)
        if self._part in ("arguments", "end"):
            found = next((each for end in self._grammar.ends if (each := end.match(near, 0)).answer == "more"), None)
            is_open = self._part == "end" and regular and self._grammar.form.open_end
            if found is not None and (found.is_enough or is_open):
                end = found.end if found.is_enough else end
                self._end()
        self._said.add(near[:end])
        self.state = "broken" if self.state == "reading" else self.state
        return end

    def _next_argument(self, text: str, at: int) -> int | None:
        for template in self._grammar.arguments:
            found = template.match(text, at)
            if found.answer == "more":
                return None
            if found.answer == "fits":
                self._part, self._key, self._close = "value", found.name, template.close
                self._value, self._depth = LongText(), 1
                return found.end
        return self._take(text, at, self._grammar.ends)

    def _take(self, text: str, at: int, ends: tuple[Template, ...]) -> int | None:
        """The end of the call, or what stands in its place."""
        found = TemplateMatch("differs")
        for template in ends:
            found = template.match(text, at)
            if found.answer != "differs":
                break
        if found.answer == "more":
            return None
        if found.answer == "fits":
            self._end()
            return found.end
        self.state = "broken"
        return at

    def _read_value(self, text: str, at: int) -> int | None:
        start, marks = at, self._grammar.value_marks[self._close]
        for mark in marks.finditer(text, at):
            self._depth += -1 if mark[0] == self._close else 1
            if self._depth == 0:
                self._value.add(text[at : mark.start()])
                value = self._value.whole()
                if self._grammar.form.trims:
                    value = value.removeprefix("\n").removesuffix("\n")
                self._arguments[self._key] = value
                self._part = "arguments"
                return mark.end()
            self._value.add(text[at : mark.end()])
            at = mark.end()
        # Only what may be the beginning of a tag waits. No tag is longer than the pattern that finds it.
        begun = text.rfind("<", max(at, len(text) - len(marks.pattern)))
        end = begun if begun >= 0 else len(text)
        self._value.add(text[at:end])
        return end if end > start else None

    def _read_json(self, text: str, at: int) -> int | None:
        """To the end of the object, or of what came of it."""
        start = at
        while at < len(text):
            if self._escaped:
                self._escaped, at = False, at + 1
                continue
            mark = (_STRING_MARKS if self._in_string else _JSON_MARKS).search(text, at)
            if mark is None:
                break
            at = mark.end()
            if self._in_string:
                self._in_string, self._escaped = mark[0] != '"', mark[0] == "\\"
                continue
            self._in_string = mark[0] == '"'
            self._depth += _DEPTH[mark[0]]
            if self._depth <= 0:
                self._value.add(text[start:at])
                self._part = "end"
                return at
        self._value.add(text[start:])
        return len(text)

    def _end(self) -> None:
        form = self._grammar.form
        arguments = self._json_arguments() if form.body == "json" else None
        self.state = "broken" if form.body == "json" and arguments is None else "whole"
        if self.state == "whole" and self._name in self._tools:
            if arguments is None:
                arguments = msgspec.json.encode(self._tools.typed(self._name, self._arguments)).decode()
            self.call = TextCall(self._tools.client_name(self._name), arguments, form.name)

    def _json_arguments(self) -> str | None:
        """As they were written; None if they are not a JSON object."""
        raw = self._value.whole().encode()
        try:
            if not self._name:
                call = msgspec.json.decode(raw, type=_JsonCall)
                self._name, raw = call.name, bytes(call.arguments) or bytes(call.parameters) or b"{}"
            value: object = msgspec.json.decode(raw)
            if isinstance(value, str):  # some write the object once more as a text
                raw = value.encode()
                value = msgspec.json.decode(raw)
        except (ValueError, RecursionError):
            return None
        return raw.decode() if isinstance(value, dict) else None
