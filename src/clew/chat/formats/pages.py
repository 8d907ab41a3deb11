"""Pages to read: a conversation as Markdown and as HTML.

Both are made from the same sections: who speaks, and the parts of the message. Every text is untrusted. Control characters
become escapes, so that a page shown in a terminal cannot move the cursor.

In Markdown a model's text stands as the model wrote it, and everything else is fenced or quoted. The HTML page is one file
that fetches nothing and runs nothing: every text is escaped, not even Markdown is interpreted, and if an escape were ever
missed, the page's own policy forbids scripts, images, frames and every request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from clew.chat.formats.format import Format, reminders_in
from clew.model.json import JsonObject, JsonValue
from clew.model.turn import TurnRecord
from clew.store.text import ending_word, unfinished_word
from clew.store.values import Thread

FOR_PEOPLE = ("signatures, ids, tokens, changes and images",)

PartKind: TypeAlias = Literal["text", "aside", "thinking", "call", "result", "failure", "other"]

_FENCES: Final = re.compile("`{3,}")


class PagePart(Struct, frozen=True):
    """One block of a message: its kind, its label, and its text."""

    kind: PartKind
    label: str
    text: str


class PageSection(Struct, frozen=True):
    """A message on an exported page: its author, its time and its parts."""

    who: str
    at: str
    note: str
    parts: Sequence[PagePart]


# Sections


def _clean(text: str) -> str:
    """The text without control characters that a terminal would obey; line breaks and tabs stay."""
    return "".join(char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode() for char in text)


def _heading(thread: Thread) -> str:
    return _clean(" ".join(thread.title.split())) or f"Conversation {_clean(thread.id)}"


def _sections(turns: Sequence[TurnRecord]) -> Iterator[PageSection]:
    """Everything in the order in which it was said, every branch."""
    newest: str | None = None
    for turn in turns:
        if turn.exchange.kind != "messages":
            continue
        for raw in turn.asked:
            message = msgspec.json.decode(raw, type=JsonObject)
            role = str(message.get("role"))
            parts = [*_question_parts(_parts_of(message.get("content")), role)]
            yield PageSection(_clean(role), _time_text(turn.exchange.started), "", parts)
        yield _answer_section(turn, newest)
        newest = turn.recording.id if turn.recording and turn.recording.blocks else newest


def _answer_section(turn: TurnRecord, newest: str | None) -> PageSection:
    recording, at = turn.recording, _time_text(turn.exchange.ended)
    if recording is None or not recording.blocks:
        return PageSection("no answer", at, _clean(f"{ending_word(turn.exchange)}, {turn.exchange.status}"), ())
    notes = [] if recording.whole else [unfinished_word(turn.exchange)]
    if newest is not None and recording.followed != newest:
        notes.append("continues from an earlier answer" if recording.followed else "starts a new line")
    parts = [_part_of(msgspec.json.decode(raw, type=JsonObject)) for raw in recording.blocks]
    who = _clean(f"{recording.origin.model} ({recording.origin.backend})")
    return PageSection(who, at, ", ".join(notes), parts)


def _time_text(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _parts_of(content: JsonValue) -> list[PagePart]:
    if isinstance(content, list):
        return [_part_of(block) for block in content if isinstance(block, dict)]
    return [PagePart("text", "", _clean(str(content or "")))]


def _question_parts(parts: Sequence[PagePart], role: str) -> Iterator[PagePart]:
    """The parts of a question. System texts and reminders can fill pages, so each of them is a part that can be folded."""
    for part in parts:
        if part.kind != "text":
            yield part
        elif role == "system":
            yield _aside("System text", part.text)
        else:
            at = 0
            for found in reminders_in(part.text):
                if (before := part.text[at : found.start()]).strip():
                    yield PagePart("text", "", before)
                yield _aside("System reminder", found[1])
                at = found.end()
            if at == 0 or part.text[at:].strip():
                yield PagePart("text", "", part.text[at:])


def _aside(label: str, text: str) -> PagePart:
    return PagePart("aside", f"{label}, {len(text):,} characters", text.strip())


def _part_of(block: JsonObject) -> PagePart:
    kind = str(block.get("type"))
    if kind == "text":
        return PagePart("text", "", _clean(str(block.get("text") or "")))
    if kind == "thinking":
        text = _clean(str(block.get("thinking") or ""))
        return PagePart("thinking", "Thinking", text or "(without its text)")
    if kind.endswith("tool_use"):
        return PagePart("call", _clean(str(block.get("name"))), _clean(msgspec.json.encode(block.get("input")).decode()))
    if kind.endswith("tool_result"):
        output = "\n".join(part.text or f"({part.label})" for part in _parts_of(block.get("content")))
        return PagePart("failure", "Error", output) if block.get("is_error") else PagePart("result", "Result", output)
    return PagePart("other", _clean(kind.replace("_", " ")), "")


# Markdown


def write_markdown(thread: Thread, turns: Sequence[TurnRecord]) -> Iterator[bytes]:
    yield f"# {_heading(thread)}\n\n".encode(errors="replace")
    for section in _sections(turns):
        note = f", {section.note}" if section.note else ""
        parts = "".join(map(_markdown_part, section.parts))
        yield f"## {section.who}\n\n*{section.at}{note}*\n\n{parts}".encode(errors="replace")


def _markdown_part(part: PagePart) -> str:
    if part.kind == "text":
        return f"{part.text}\n\n"
    if part.kind in ("aside", "other"):
        return f"*({part.label})*\n\n"
    if part.kind == "thinking":
        quoted = "\n".join(f"> {line}".rstrip() for line in part.text.splitlines())
        return f"> **{part.label}**\n>\n{quoted}\n\n"
    # one more backtick than the longest run in the text, so that the text cannot close the fence
    fence = "`" * (max((len(run) for run in _FENCES.findall(part.text)), default=2) + 1)
    return f"**{part.label}**\n\n{fence}\n{part.text}\n{fence}\n\n"


MARKDOWN = Format(
    name="markdown",
    suffix=".md",
    does="Markdown to read, with thinking quoted and tools fenced. It cannot be imported.",
    losses=(
        *FOR_PEOPLE,
        "system text and reminders (a line gives the length of each)",
        "the difference between the model's Markdown and the page's own",
    ),
    write=write_markdown,
)


# HTML

_HEAD: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Conversations</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid #8884; padding: .5rem 0; }
h2 { font-size: 1rem; margin: .5rem 0; }
small { font-weight: normal; opacity: .7; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0; font: inherit; }
details pre { font: .85rem/1.4 ui-monospace, monospace; opacity: .85; padding-left: 1rem; border-left: 2px solid #8886; }
</style>
</head>
<body>
"""
_FOOT: Final = "</body>\n</html>\n"


def write_html(thread: Thread, turns: Sequence[TurnRecord]) -> Iterator[bytes]:
    yield f"<article>\n<h1>{escape(_heading(thread))}</h1>\n".encode(errors="replace")
    for section in _sections(turns):
        note = f", {section.note}" if section.note else ""
        page = f"<section>\n<h2>{escape(section.who)} <small>{escape(section.at + note)}</small></h2>\n"
        for part in section.parts:
            label, text = escape(part.label), escape(part.text)
            if part.kind == "text":
                page += f"<pre>{text}</pre>\n"
            elif part.kind == "other":
                page += f"<p><small>({label})</small></p>\n"
            else:
                page += f"<details><summary>{label}</summary><pre>{text}</pre></details>\n"
        yield f"{page}</section>\n".encode(errors="replace")
    yield b"</article>\n"


HTML = Format(
    name="html",
    suffix=".html",
    does="One HTML file to read, without scripts and without anything to load. It cannot be imported.",
    losses=(*FOR_PEOPLE, "the formatting of the model's Markdown"),
    write=write_html,
    head=_HEAD.encode(),
    foot=_FOOT.encode(),
)
