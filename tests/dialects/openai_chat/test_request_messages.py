"""Messages of the Messages API as messages of Chat Completions."""

from __future__ import annotations

import pytest

from clew.errors import RequestInvalid, Unrepresentable
from clew.wire.requests import parse
from tests.build import Json, assistant, request, system, text, tool_result, tool_use, user
from tests.dialects.openai_chat.encoding import body, changes, messages, told

PNG: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
PNG_PART: Json = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}
LINKED: Json = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
LINKED_PART: Json = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


@pytest.mark.parametrize("prompt", ["be brief", [text("be brief")], [text("be brief", cache_control={"type": "ephemeral"})]])
def test_a_system_prompt_is_the_first_message_whether_string_or_blocks(prompt: object) -> None:
    """dialects 2.1; clients 1.4: content is a list on one request and a string on the next."""
    assert body(request(user("hi"), system=prompt))["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
    ]


def test_system_blocks_become_paragraphs_and_the_billing_line_stays_behind() -> None:
    """clients 1.4: the first block differs in each conversation and defeats prefix caches."""
    asked = request(user("hi"), system=[text("x-anthropic-billing-header: cc_version=2;"), text("one"), text("two")])

    assert body(asked, system="developer")["messages"][0] == {"role": "developer", "content": "one\n\ntwo"}
    assert told(asked) == [("system.0", "left out")]


def test_a_system_message_stays_where_it_stands() -> None:
    """clients 1.4: they come in between, and last."""
    assert messages(user("a"), system("b"), assistant("c"), system("d")) == [
        {"role": "user", "content": "a"},
        {"role": "system", "content": "b"},
        {"role": "assistant", "content": "c"},
        {"role": "system", "content": "d"},
    ]


def test_a_backend_that_takes_only_a_first_system_message_gets_later_ones_from_the_user() -> None:
    asked = request(user("a"), system("b"))

    assert body(asked, late_system="user")["messages"][1] == {
        "role": "user",
        "content": "<system-message>\nb\n</system-message>",
    }
    assert told(asked, late_system="user") == [("messages.1", "replaced")]


def test_messages_that_may_not_follow_each_other_have_one_of_the_other_side_between_them() -> None:
    """dialects 2.12: behind a tool message a user's is refused, and clients put reminders there."""
    loop = (user("a"), assistant(tool_use("t")), user(tool_result("t"), "b"))
    twice = (user("a"), user("b"), assistant("c"), assistant("d"))
    between = {"role": "assistant", "content": "Noted."}, {"role": "user", "content": "Go on."}

    assert messages(*loop, apart=frozenset({"tool user"}))[2:] == [
        {"role": "tool", "tool_call_id": "t", "content": "done"},
        between[0],
        {"role": "user", "content": "b"},
    ]
    alternating = messages(*twice, apart=frozenset({"user user", "assistant assistant"}))
    assert (alternating[1], alternating[4]) == between
    assert told(request(*loop), apart=frozenset({"tool user"})) == [("messages.2", "added")]
    assert told(request(*loop)) == []


def test_an_empty_system_message_with_an_effort_is_left_out() -> None:
    """clients 1.4: after /compact one came with empty content; dialects 7, case 65."""
    asked = request(user("a"), {"role": "system", "content": [], "output_config": {"effort": "low"}})

    assert body(asked, knob="reasoning_effort")["messages"] == [{"role": "user", "content": "a"}]
    assert told(asked, knob="reasoning_effort") == [
        ("messages.1", "left out"),
        ("messages.1.output_config.effort", "moved"),
    ]


def test_user_text_is_one_string_whether_it_came_as_a_string_or_as_blocks() -> None:
    """clients 4.9: the same history is not byte-equal between turns."""
    assert messages(user("a")) == messages(user(text("a"))) == [{"role": "user", "content": "a"}]
    assert messages(user(text("a"), text(""), text("b"))) == [{"role": "user", "content": "a\n\nb"}]


def test_images_stand_between_the_texts_where_the_user_put_them() -> None:
    assert messages(user(text("see"), PNG, text(""), text("and"), LINKED)) == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "see"}, PNG_PART, {"type": "text", "text": "and"}, LINKED_PART],
        }
    ]


def test_an_image_that_a_backend_cannot_see_is_refused_or_replaced_as_it_wants() -> None:
    """dialects 7, case 66."""
    asked = request(user(text("see"), PNG))

    with pytest.raises(Unrepresentable, match=r"messages\.0\.content\.1: this backend does not support images"):
        body(asked, images="refuse")
    assert body(asked, images="omit")["messages"][0]["content"] == (
        "see\n\n[An image was left out here: this model cannot see images.]"
    )
    assert told(asked, images="omit") == [("messages.0.content.1", "replaced")]


def test_an_image_by_url_is_refused_where_only_data_is_taken() -> None:
    """dialects 2.23: Ollama takes base64 only."""
    with pytest.raises(Unrepresentable, match=r"messages\.0\.content\.0\.source: .*only as base64"):
        messages(user(LINKED), image_urls=False)


def test_an_image_in_a_file_of_the_vendor_is_refused() -> None:
    with pytest.raises(Unrepresentable, match="source type 'file'"):
        messages(user({"type": "image", "source": {"type": "file", "file_id": "f"}}))


def test_what_has_no_form_over_there_is_refused_by_its_place() -> None:
    with pytest.raises(
        Unrepresentable, match=r"^messages\.0\.content\.0: .*'container_upload'.*: take it out, or"
    ) as refusal:
        messages(user({"type": "container_upload", "file_id": "f"}))

    assert (refusal.value.status, refusal.value.error_type) == (400, "invalid_request_error")


PDF: Json = {
    "type": "document",
    "title": "Report",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"},
}


def test_a_document_that_is_text_is_sent_as_text() -> None:
    words = {"type": "text", "media_type": "text/plain", "data": "All of it."}
    asked = request(user({"type": "document", "title": "Notes", "context": "from May", "source": words}, text("well?")))

    assert body(asked)["messages"][0]["content"] == "[Document: Notes]\nfrom May\nAll of it.\n\nwell?"
    assert told(asked) == [("messages.0.content.0", "replaced")]


def test_a_document_made_of_blocks_is_sent_as_those() -> None:
    asked = request(user({"type": "document", "source": {"type": "content", "content": [text("one"), PNG]}}))

    assert body(asked)["messages"][0]["content"] == [
        {"type": "text", "text": "[Document]"},
        {"type": "text", "text": "one"},
        PNG_PART,
    ]


def test_a_pdf_is_refused_left_out_or_sent_as_a_file_as_the_backend_wants() -> None:
    asked = request(user(PDF))

    with pytest.raises(
        Unrepresentable, match=r"^messages\.0\.content\.0: .*: send its text instead, or ask a model that can"
    ):
        body(asked, documents="refuse")
    assert body(asked)["messages"][0]["content"] == (
        "[Document: Report]\n\n[A document was left out here: this model cannot read it.]"
    )
    assert told(asked) == [("messages.0.content.0", "replaced")]
    assert body(asked, documents="file")["messages"][0]["content"][1] == {
        "type": "file",
        "file": {"filename": "Report", "file_data": "data:application/pdf;base64,JVBE"},
    }


def test_a_pdf_of_a_tool_follows_as_a_file() -> None:
    """Claude Code's Read gives PDFs as documents."""
    said = messages(user(tool_result("a", [PDF])), documents="file")

    assert said[0]["content"] == "[Document: Report]\n[File 1 of this result follows in the next message.]"
    assert [part["type"] for part in said[1]["content"]] == ["text", "file"]


def test_a_search_result_is_sent_as_its_text() -> None:
    found = {"type": "search_result", "source": "https://example.org", "title": "A page", "content": [text("It says so.")]}
    asked = request(user(found))

    assert body(asked)["messages"][0]["content"] == "[Search result: A page]\nhttps://example.org\n\nIt says so."
    assert told(asked) == [("messages.0.content.0", "replaced")]


def test_a_role_that_nobody_has_is_invalid() -> None:
    with pytest.raises(RequestInvalid, match=r"^messages\.0\.role: Input should be 'user' or 'assistant'"):
        messages({"role": "tool", "content": "x"})


def test_calls_carry_their_input_as_json_text_and_results_follow_in_order() -> None:
    said = messages(
        user("go"),
        assistant("two", tool_use("a", "Read", path="x", n=[1, 2]), tool_use("b", "Now")),
        user(tool_result("a", "1"), tool_result("b", [text("2"), text("3")]), text("go on")),
    )

    assert said[1:] == [
        {
            "role": "assistant",
            "content": "two",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "Read", "arguments": '{"path":"x","n":[1,2]}'}},
                {"id": "b", "type": "function", "function": {"name": "Now", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2\n3"},
        {"role": "user", "content": "go on"},
    ]


def test_a_call_without_text_has_null_content() -> None:
    assert messages(assistant(tool_use("a")))[0]["content"] is None


def test_a_failed_tool_says_so_in_its_text() -> None:
    asked = request(user(tool_result("a", "no such file", is_error=True), tool_result("b", [], is_error=True)))

    assert [each["content"] for each in body(asked)["messages"]] == ["Error: no such file", "Error:"]
    assert told(asked) == [("messages.0.content.0.is_error", "replaced"), ("messages.0.content.1.is_error", "replaced")]


def test_results_come_before_what_the_user_said_ahead_of_them() -> None:
    """A tool message must follow its call directly."""
    asked = request(user(text("first"), tool_result("a", "1")))

    assert [each["role"] for each in body(asked)["messages"]] == ["tool", "user"]
    assert told(asked) == [("messages.0.content.1", "moved")]


def test_images_of_a_tool_result_follow_in_a_user_message_under_their_numbers() -> None:
    """Most backends take only text in a tool message; dialects 7, case 66."""
    asked = request(user(tool_result("a", [text("two:"), PNG, LINKED]), tool_result("b", "x"), text("well?")))

    assert body(asked)["messages"] == [
        {
            "role": "tool",
            "tool_call_id": "a",
            "content": "two:\n[Image 1 of this result follows in the next message.]"
            "\n[Image 2 of this result follows in the next message.]",
        },
        {"role": "tool", "tool_call_id": "b", "content": "x"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "[Image 1 of the result of tool call a:]"},
                PNG_PART,
                {"type": "text", "text": "[Image 2 of the result of tool call a:]"},
                LINKED_PART,
                {"type": "text", "text": "well?"},
            ],
        },
    ]
    assert told(asked) == [("messages.0.content.0.content", "moved")]


def test_images_of_a_tool_result_stay_in_it_where_the_backend_takes_them() -> None:
    assert messages(user(tool_result("a", [text("see"), PNG])), tool_images=True) == [
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "see"}, PNG_PART]}
    ]


def test_ids_of_calls_fit_a_backend_that_wants_nine_characters_and_still_meet() -> None:
    """dialects 2.12: Mistral's ids match [a-zA-Z0-9]{9}."""
    said = messages(assistant(tool_use("toolu_1"), tool_use("abcdefgh9")), user(tool_result("toolu_1")), call_ids="nine")

    ids = [call["id"] for call in said[0]["tool_calls"]]
    assert ids == [said[1]["tool_call_id"], "abcdefgh9"]
    assert len(ids[0]) == 9
    assert ids[0].isalnum()


def test_ids_that_do_not_fit_are_told_once_with_how_many_there_are() -> None:
    asked = request(
        assistant(tool_use("toolu_1"), tool_use("toolu_2")), user(tool_result("toolu_1"), tool_result("toolu_2"))
    )

    (change,) = changes(asked, call_ids="nine")

    assert (change.path, change.what) == ("messages.0.content.0.id", "replaced")
    assert change.why.endswith("(and 3 more like it)")


def test_text_after_a_call_comes_before_it_and_that_is_told() -> None:
    asked = request(assistant(tool_use("a"), text("done")))

    assert body(asked)["messages"][0]["content"] == "done"
    assert told(asked) == [("messages.0.content.1", "moved")]


def test_blocks_that_only_their_vendor_can_read_are_left_out_of_an_answer() -> None:
    """History from another backend must not end the conversation."""
    search: Json = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    asked = request(user("q"), assistant(search, text("found", citations=[])), assistant(search))

    assert body(asked)["messages"][1:] == [{"role": "assistant", "content": "found"}]
    assert told(asked) == [
        ("messages.1.content.0", "left out"),
        ("messages.1.content.1.citations", "left out"),
        ("messages.2.content.0", "left out"),
        ("messages.2", "left out"),
    ]


def test_a_value_of_the_wrong_kind_is_named_by_its_place() -> None:
    with pytest.raises(RequestInvalid) as refusal:
        messages(user(tool_result("a", is_error="yes")))

    assert refusal.value.path == "messages.0.content.0.is_error"


def test_a_message_is_named_by_its_place_in_the_clients_request() -> None:
    """A step may have taken out an earlier one."""
    asked = request(user("gone"), user("a"), {"role": "system", "content": []})
    projected = asked.with_messages(asked.messages[1:])

    assert told(projected) == [("messages.2", "left out")]


def test_an_input_that_is_no_utf8_is_named_by_its_place() -> None:
    call = b'{"type":"tool_use","id":"a","name":"N","input":{"x":"\xff"}}'

    with pytest.raises(RequestInvalid) as refusal:
        body(parse(b'{"model":"m","messages":[{"role":"assistant","content":[%b]}]}' % call))

    assert refusal.value.path == "messages.0.content.0.input"
