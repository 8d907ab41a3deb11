"""What a history points at, and which places recognition would ask for."""

from __future__ import annotations

from clew.model.recording import Recording, Shelf
from clew.thinking.history import answers_of, places_of, runs_of
from clew.thinking.keys import block_key
from clew.thinking.pointers import Pointers, places_wanted
from clew.thinking.recognise import Context
from tests.build import assistant, request, text, thinking, tool_result, tool_use, user
from tests.store.turns import recorded

CONTEXT = Context()


def history(*messages: object) -> tuple:
    return request(*messages).messages


def places(messages: tuple, *shelf: Recording) -> tuple[bytes, ...]:
    return places_wanted(messages, Pointers(runs_of(messages)), Shelf(shelf), CONTEXT)


def test_keys_and_ids_are_told_by_answer_and_each_once() -> None:
    messages = history(
        user("One."),
        assistant(thinking("Hm.", "signature of a"), tool_use("toolu_a")),
        user(tool_result("toolu_a")),
        assistant(text("Half.")),
        assistant(thinking("Hm.", "signature of a"), text("Done.")),
        user("Two."),
    )
    found = Pointers(runs_of(messages))
    assert [run.said for run in found.runs] == [answer.said for answer in answers_of(messages)]
    assert (found.keys, found.tools) == ((block_key("thinking", "signature of a"),), ("toolu_a",))


def test_no_place_is_wanted_where_every_answer_is_found() -> None:
    a = recorded("a")
    b = recorded("b", before=(a,))
    whole = [assistant(text(each.said.texts[0]), tool_use(each.said.ids[0])) for each in (a, b)]
    calls = history(
        user("One."),
        whole[0],
        user(tool_result("toolu_a")),
        whole[1],
        user(tool_result("toolu_b")),
    )
    assert places(calls, a, b) == ()


def test_the_places_of_answers_that_nothing_points_at_are_wanted() -> None:
    messages = history(user("One."), assistant(text("Yes.")), user("Two."), assistant(text("No.")), user("Three."))
    assert set(places(messages)) == set(places_of("local", answers_of(messages)))


def test_what_a_found_answer_followed_needs_no_place() -> None:
    first = recorded("a", said=answers_of(history(user("One."), assistant(text("Yes.")), user("Two.")))[0].said)
    second = recorded("b", followed="a")
    newest = assistant(thinking("Hm.", "signature of b"), text(second.said.texts[0]), tool_use("toolu_b"))
    messages = history(user("One."), assistant(text("Yes.")), user("Two."), newest, user(tool_result("toolu_b")))
    assert (places(messages, first, second), places(messages, second) == ()) == ((), True)
