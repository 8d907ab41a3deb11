"""Content that is certain to be refused is corrected; everything else keeps its bytes."""

import json

import pytest

from clew.model.change import Change
from clew.model.request import Request
from clew.pipeline.normalise import normalise
from clew.pipeline.step import Facts
from clew.wire.known_history import read_on
from clew.wire.requests import encode, parse
from tests.build import assistant, raw, redacted, request, text, thinking, tool_result, tool_use, user
from tests.manifest import proves
from tests.pipeline.targets import model, run

FILLER = {"type": "text", "text": "[No message content]", "citations": []}
T, R = thinking("hmm"), redacted("abc")


def trailing(index: int, removed: int, remaining: int) -> Change:
    why = f"blocksRemoved={removed}, remainingBlocks={remaining}: the last message ended in thinking (R37)"
    return Change("normalise", f"messages.{index}.content", "removed", why)


@proves("req:S0-6", "req:S0-7", "req:S0-8", "req:S0-9")
@pytest.mark.parametrize(
    ("content", "kept", "removed"),
    [
        ([T, text("a"), tool_use("t1"), T, T], [T, text("a"), tool_use("t1")], 2),
        ([text("a"), R], [text("a")], 1),
        ([text("a"), T, R, T], [text("a")], 3),
        ([T, T], [], 2),
        ([R], [], 1),
    ],
)
def test_the_last_message_loses_the_thinking_at_its_end(content: list, kept: list, removed: int) -> None:
    """R37: refused at the end of a request, always; the Change has the counts of the documents' event."""
    body, changes = run(normalise, request(user("hi"), assistant(*content)))
    assert body["messages"] == [user("hi"), assistant(*(kept or [FILLER]))]
    assert changes == (trailing(1, removed, len(kept)),)


@proves("req:S0-4", "req:S0-5", "req:S0-10", "req:S0-11", "req:S0-14")
@pytest.mark.parametrize(
    "messages",
    [
        [],
        [user("hi")],
        [user("hi"), assistant(T, text("a"))],
        [user("hi"), assistant()],
        [user("hi"), assistant(text("a"), T), user("more"), assistant(text("b"))],
        [user("hi"), assistant(T), user("more")],
        [user("hi"), assistant("a"), user(T)],
        [user("hi"), assistant(T, text("a")), user("more")],
        [user("a"), user("b"), assistant("c"), assistant("d"), user("e")],
    ],
    ids=[
        "none",
        "user-last",
        "text-last",
        "empty-last",
        "earlier-trailing",
        "earlier-alone",
        "users",
        "middle",
        "same-role-runs",
    ],
)
def test_what_is_legal_is_the_same_request(messages: list) -> None:
    """R21, R22, R37: nothing changes unless it must, so the bytes stay the client's."""
    given = request(*messages)
    result, changes = normalise(given, model(), Facts())
    assert result is given
    assert changes == ()


def test_only_an_answer_is_cut_at_its_end() -> None:
    """R37 speaks of assistant messages; thinking of a user is refused by another rule, and not ours to correct."""
    body, changes = run(normalise, request(user(text(""), "a"), assistant("b"), user(T)))
    assert body["messages"] == [user(text("a")), assistant("b"), user(T)]
    assert [change.path for change in changes] == ["messages.0.content.0"]


def test_the_rest_of_a_cut_message_keeps_its_bytes() -> None:
    """Law 5: only the end of the array goes."""
    kept = b'{ "messages":[{"role":"assistant", "content":[ {"type":"text","text":"\\u00e9",  "x":1.0}'
    raw = kept + b' ,{"type":"thinking","thinking":"","signature":"s"}]}] }'
    result, _ = normalise(parse(raw), model(), Facts())
    assert encode(result) == kept + b"]}] }"


@pytest.mark.parametrize(
    ("given", "sent", "what"),
    [
        (user(""), user(FILLER), "replaced"),
        (user(), user(FILLER), "replaced"),
        (user("\n"), user(FILLER), "replaced"),
        (user(text(" "), text("\t\u00a0")), user(FILLER), "replaced"),
        (user(text("\u2003")), user(FILLER), "replaced"),
        (assistant(text(" ")), assistant(FILLER), "replaced"),
    ],
    ids=["empty-string", "empty-list", "blank-string", "blank-texts", "blank-unicode", "blank-answer"],
)
def test_a_message_of_nothing_becomes_the_filler(given: dict, sent: dict, what: str) -> None:
    """R22: user messages must have content; no message may be nothing but white space."""
    body, changes = run(normalise, request(user("hi"), given, user("end")))
    assert body["messages"] == [user("hi"), sent, user("end")]
    assert [(change.path, change.what) for change in changes] == [("messages.1.content", what)]


@pytest.mark.parametrize(
    "message",
    [
        assistant(),
        {"role": "assistant", "content": ""},
        assistant(text(" "), text("a")),
        assistant(text("\n"), tool_use("t1")),
        user(text(" "), text("a")),
        user(tool_result("t1", "")),
        user(tool_result("t1", [])),
        user(tool_result("t1", " ")),
        user(tool_result("t1", [text("")])),
        user({"type": "tool_result", "tool_use_id": "t1"}),
        assistant(T, text(" "), T, text("a")),
        assistant(thinking("", "signed"), text("a")),
    ],
)
def test_white_space_beside_content_and_empty_results_stay(message: dict) -> None:
    """R22: all of these are accepted; S0-50: empty thinking with a signature is a normal block."""
    body, changes = run(normalise, request(user("hi"), message, user("end")))
    assert body["messages"][1] == message
    assert changes == ()


def test_empty_texts_go_and_their_neighbours_stay() -> None:
    """R22: an empty text block is refused anywhere."""
    body, changes = run(normalise, request(user(text(""), "a"), assistant(text(""), T, "b", text("")), user("end")))
    assert body["messages"] == [user(text("a")), assistant(T, "b"), user("end")]
    why = "a text block must be non-empty (R22)"
    paths = ["messages.0.content.0", "messages.1.content.0", "messages.1.content.3"]
    assert changes == tuple(Change("normalise", path, "removed", why) for path in paths)


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ([T, text(""), T, "a"], [T, FILLER, T, "a"]),
        ([T, text(""), text(""), R, "a"], [T, FILLER, R, "a"]),
        ([T, text("")], [T, FILLER]),
        ([T, text(""), tool_use("t1")], [T, tool_use("t1")]),
    ],
    ids=["between-two", "two-between-two", "at-the-end", "before-a-call"],
)
def test_an_empty_text_that_thinking_needs_after_it_becomes_the_filler(content: list, sent: list) -> None:
    """R34: two thinking blocks that were apart may not be joined; and clew makes no message end in thinking."""
    body, _ = run(normalise, request(user("hi"), assistant(*content), user("end")))
    assert body["messages"][1] == assistant(*sent)


def test_an_answer_of_nothing_but_empty_texts_becomes_the_filler() -> None:
    """C13: one rule for messages that would be empty."""
    body, changes = run(normalise, request(user("hi"), assistant(text(""), text("")), user("end")))
    assert body["messages"][1] == assistant(FILLER)
    assert [change.what for change in changes] == ["removed", "removed", "replaced"]


@proves("req:S0-18", "req:S0-21")
def test_thinking_loses_its_cache_mark_and_nothing_else() -> None:
    """R33: cache_control on thinking is refused; the block keeps every other byte."""
    words = 'quotes " and \\ and\nnew lines, 😀'
    marked = {**thinking(words, "sig=="), "cache_control": {"type": "ephemeral"}}
    body, changes = run(normalise, request(user("hi"), assistant(marked, {**R, "cache_control": None}, "a"), user("end")))
    assert body["messages"][1] == assistant(thinking(words, "sig=="), R, "a")
    why = "thinking cannot carry cache_control (R33)"
    paths = ["messages.1.content.0.cache_control", "messages.1.content.1.cache_control"]
    assert changes == tuple(Change("normalise", path, "removed", why) for path in paths)


@pytest.mark.parametrize(
    ("system", "sent", "paths"),
    [
        ("  ", None, ["system"]),
        ([text("")], None, ["system"]),
        ([text(" "), text("\n")], None, ["system"]),
        ([text(""), text("  ")], None, ["system"]),
        ([text(""), text("be kind"), text("")], [text("be kind")], ["system.0", "system.2"]),
    ],
)
def test_a_system_prompt_loses_what_is_refused_in_it(system: object, sent: object, paths: list[str]) -> None:
    """R16."""
    body, changes = run(normalise, request(user("hi"), system=system))
    assert body.get("system") == sent
    assert [(change.path, change.what) for change in changes] == [(path, "removed") for path in paths]


@pytest.mark.parametrize("system", ["", [], "be kind", [text("be kind")], [text(" "), text("be kind")], 7, [text("x"), 7]])
def test_a_legal_system_prompt_stays(system: object) -> None:
    """R16: the empty string and the empty list are legal. What is no prompt at all is the vendor's to refuse."""
    body, changes = run(normalise, request(user("hi"), system=system))
    assert body["system"] == system
    assert changes == ()


@pytest.mark.parametrize(("prompt", "is_known"), [("be kind", True), ("be kinder", False), (" ", False)])
def test_a_system_prompt_that_was_in_order_is_not_read_again(prompt: str, is_known: bool) -> None:
    """It is the very same one if the request goes on from the other; any other is looked at."""
    first = request(user("hi"), system=[text("be kind")])
    normalise(first, model("claude-opus-5-5"), Facts())
    source = read_on(first.source, raw(user("hi"), assistant("a"), user("b"), system=[text(prompt)]))
    assert source is not None
    assert (source.in_order is source.body.system) is is_known
    sent, changes = normalise(Request(source, source.body), model("claude-opus-5-5"), Facts())
    assert (sent.body.system is source.body.system, bool(changes)) == ((True, False) if prompt != " " else (False, True))


def test_a_system_role_message_is_not_looked_at() -> None:
    """`system_messages` decides about those."""
    message = {"role": "system", "content": [text("")]}
    assert run(normalise, request(user("hi"), message))[1] == ()


def test_lengths_do_not_hide_blank_or_empty_text() -> None:
    """Escapes of every kind are white space too, and a text that only begins with it is not."""
    blank = json.loads('"' + "\\u0020" * 5000 + '"')
    body, _ = run(normalise, request(user(text(blank)), assistant("a"), user(text(blank + "x"))))
    assert body["messages"] == [user(FILLER), assistant("a"), user(text(blank + "x"))]
