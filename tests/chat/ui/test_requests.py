"""UI messages as an API takes them: taken apart, put through the three transforms, and never touched themselves."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clew.chat.ui import requests
from clew.chat.ui.requests import api_messages, system_of, user_content
from clew.chat.ui.tool_parts import outputs_of
from clew.errors import RequestInvalid
from clew.pipeline import ui
from tests.manifest import proves

STEP = {"type": "step-start"}


def said(role: str, *parts: Any, id: str = "m") -> Any:
    return {"id": id, "role": role, "parts": list(parts)}


def text(words: str) -> Any:
    return {"type": "text", "text": words}


def tool(id: str, **more: Any) -> Any:
    return {"type": "tool-look", "toolCallId": id, "state": "output-available", "input": {"n": id}, "output": id, **more}


def shape(messages: list[Any]) -> list[Any]:
    return [(each["role"], [block["type"] for block in each["content"]]) for each in messages]


@proves("req:S4-1")
def test_the_systems_messages_are_told_apart() -> None:
    """S4-1: the working list lacks them, and the given one has them still."""
    given = [said("system", text("Be brief.")), said("user", text("Hello."))]
    before = copy.deepcopy(given)
    assert api_messages(given) == [{"role": "user", "content": [{"type": "text", "text": "Hello."}]}]
    assert system_of(given) == "Be brief."
    assert given == before


@proves("req:S4-4")
def test_the_transforms_run_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """S4-4: tool structure, reasoning to thinking, thinking first."""
    seen: list[str] = []
    for name in ("ensure_tool_message_structure", "convert_reasoning_to_thinking", "ensure_thinking_block_compliance"):
        real = getattr(ui, name)

        def spied(*given: Any, _real: Any = real, _name: str = name, **more: Any) -> Any:
            seen.append(_name)
            return _real(*given, **more)

        monkeypatch.setattr(ui, name, spied)
    requests.api_messages([said("user", text("Hello."))])
    assert seen == ["ensure_tool_message_structure", "convert_reasoning_to_thinking", "ensure_thinking_block_compliance"]


@proves("req:S4-14", "req:S4-18")
def test_each_step_is_an_answer_and_its_results_come_after_it() -> None:
    """S4-18: a text that follows results is told apart from the call after it; the API reads the two as one."""
    message = said(
        "assistant", STEP, text("I look."), tool("1"), tool("2"), STEP, text("So."), tool("3"), STEP, text("Done.")
    )
    assert shape(api_messages([said("user", text("Look.")), message])) == [
        ("user", ["text"]),
        ("assistant", ["text", "tool_use", "tool_use"]),
        ("user", ["tool_result", "tool_result"]),
        ("assistant", ["text"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
    ]


def test_without_marks_results_stand_where_the_calls_end() -> None:
    message = said("assistant", tool("1"), tool("2"), text("So."), tool("3"), text("Done."))
    assert shape(api_messages([message])) == [
        ("assistant", ["tool_use", "tool_use"]),
        ("user", ["tool_result", "tool_result"]),
        ("assistant", ["text"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
    ]


@proves("req:S4-22", "req:C16")
def test_reasoning_goes_back_as_thinking_only_with_its_makers_proof() -> None:
    """S4-22."""
    signed = {"type": "reasoning", "text": "Hm.", "providerMetadata": {"anthropic": {"signature": "c2ln"}}}
    redacted = {"type": "reasoning", "text": "", "providerMetadata": {"anthropic": {"redactedData": "ZW5j"}}}
    unsigned = {"type": "reasoning", "text": "So."}
    [answer] = api_messages([said("assistant", signed, redacted, unsigned, text("Done."))])
    assert answer["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZW5j"},
        {"type": "text", "text": "Done."},
    ]


def test_calls_come_to_what_their_state_says() -> None:
    message = said(
        "assistant",
        tool("1"),
        tool("2", state="output-error", errorText="no"),
        tool("3", state="output-denied"),
        tool("4", state="approval-responded", approval={"id": "a", "approved": False, "reason": "never"}),
        tool("5", state="approval-responded", approval={"id": "b", "approved": True}),
        tool("6", state="input-available"),
        {"type": "dynamic-tool", "toolName": "other", "toolCallId": "7", "state": "output-available", "output": None},
    )
    assert {id: str(output) for id, output in outputs_of(message).items()} == {
        "1": "1",
        "2": "no",
        "3": "The user did not allow this call.",
        "4": "The user did not allow this call. never",
        "7": "None",
    }


@pytest.mark.parametrize(
    ("url", "kind", "block"),
    [
        ("data:image/png;base64,aGk=", "image/png", {"type": "base64", "media_type": "image/png", "data": "aGk="}),
        (
            "data:application/pdf;base64,aGk=",
            "application/pdf",
            {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
        ),
        ("data:text/plain,hi%20you", "text/plain", {"type": "text", "media_type": "text/plain", "data": "hi you"}),
        ("https://a.example/a.png", "image/png", {"type": "url", "url": "https://a.example/a.png"}),
    ],
)
def test_files_are_sent_as_what_they_are(url: str, kind: str, block: Any) -> None:
    [read] = user_content(said("user", {"type": "file", "mediaType": kind, "url": url}))
    assert read == {"type": "image" if kind == "image/png" else "document", "source": block}
    [named] = user_content(said("user", {"type": "file", "mediaType": kind, "url": url, "filename": "a file"}))
    has_title = read["type"] == "document"  # a picture has none in the Messages API
    assert named == {**read, **({"title": "a file"} if has_title else {})}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "file", "mediaType": "image/svg+xml", "url": "data:image/svg+xml,x"},
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,***"},
        {"type": "file", "mediaType": "image/png", "url": "javascript:x"},
        {"type": "hologram"},
    ],
)
def test_what_no_model_takes_is_refused(part: Any) -> None:
    with pytest.raises(RequestInvalid):
        user_content(said("user", part))


def test_what_is_for_the_front_end_alone_is_not_sent() -> None:
    given = said("user", text("Hello."), {"type": "data-mood", "data": 1}, text(""))
    assert user_content(given) == [{"type": "text", "text": "Hello."}]
    with pytest.raises(RequestInvalid, match="is empty"):
        user_content(said("user", {"type": "data-mood", "data": 1}))
