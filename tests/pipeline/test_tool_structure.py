"""Tool calls and results in the order that the API wants, corrected where they are not."""

from typing import Any

import pytest

from clew.model.blocks import Made
from clew.model.change import Change
from clew.model.facts import profile_for
from clew.model.origin import Target
from clew.pipeline import pairing
from clew.pipeline.pairing import NO_RESULT, ORPHAN_LABEL
from clew.pipeline.step import Facts
from clew.pipeline.tool_structure import tool_structure
from tests.build import assistant, request, system, text, thinking, tool_result, tool_use, user
from tests.pipeline.targets import run

A, B = tool_use("A"), tool_use("B")
RA, RB = tool_result("A", "a"), tool_result("B", "b")


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
FILLER = text("[No message content]", citations=[])


def no_result(id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": NO_RESULT, "is_error": True}


def change(path: str, what: Any, why: str) -> Change:
    return Change("tool_structure", path, what, why)


LATE = "results must come first in the message that answers (R26)"
UNANSWERED = "the call has no result (R26)"
REPEATED = "the call has a result already (R28)"
ORPHAN = "no call in the message before it (R27)"
ID_USED = "an earlier tool_use has this id (R25)"
ABANDONED = "the server's tool never gave a result, and the user continued (R29)"
IN_ANSWER = "a tool_result can only be in a user message (R23)"


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [user("hi")],
        [user("hi"), assistant("a"), user("b")],
        [user("hi"), assistant(A), user(RA)],
        [user("hi"), assistant("x", A, B), user(RB, RA, "remark")],
        [user("hi"), assistant(A, B), user(RB), user(RA, "remark")],
        [user("hi"), assistant(A), user(RA), user("remark")],
        [user("hi"), assistant(A), assistant(B), user(RA, RB)],
        [user("hi"), assistant(A), user(RA), assistant(B), user(RB)],
        [user("hi"), assistant(A), user(RA), system("note"), assistant("done")],
        [user("hi"), assistant(SEARCH)],
        [user("hi"), assistant(SEARCH, FOUND, "so"), user("go on")],
        [user("hi"), assistant(SEARCH), assistant(FOUND, "so"), user("go on")],
        [user("hi"), assistant(SEARCH, A), user(RA)],
        [user("hi"), assistant(SEARCH, A), user(RA), assistant("so"), user("go on")],
        [assistant(A), user(RA)],
    ],
)
def test_a_legal_history_is_the_same_request(messages: list) -> None:
    """R26: results of a run may come in any order and cross user messages."""
    given = request(*messages)
    body, changes = run(tool_structure, given)
    assert body["messages"] == messages
    assert changes == ()


@pytest.mark.parametrize(
    ("messages", "sent", "changes"),
    [
        (
            [user("hi"), assistant(A), user("stop", RA)],
            [user("hi"), assistant(A), user(RA, "stop")],
            [change("messages.2.content.1", "moved", LATE)],
        ),
        (
            [user("hi"), assistant(A, B), user(RA, "note"), user(RB)],
            [user("hi"), assistant(A, B), user(RA, RB, "note")],
            [change("messages.3.content.0", "moved", LATE)],
        ),
        (
            [user("hi"), assistant(A), user("a string"), user(RA)],
            [user("hi"), assistant(A), user(RA, text("a string"))],
            [change("messages.3.content.0", "moved", LATE)],
        ),
        (
            [user("hi"), assistant(A), user("go on")],
            [user("hi"), assistant(A), user(no_result("A"), text("go on"))],
            [change("messages.1.content.0", "added", UNANSWERED)],
        ),
        (
            [user("hi"), assistant("x", A, B), user(RB)],
            [user("hi"), assistant("x", A, B), user(RB, no_result("A"))],
            [change("messages.1.content.1", "added", UNANSWERED)],
        ),
        (
            [user("hi"), assistant(A)],
            [user("hi"), assistant(A), user(no_result("A"))],
            [change("messages.1.content.0", "added", UNANSWERED)],
        ),
        (
            [user("hi"), assistant(A), user(RA, RA | {"content": "again"})],
            [user("hi"), assistant(A), user(RA)],
            [change("messages.2.content.1", "left out", REPEATED)],
        ),
        (
            [user("hi"), assistant(A), user(RB, RA)],
            [user("hi"), assistant(A), user(RA, ORPHAN_LABEL, "b")],
            [change("messages.2.content.0", "replaced", ORPHAN)],
        ),
        (
            [user(tool_result("A", "")), assistant("x"), user("b")],
            [user({"type": "text", "text": "[No message content]", "citations": []}), assistant("x"), user("b")],
            [change("messages.0.content.0", "left out", ORPHAN)],
        ),
        (
            [user("hi"), assistant("x"), user("so", {"type": "tool_result", "tool_use_id": "A"})],
            [user("hi"), assistant("x"), user(text("so"))],
            [change("messages.2.content.1", "left out", ORPHAN)],
        ),
        (
            [user("hi"), assistant(A), user(RA), assistant(A), user(RA | {"content": "second"})],
            [user("hi"), assistant(A), user(RA), assistant(tool_use("A-2")), user(tool_result("A-2", "second"))],
            [change("messages.3.content.0.id", "set", ID_USED)],
        ),
        (
            [user("hi"), assistant(A, A), user(RA, RA | {"content": "second"})],
            [user("hi"), assistant(A, tool_use("A-2")), user(RA, tool_result("A-2", "second"))],
            [change("messages.1.content.1.id", "set", ID_USED)],
        ),
        (
            [user("hi"), assistant("x", A, RA, "then"), user("b")],
            [user("hi"), assistant("x", A), user(RA), assistant("then"), user("b")],
            [change("messages.1.content.2", "moved", IN_ANSWER)],
        ),
        (
            [user("hi"), assistant(RA, "x"), user("b")],
            [user("hi"), user(ORPHAN_LABEL, "a"), assistant("x"), user("b")],
            [change("messages.1.content.0", "moved", IN_ANSWER), change("messages.1.content.0", "replaced", ORPHAN)],
        ),
        (
            [user("hi"), assistant(A), system("note"), user("x", RA)],
            [user("hi"), assistant(A), system("note"), user(RA, "x")],
            [change("messages.3.content.1", "moved", LATE)],
        ),
    ],
    ids=[
        "result-after-text",
        "result-in-a-later-message",
        "result-after-a-string",
        "unanswered",
        "one-of-two-unanswered",
        "unanswered-at-the-end",
        "answered-twice",
        "orphan-before-the-result",
        "orphan-at-the-head-that-says-nothing",
        "orphan-without-content",
        "id-used-twice",
        "id-used-twice-in-one-message",
        "result-in-an-answer",
        "orphan-in-an-answer",
        "system-message-between",
    ],
)
def test_what_is_refused_is_mended_where_it_stands(messages: list, sent: list, changes: list[Change]) -> None:
    """R23, R25–R28: result and reason."""
    body, made = run(tool_structure, request(*messages))
    assert body["messages"] == sent
    assert list(made) == changes


def test_white_space_that_stood_beside_a_result_does_not_stay_alone() -> None:
    """R22: legal beside it, refused without it; in a user message, and in an answer that held results."""
    why = "white space alone is refused (R22)"
    moved = [user("hi"), assistant(A), user("x"), user(text(" "), RA)]
    body, changes = run(tool_structure, request(*moved))
    assert body["messages"] == [user("hi"), assistant(A), user(RA, text("x"))]
    assert changes == (change("messages.3.content.1", "moved", LATE), change("messages.3.content.0", "removed", why))
    cut = [user("hi"), assistant(A, RA, text("\n")), user("b")]
    body, changes = run(tool_structure, request(*cut))
    assert body["messages"] == [user("hi"), assistant(A), user(RA), user("b")]
    assert changes == (change("messages.1.content.1", "moved", IN_ANSWER), change("messages.1.content.2", "removed", why))
    only = [user("hi"), assistant("x"), user(text(" "), tool_result("Z", ""))]
    body, changes = run(tool_structure, request(*only))
    assert body["messages"][2] == user({"type": "text", "text": "[No message content]", "citations": []})
    assert changes == (change("messages.2.content.1", "left out", ORPHAN), change("messages.2.content.0", "removed", why))


def test_an_orphan_keeps_what_may_stand_in_a_user_message() -> None:
    """R27: images stay, what only a result may hold does not."""
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    reference = {"type": "tool_reference", "tool_name": "Bash"}
    body, _ = run(tool_structure, request(user(tool_result("A", [text(""), image, reference, text("seen")]))))
    assert body["messages"] == [user(ORPHAN_LABEL, image, "seen")]


def test_blocks_that_move_keep_their_bytes_and_thinking_stays_in_place() -> None:
    """Law 4: a signed block is never moved; C16: results go as they came."""
    odd = tool_result("A", [text("x")], is_error=False, extra=1.0)
    messages = [user("hi"), assistant(thinking("hmm"), "x", thinking("more"), A), user("wait"), user(odd)]
    body, _ = run(tool_structure, request(*messages))
    assert body["messages"] == [messages[0], messages[1], user(odd, text("wait"))]


def test_a_history_that_grows_is_mended_in_the_same_way() -> None:
    """Law 3: the repair of an old turn does not depend on what comes later."""
    messages = [user("hi"), assistant(A), user("skip"), assistant(A), user(RB), assistant("x"), user("end")]
    whole, _ = run(tool_structure, request(*messages))
    for end in (3, 5):
        part, _ = run(tool_structure, request(*messages[:end]))
        assert whole["messages"][: len(part["messages"])] == part["messages"]


@pytest.mark.parametrize("content", [7, {"a": 1}, None, [7]])
def test_an_orphan_of_another_shape_is_left_out(content: object) -> None:
    """Whatever a client sends, there is no exception."""
    body, _ = run(tool_structure, request(user("x", tool_result("A", content))))
    assert body["messages"] == [user(text("x"))]


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ([thinking("t"), SEARCH], [thinking("t"), FILLER]),
        (["I look.", SEARCH], [text("I look.")]),
        ([SEARCH], [FILLER]),
        ([" ", SEARCH], [FILLER]),
        ([thinking("t"), SEARCH, thinking("u"), "so"], [thinking("t"), FILLER, thinking("u"), text("so")]),
        ([thinking("t"), SEARCH, SEARCH | {"id": "srvtoolu_2"}], [thinking("t"), FILLER]),
    ],
    ids=["after-thinking", "after-text", "alone", "after-a-blank", "between-thoughts", "two"],
)
def test_a_servers_call_without_a_result_is_left_out_once_the_user_goes_on(said: list, sent: list) -> None:
    """R29: nobody can give that result any more, and every request from now on would be refused."""
    given = request(user("hi"), assistant(*said), user("something else"), assistant("yes"), user("more"))
    body, changes = run(tool_structure, given)
    assert body["messages"] == [
        user("hi"),
        assistant(*sent),
        user("something else"),
        assistant("yes"),
        user("more"),
    ]
    calls = [at for at, block in enumerate(said) if isinstance(block, dict) and block["type"] == "server_tool_use"]
    assert list(changes) == [change(f"messages.1.content.{at}", "left out", ABANDONED) for at in calls]


def test_a_servers_call_is_left_out_beside_results_of_the_clients_own_tools() -> None:
    given = request(user("hi"), assistant(SEARCH, A), user(RA, "and hurry"))
    body, changes = run(tool_structure, given)
    assert body["messages"] == [user("hi"), assistant(A), user(RA, "and hurry")]
    assert changes == (change("messages.1.content.0", "left out", ABANDONED),)


OTHERS = "its id is of another vendor's server, and this vendor accepts only its own (R24)"


@pytest.mark.parametrize("id", ["call_8", "toolu_1", "srvtoolu_", "srvtoolu_a-b", "srvtoolu_1\n"])
@pytest.mark.parametrize("split", [False, True], ids=["in one message", "in two"])
def test_a_call_of_another_vendors_server_is_left_out_with_its_result(id: str, split: bool) -> None:
    """R24: Claude refuses its id, in every request from now on. What it found only its maker can read."""
    call, found = {**SEARCH, "id": id}, {**FOUND, "tool_use_id": id}
    said = [assistant("Well.", call), assistant(found, "So.")] if split else [assistant("Well.", call, found, "So.")]
    given = request(user("hi"), *said, user("go on"), assistant(SEARCH, FOUND, "so"), user("more"))
    body, changes = run(tool_structure, given)
    left = [assistant("Well."), assistant("So.")] if split else [assistant("Well.", "So.")]
    assert body["messages"] == [user("hi"), *left, user("go on"), assistant(SEARCH, FOUND, "so"), user("more")]
    paths = ["messages.1.content.1", "messages.2.content.0" if split else "messages.1.content.2"]
    assert list(changes) == [change(path, "left out", OTHERS) for path in paths]


def test_a_call_of_another_vendors_server_goes_back_to_it() -> None:
    given = request(user("hi"), assistant({**SEARCH, "id": "call_8"}, {**FOUND, "tool_use_id": "call_8"}), user("go on"))
    glm = Target(backend="glm", model="glm-5", profile=profile_for("glm-5"), realm="glm")
    assert tool_structure(given, glm, Facts()) == (given, ())
    assert tool_structure(given, glm, Facts())[0] is given


def test_a_result_without_a_call_is_put_into_words_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A history may hold 100,000 of them."""
    put = list[object]()
    text_block = pairing.text_block

    def counted(text: str) -> Made:
        put.append(text)
        return text_block(text)

    monkeypatch.setattr(pairing, "text_block", counted)
    run(tool_structure, request(user("Hi"), assistant("Yes?"), user(*[tool_result(f"toolu_{i}") for i in range(9)])))
    assert put.count(ORPHAN_LABEL) == 9
