"""Every form in which a client asks for thinking, against every knob: what is sent, and what is told.

The table is a file, so that a change of a single word in `efforts.toml` shows where it reaches. It was read against the
mapping of efforts and budgets; a new row is written by `python -m tests.dialects.openai_chat.test_request_asking_table`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.dialects.openai_chat.options import ChatOptions, ChatRequestOptions
from clew.dialects.openai_chat.requests import write_request
from clew.model.facts.chat_backends import knobs
from tests.build import Json, request, user
from tests.manifest import proves

TABLE = Path(__file__).parent / "asking_table.txt"
PLAIN = {"model", "messages", "max_tokens"}


def enabled(tokens: int) -> Json:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


def effort(level: str) -> Json:
    return {"output_config": {"effort": level}}


def form(kind: str) -> Json:
    return {"thinking": {"type": kind}}


FORMS: dict[str, Json] = {
    "nothing": {},
    "adaptive": form("adaptive"),
    "enabled": form("enabled"),
    **{f"budget {tokens}": enabled(tokens) for tokens in (0, 1024, 5000, 31_999, 60_000)},
    **{f"effort {level}": effort(level) for level in ("none", "minimal", "low", "medium", "high", "xhigh", "max")},
    "adaptive + effort high": form("adaptive") | effort("high"),
    "budget 1024 + effort high": enabled(1024) | effort("high"),
    "disabled": form("disabled"),
    "disabled + effort high": form("disabled") | effort("high"),
    "between_tools": form("between_tools"),
}


def lines(name: str) -> Iterator[str]:
    """What becomes of each form with one knob."""
    for words, fields in FORMS.items():
        encoded = write_request(request(user("hi"), max_tokens=64_000, **fields), ChatOptions(ChatRequestOptions(knob=name)))
        sent = {key: value for key, value in json.loads(encoded.body).items() if key not in PLAIN}
        told = ", ".join(f"{change.path} {change.what}" for change in encoded.changes)
        yield f"{name or 'no knob':<17}| {words:<26}| {json.dumps(sent)}{f' | {told}' if told else ''}"


def table(name: str) -> list[str]:
    return [line for line in TABLE.read_text("utf-8").splitlines() if line.split("|")[0].strip() == (name or "no knob")]


@proves("req:S3-42")
@pytest.mark.parametrize("name", ["", *knobs()])
def test_every_form_is_asked_as_the_table_says(name: str) -> None:
    """dialects 5 and 7, case 61."""
    assert list(lines(name)) == table(name)


if __name__ == "__main__":
    TABLE.write_text("".join(f"{line}\n" for name in ("", *knobs()) for line in lines(name)), "utf-8")
