"""Which recording is this? By block key, tool id, what the newer answer followed, or place; else none."""

from __future__ import annotations

import pytest

from clew.model.recording import Recording, Shelf
from clew.model.request import Request
from clew.thinking.history import PastAnswers, answers_of
from clew.thinking.recognise import Context, last_recording, recognise
from tests.build import (
    GLM,
    Json,
    Scribe,
    assistant,
    redacted,
    request,
    system,
    text,
    thinking,
    tool_result,
    tool_use,
    user,
)


def say(scribe: Scribe, history: list[Json], answer: Json) -> Recording:
    """The answer to this history, recorded and appended."""
    asked = request(*history)
    recording = scribe.record(asked, asked, answer)
    history.append(answer)
    return recording


def ids(asked: Request, scribe: Scribe, context: Context | None = None) -> list[str | None]:
    """Of each answer. (What the newest is, can be asked alone.)"""
    answers, context = answers_of(asked.messages), context or scribe.context
    found = recognise(answers, scribe.shelf, context)
    newest = found[-1].recording if found else None
    assert last_recording(PastAnswers(asked.messages), scribe.shelf, context) == newest
    return [each.recording.id if each.recording else None for each in found]


def test_a_signed_block_finds_its_recording_whatever_became_of_the_rest() -> None:
    scribe = Scribe()
    history = [user("hi")]
    say(scribe, history, assistant(thinking("t", "s1"), "hello"))

    asked = request(user("other words"), assistant(thinking("t", "s1"), "edited"), user("go on"))

    assert ids(asked, scribe) == ["r1"]


def test_redacted_data_finds_its_recording() -> None:
    scribe = Scribe()
    say(scribe, [user("hi")], assistant(redacted("d1"), "hello"))

    assert ids(request(user("x"), assistant(redacted("d1"), "hello"), user("y")), scribe) == ["r1"]


def test_a_tool_id_finds_the_recording_of_an_answer_whose_thinking_was_dropped() -> None:
    scribe = Scribe()
    say(scribe, [user("hi")], assistant(thinking("t", "s1"), tool_use("toolu_1", command="ls")))

    asked = request(user("rewritten"), assistant(tool_use("toolu_1", command="ls", extra=1)), user(tool_result("toolu_1")))

    assert ids(asked, scribe) == ["r1"]


def test_a_tool_id_does_not_find_an_answer_that_says_something_else() -> None:
    scribe = Scribe()
    say(scribe, [user("hi")], assistant(thinking("t", "s1"), "one", tool_use("toolu_1")))

    asked = request(user("hi"), assistant("two", tool_use("toolu_1")), user(tool_result("toolu_1")))

    assert ids(asked, scribe) == [None]


def test_all_tool_ids_of_an_answer_must_agree() -> None:
    scribe = Scribe()
    say(scribe, [user("a")], assistant(thinking("t", "s1"), tool_use("t1")))
    say(scribe, [user("b")], assistant(thinking("t", "s2"), tool_use("t2")))

    asked = request(user("a"), assistant(tool_use("t2"), tool_use("t1")), user(tool_result("t1"), tool_result("t2")))

    assert ids(asked, scribe) == ["r2", "r1"], "two answers in a row, as `pause_turn` leaves them"


def test_a_text_answer_without_its_thinking_is_found_by_its_place() -> None:
    scribe = Scribe()
    say(scribe, [user("hi"), system("be brief")], assistant(thinking("t", "s1"), " hello\n"))

    asked = request(user(text("<system-reminder>x</system-reminder>"), text("hi")), assistant("hello"), user("more"))

    assert ids(asked, scribe) == ["r1"]


def test_the_own_words_alone_find_nothing() -> None:
    scribe = Scribe()
    say(scribe, [user("hi")], assistant(thinking("t", "s1"), "OK"))

    assert ids(request(user("another question"), assistant("OK"), user("more")), scribe) == [None]


def test_two_conversations_with_the_same_opening_leave_the_place_open() -> None:
    scribe = Scribe()
    say(scribe, [user("hello")], assistant(thinking("a", "s1"), "OK"))
    say(scribe, [user("hello")], assistant(thinking("b", "s2"), "OK"))

    assert ids(request(user("hello"), assistant("OK"), user("more")), scribe) == [None]


def test_what_the_newer_answer_followed_decides_between_equal_openings() -> None:
    scribe = Scribe()
    first, second = [user("hello")], [user("hello")]
    say(scribe, first, assistant(thinking("a", "s1"), "OK"))
    say(scribe, second, assistant(thinking("b", "s2"), "OK"))
    second.append(user("do it"))
    say(scribe, second, assistant(thinking("c", "s3"), tool_use("t1")))

    asked = request(user("hello"), assistant("OK"), user("do it"), assistant(tool_use("t1")), user(tool_result("t1")))

    assert ids(asked, scribe) == ["r2", "r3"]


def test_predecessors_that_fit_decide_between_two_places() -> None:
    scribe = Scribe()
    for signature, word in (("s1", "one"), ("s2", "two")):
        history = [user("hello")]
        say(scribe, history, assistant(thinking("a", f"{signature}a"), word))
        history.append(user("and?"))
        say(scribe, history, assistant(thinking("b", f"{signature}b"), "yes"))

    asked = request(user("hello"), assistant("two"), user("and?"), assistant("yes"), user("more"))

    assert ids(asked, scribe) == ["r3", "r4"]


@pytest.mark.parametrize(
    ("session", "agent", "want"),
    [("s", "", "r1"), ("", "", "r1"), ("other", "", None), ("s", "agent-1", None)],
)
def test_headers_that_both_sides_have_must_agree_for_a_place(session: str, agent: str, want: str | None) -> None:
    scribe = Scribe(session="s")
    say(scribe, [user("hi")], assistant(thinking("t", "s1"), "hello"))

    asked = request(user("hi"), assistant("hello"), user("more"))

    assert ids(asked, scribe, Context(session=session, agent=agent)) == [want]


def test_nothing_is_found_across_principals() -> None:
    scribe = Scribe(principal="me")
    say(scribe, [user("hi")], assistant(thinking("t", "s1"), "hello", tool_use("t1")))

    asked = request(user("hi"), assistant(thinking("t", "s1"), "hello", tool_use("t1")), user(tool_result("t1")))

    assert ids(asked, scribe, Context(principal="you")) == [None]


def test_a_place_is_not_tried_where_the_newer_answer_is_known_to_follow_something_else() -> None:
    """A hole in the store must not be filled from another conversation that has the same words."""
    scribe = Scribe()
    say(scribe, [user("hello")], assistant(thinking("alien", "s0"), "OK"))
    history = [user("hello"), assistant("OK"), user("do it")]
    lonely = Scribe()
    lonely.shelf = scribe.shelf
    asked = request(user("hello"), user("x"))
    recording = scribe.record(asked, asked, assistant(thinking("c", "s3"), tool_use("t1")))
    assert recording.followed is None

    asked = request(*history, assistant(tool_use("t1")), user(tool_result("t1")))

    assert ids(asked, scribe) == [None, "r2"]


def test_one_answer_in_two_messages_is_one_answer() -> None:
    """Claude Code 2.1.197 after Esc: thinking and text in two assistant messages in a row."""
    scribe = Scribe()
    say(scribe, [user("hi")], assistant(thinking("t", "s1"), "part", tool_use("t1")))

    asked = request(user("hi"), assistant(thinking("t", "s1"), "part"), assistant(tool_use("t1")), user(tool_result("t1")))

    assert ids(asked, scribe) == ["r1"]


def test_a_paused_turn_is_as_many_answers_as_it_was() -> None:
    scribe = Scribe()
    history = [user("search")]
    paused = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    say(scribe, history, assistant(thinking("a", "s1"), paused))
    say(scribe, history, assistant(thinking("b", "s2"), "found"))

    apart = request(*history, user("thanks"))
    merged = request(user("search"), assistant(thinking("a", "s1"), paused, thinking("b", "s2"), "found"), user("thanks"))

    assert ids(apart, scribe) == ["r1", "r2"]
    assert ids(merged, scribe) == ["r1", "r2"]


def searching(id: str) -> Json:
    return {"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}


def results(id: str) -> Json:
    return {"type": "web_search_tool_result", "tool_use_id": id, "content": []}


def told(history: list[Json], *, merge: bool, forget: bool) -> list[Json]:
    """The history as a client sends it that makes one message of answers in a row, or drops thinking, or both."""
    out: list[Json] = []
    for message in history:
        content = message["content"]
        if forget and message["role"] == "assistant":
            content = [block for block in content if block["type"] != "thinking"]
        if merge and out and out[-1]["role"] == message["role"] == "assistant":
            out[-1] = assistant(*out[-1]["content"], *content)
        else:
            out.append({**message, "content": content})
    return out


@pytest.mark.parametrize("more", [False, True], ids=["the newest", "an older one"])
@pytest.mark.parametrize("forget", [False, True], ids=["", "without thinking"])
@pytest.mark.parametrize("merge", [False, True], ids=["apart", "merged"])
def test_a_paused_turn_whose_end_points_at_nothing_is_found_to_its_end(merge: bool, forget: bool, more: bool) -> None:
    """R68: what came after the search is a text, and only its thinking would point at its recording."""
    scribe = Scribe()
    history = [user("search")]
    say(scribe, history, assistant(thinking("a", "s1"), searching("srv_1")))
    say(scribe, history, assistant(results("srv_1"), thinking("b", "s2"), searching("srv_2"), results("srv_2")))
    say(scribe, history, assistant(thinking("c", "s3"), "found"))
    if more:
        say(scribe, [*history, user("and?")], assistant(thinking("d", "s4"), tool_use("t1")))
        history += [user("and?"), assistant(thinking("d", "s4"), tool_use("t1"))]

    asked = request(*told(history, merge=merge, forget=forget), user("thanks"))

    found = recognise(answers_of(asked.messages), scribe.shelf, scribe.context)
    assert ids(asked, scribe) == ["r1", "r2", "r3", "r4"][: 4 if more else 3]
    assert [[piece.block.type for piece in each.pieces if piece.block.type != "thinking"] for each in found[:3]] == [
        ["server_tool_use"],
        ["web_search_tool_result", "server_tool_use", "web_search_tool_result"],
        ["text"],
    ]


def test_the_end_of_a_paused_turn_that_thought_nothing_is_found_though_the_search_has_its_key() -> None:
    """Else the next answer would follow the search, and what came of it would be a branch by itself."""
    scribe = Scribe()
    history = [user("search")]
    say(scribe, history, assistant(thinking("a", "s1"), searching("srv_1")))
    say(scribe, history, assistant(results("srv_1"), "found"))

    assert ids(request(*told(history, merge=True, forget=False), user("thanks")), scribe) == ["r1", "r2"]


@pytest.mark.parametrize("merge", [False, True], ids=["apart", "merged"])
def test_of_two_ends_of_a_paused_turn_that_say_the_same_none_is_taken(merge: bool) -> None:
    scribe = Scribe()
    history = [user("search")]
    say(scribe, history, assistant(thinking("a", "s1"), searching("srv_1")))
    for signature in ("s2", "s3"):
        say(scribe, [*history], assistant(results("srv_1"), thinking("b", signature), "found"))
    history.append(assistant(results("srv_1"), "found"))

    assert "r2" not in (found := ids(request(*told(history, merge=merge, forget=True), user("thanks")), scribe))
    assert "r3" not in found


@pytest.mark.parametrize("merge", [False, True], ids=["apart", "merged"])
def test_the_end_of_another_conversations_paused_turn_is_not_taken(merge: bool) -> None:
    """The same words were asked, found and said there; only the search was another."""
    scribe = Scribe()
    theirs, mine = [user("search")], [user("search")]
    say(scribe, theirs, assistant(thinking("a", "s1"), searching("srv_1"), "One moment."))
    say(scribe, theirs, assistant(thinking("b", "s2"), "found"))
    say(scribe, mine, assistant(thinking("c", "s3"), searching("srv_2"), "One moment."))
    mine.append(assistant("found"))

    assert "r2" not in ids(request(*told(mine, merge=merge, forget=True), user("thanks")), scribe)


def test_a_foreign_answer_is_found_too() -> None:
    scribe = Scribe()
    asked = request(user("hi"))
    scribe.record(asked, asked, assistant(thinking("t", "clew1.x"), "hello"), GLM)

    assert ids(request(user("hi"), assistant("hello"), user("more")), scribe) == ["r1"]


class _Unlike(Shelf):
    """A shelf that does not say that it is empty, so that everything is looked for."""

    is_empty = False


@pytest.mark.parametrize(
    "history",
    [
        [user("hi")],
        [user("hi"), assistant("hello"), user("more"), assistant(thinking("t", "s"), tool_use("a")), user(tool_result("a"))],
        [user("hi"), assistant("one"), assistant(redacted("d"), "two"), system("x"), user("more"), assistant()],
    ],
)
def test_where_nothing_is_recorded_looking_for_it_gives_the_same(history: list[Json]) -> None:
    """A gateway without a store spares itself the search."""
    answers, context = answers_of(request(*history).messages), Scribe().context
    found = [(each.pieces, each.recording, each.messages) for each in recognise(answers, Shelf(), context)]
    assert found == [(each.pieces, each.recording, each.messages) for each in recognise(answers, _Unlike(), context)]
