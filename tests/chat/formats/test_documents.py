"""Messages as one JSON document, Anthropic's and OpenAI's: written, read, and what of them is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clew.chat.formats import FORMATS, format_of
from clew.store.sqlite.store import SqliteStore
from tests.build import GLM, assistant, redacted, system, text, thinking, tool_result, tool_use, user
from tests.chat.formats.stored import exported, imported, rows, stored
from tests.store.turns import NOON, recorded, turn


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with stored(tmp_path / "clew.db") as store:
        yield store


def talk() -> list[Any]:
    return [
        user("list the files"),
        assistant(thinking("hm", "sig-1"), tool_use("toolu_1", command="ls")),
        user(tool_result("toolu_1", "a b")),
        assistant(redacted("data-1"), "There are two."),
    ]


def document(*messages: Any, model: str = "claude-opus-5-5") -> bytes:
    return json.dumps({"model": model, "messages": messages}).encode()


def said(store: SqliteStore) -> list[Any]:
    """The messages of the only conversation."""
    [thread] = store.threads("local")
    messages: list[Any] = []
    for passage in store.passages("local", thread.id):
        messages += map(json.loads, passage.asked)
        if passage.recording:
            messages.append({"role": "assistant", "content": [json.loads(raw) for raw in passage.recording.blocks]})
    return messages


REQUEST = {"max_tokens": 4096, "metadata": {"user_id": "clew-export"}}
"""What makes an export a request, by which `clew check` knows it."""


@pytest.mark.parametrize("indent", [None, 2])
def test_anthropics_messages_come_in_and_go_out_the_same(store: SqliteStore, indent: int | None) -> None:
    """As one line, or spread over many."""
    raw = json.dumps(json.loads(document(*talk())), indent=indent).encode()
    assert format_of(raw) is FORMATS["anthropic"]
    tally = imported(store, raw, "anthropic")
    assert (tally.threads, tally.turns, tally.broken) == (1, 2, 0)
    assert json.loads(exported(store, "anthropic")) == {**json.loads(document(*talk())), **REQUEST}
    assert store.verify() == ()


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_a_document_that_grew_adds_what_is_new(store: SqliteStore, name: str) -> None:
    short = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "Hi."}]
    more = [{"role": "user", "content": "and now?"}, {"role": "assistant", "content": "Now this."}]
    assert imported(store, document(*short), name).turns == 1
    before = rows(store)
    assert imported(store, document(*short), name).turns == 0
    assert rows(store) == before
    assert imported(store, document(*short, *more), name).turns == 1
    assert len(said(store)) == 4


def test_one_document_on_each_line_is_one_conversation_each_and_a_broken_one_costs_its_line(store: SqliteStore) -> None:
    hello = document(user("hello"), assistant("Hi."))
    raw = b"\n".join([hello, b'{"messages": [', b"", document(user("bye"), assistant("Bye."))])
    tally = imported(store, raw, "anthropic")
    assert (tally.threads, [fault.line for fault in tally.faults]) == (2, [2])


def test_a_document_with_a_message_that_is_none_keeps_what_came_before_it(store: SqliteStore) -> None:
    raw = document(user("hello"), assistant("Hi."), user("more"), {"role": "assistant", "content": [{"no": "type"}]})
    tally = imported(store, raw, "anthropic")
    assert (tally.turns, [fault.line for fault in tally.faults]) == (1, [1])


def test_what_claude_could_not_read_is_not_in_anthropics_messages(store: SqliteStore) -> None:
    """Another maker's thinking, and one without a proof; the newest branch alone; and no answer is ever empty."""
    first = recorded("r0")
    glm = recorded("g", before=(first,), origin=GLM)
    side = recorded("side", before=(first,))
    last = recorded("r1", before=(first, glm))
    unsigned = json.dumps(thinking("no proof", "")).encode()
    last = msgspec.structs.replace(last, blocks=(unsigned,))
    for number, each in enumerate((first, side, glm, last)):
        assert store.record(turn(each, at=NOON + number)).result(120)
    written = json.loads(exported(store, "anthropic"))
    answers = [message["content"] for message in written["messages"] if message["role"] == "assistant"]
    assert answers == [
        [*map(json.loads, first.blocks)],
        [*map(json.loads, glm.blocks[1:])],
        [{"type": "text", "text": "[No message content]", "citations": []}],
    ]


def test_a_question_with_line_breaks_between_its_values_stays_on_its_line(store: SqliteStore) -> None:
    spread = msgspec.structs.replace(turn(recorded("r")), asked=(json.dumps(user("a\nb"), indent=1).encode(),))
    assert store.record(spread).result(120)
    for name in ("anthropic", "claude-code"):
        lines = exported(store, name).splitlines()
        assert all(json.loads(line) for line in lines)
        assert b'"a\\nb"' in lines[0]


CHAT = [
    {"role": "system", "content": "Be quick."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:a/b;base64,QQ=="}}],
    },
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"all": true}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a b"},
    {"role": "assistant", "content": "Two."},
]


def test_openais_messages_come_in_as_anthropics(store: SqliteStore) -> None:
    raw = document(*CHAT, model="gpt-6")
    assert format_of(raw) is FORMATS["openai"]
    imported(store, raw, "openai")
    image = {"type": "image", "source": {"type": "base64", "media_type": "a/b", "data": "QQ=="}}
    assert said(store) == [
        {"role": "system", "content": [text("Be quick.")]},
        user(text("look"), image),
        assistant(thinking("hm", ""), {"type": "tool_use", "id": "c1", "name": "ls", "input": {"all": True}}),
        user(tool_result("c1", "a b")),
        assistant("Two."),
    ]
    assert store.verify() == ()


def test_odd_parts_and_broken_arguments_are_kept_as_what_they_are(store: SqliteStore) -> None:
    calls = [{"id": "c1", "function": {"name": "ls", "arguments": "{broken"}}, {"id": "c2", "function": {"name": "pwd"}}]
    odd = [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}, {"type": "input_audio", "input_audio": {}}]
    messages = [
        {"role": "developer", "content": "Be."},
        {"role": "user", "content": odd},
        {"role": "assistant", "tool_calls": calls},
    ]
    imported(store, document(*messages), "openai")
    assert said(store)[1:] == [
        user(
            {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
            text('{"type":"input_audio","input_audio":{}}'),
        ),
        assistant(tool_use("c1", "ls", arguments="{broken"), tool_use("c2", "pwd")),
    ]


def test_a_conversation_goes_out_in_openais_words_with_its_thinking_as_text(store: SqliteStore) -> None:
    imported(store, document(system("Be quick."), *talk()), "anthropic")
    assert json.loads(exported(store, "openai")) == {
        "model": "claude-opus-5-5",
        "messages": [
            {"role": "system", "content": "Be quick."},
            {"role": "user", "content": "list the files"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "toolu_1", "type": "function", "function": {"name": "Bash", "arguments": '{"command":"ls"}'}}
                ],
                "reasoning_content": "hm",
            },
            {"role": "tool", "tool_call_id": "toolu_1", "content": "a b"},
            {"role": "assistant", "content": "There are two."},
        ],
    }


def test_nothing_to_write_is_an_empty_conversation(store: SqliteStore) -> None:
    assert store.record(turn()).result(120)
    assert json.loads(exported(store, "anthropic")) == {"model": "", "messages": [], **REQUEST}
    assert json.loads(exported(store, "openai"))["messages"] == []


@pytest.mark.parametrize("raw", [b"", b"hello", b"[1]", b'{"a":1}', b"\xff", b'{"model":"x"}'])
def test_what_is_no_conversation_is_not_taken_for_one(raw: bytes) -> None:
    assert format_of(raw) is None
