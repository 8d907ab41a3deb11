"""Finds what a body says about an error, wherever it says it, and whatever kind of body it is.

Servers put it in `error` (an object, or a text with its code beside it), at the top (`object: "error"`), in a list of one
(Gemini), in `detail` (FastAPI), in `base_resp` (MiniMax), in `x_groq`; aggregators wrap the vendor's own error as text
inside theirs. Proxies send pages, or nothing at all.
"""

from __future__ import annotations

import re
from typing import Final

from clew.model.json import JsonObject, JsonValue, count_of, object_of, objects_of, read_value, text_of, whole_text

MOST = 4000
"""Characters of a message; clients print it."""
_SHOWN = 500

_PAGE: Final = re.compile(r"<!doctype|<html|<head|<body", re.I)
_TITLE: Final = re.compile(r"<(title|h1)[^>]*>([^<]{1,200})</\1>", re.I)
_TAGS: Final = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.I | re.S)


_PLACES: Final = frozenset(("error", "x_groq", "type", "base_resp"))


def error_of(body: bytes) -> JsonObject:
    """The object that describes the error of a response; made from its text if the body is no JSON: the heading of
    a page, or the beginning."""
    value = read_value(body)
    if isinstance(value, list):
        value = next(iter(objects_of(value)), None)
    if isinstance(value, dict):
        return error_in(value) or value
    if isinstance(value, str):
        return {"message": value}
    text = whole_text(body[:MOST].decode(errors="replace"))
    if not _PAGE.search(text):
        return {"message": text[:_SHOWN].strip()}
    title = _TITLE.search(text)
    words = title[2] if title else _TAGS.sub(" ", text)
    return {"message": f"an HTML page instead of an answer: {' '.join(words.split())[:_SHOWN]}"}


def error_in(value: JsonObject) -> JsonObject | None:
    """The object that describes the error, in any of the places where one is put; None if there is none."""
    if value.keys().isdisjoint(_PLACES) and value.get("object") != "error":
        return None  # a chunk like most
    for error in (value.get("error"), object_of(value.get("x_groq")).get("error")):
        if error:
            return error if isinstance(error, dict) else {"code": value.get("code"), "message": _text(error)}
    if value.get("object") == "error" or text_of(value.get("type")).endswith("error"):
        return value  # the whole of it (Cerebras), whatever kind of error it names
    native = object_of(value.get("base_resp"))
    if number := count_of(native.get("status_code")):
        return {"code": f"base_resp {number}", "message": text_of(native.get("status_msg"))}
    return None


def codes_of(error: JsonObject) -> frozenset[str]:
    """Everything in it that names the error for machines, in lower case."""
    inner = object_of(error.get("innererror"))
    named = [error.get("code"), error.get("type"), error.get("status"), inner.get("code")]
    return frozenset(str(each).lower() for each in named if isinstance(each, str | int) and not isinstance(each, bool))


def message_of(error: JsonObject) -> str:
    """Its words; with those of the vendor behind an aggregator, which says only that there was an error."""
    said = [_text(error[key]) for key in ("message", "detail", "msg", "error_description") if error.get(key)]
    raw = object_of(error.get("metadata")).get("raw")
    words = ": ".join([*said[:1], *([_unwrapped(_text(raw))] if raw else [])])
    return whole_text(_unwrapped(words)[:MOST])


def vendors_error(error: JsonObject) -> list[JsonObject]:
    """The error of the vendor behind an aggregator, where the aggregator's holds it as JSON text."""
    raw = object_of(error.get("metadata")).get("raw")
    return [error_of(raw.encode("utf-8", "replace"))] if isinstance(raw, str) and _is_json(raw) else []


def _text(value: JsonValue) -> str:
    """A text, or what an object or FastAPI's list says in its own members."""
    if isinstance(value, dict):
        return _text(value.get("message") or value.get("detail") or value.get("error") or "")
    if isinstance(value, list):
        found: list[str] = []
        for finding in objects_of(value):  # of a validator: where, and what
            where = finding.get("loc")
            place = ".".join(str(step) for step in where if step != "body") if isinstance(where, list) else ""
            found.append(": ".join(filter(None, (place, text_of(finding.get("msg")) or text_of(finding.get("message"))))))
        return "; ".join(filter(None, found))
    return value if isinstance(value, str) else "" if value is None else str(value)


def _unwrapped(words: str) -> str:
    """The words of an error that was put, as JSON text, into the message of another."""
    if not _is_json(words):
        return words
    inner = error_of(words.encode("utf-8", "replace"))
    return _text(inner.get("message")) or words


def _is_json(words: str) -> bool:
    return words.lstrip().startswith(("{", "[{"))
