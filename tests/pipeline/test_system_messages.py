"""System-role messages: kept where the model takes them, folded in a stable way where it does not."""

from typing import Any

import pytest

from clew.model.change import Change
from clew.pipeline.system import system_messages
from tests.build import assistant, request, system, text, tool_result, tool_use, user
from tests.pipeline.targets import run

HAIKU = "claude-haiku-4-5"
MARK = {"type": "ephemeral"}
ROLE = "this model has no system-role messages (R32)"
EMPTY = "a system message must have content or output_config (R32)"


def folded(words: str, **more: Any) -> dict[str, Any]:
    return text(f"<system-message>\n{words}\n</system-message>", **more)


def note(*content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "system", "content": list(content), **more}


def change(path: str, what: Any, why: str) -> Change:
    return Change("system_messages", path, what, why)


@pytest.mark.parametrize("name", ["claude-opus-5-5", "claude-sonnet-5-5", "claude-opus-4-8", "qwen3-32b"])
def test_a_model_that_takes_them_gets_them_as_they_came(name: str) -> None:
    """R32, R6: the column mid-conv system."""
    messages = [
        user("hi"),
        system("be kind"),
        assistant("a"),
        user("b"),
        note(output_config={"effort": "low"}),
        note(text("c")),
    ]
    body, changes = run(system_messages, request(*messages), name)
    assert body["messages"] == messages
    assert changes == ()


@pytest.mark.parametrize("name", ["claude-haiku-4-5", "claude-opus-4-7", "claude-sonnet-5", "claude-mythos-preview"])
def test_a_model_that_does_not_gets_their_text_at_the_end_of_the_user_message_before(name: str) -> None:
    """Design §4: constant tags, in order, one block each; a string becomes the block that it means."""
    messages = [
        user("hi"),
        system("be kind"),
        system("and brief"),
        assistant("a"),
        user("b", "c"),
        note(text("d"), text("e")),
    ]
    body, changes = run(system_messages, request(*messages), name)
    assert body["messages"] == [
        user(text("hi"), folded("be kind"), folded("and brief")),
        assistant("a"),
        user("b", "c", folded("d\n\ne")),
    ]
    assert changes == tuple(change(f"messages.{i}", "moved", ROLE) for i in (1, 2, 5))


def test_a_folded_message_stands_behind_the_tool_results() -> None:
    """R26: results lead, whatever is said beside them."""
    messages = [user("hi"), assistant(tool_use("t1")), user(tool_result("t1")), system("note")]
    body, _ = run(system_messages, request(*messages), HAIKU)
    assert body["messages"] == [*messages[:2], user(tool_result("t1"), folded("note"))]


def test_without_a_user_message_before_it_becomes_one() -> None:
    """At the head, and after an answer, where folding it further up would change what was sent before."""
    messages = [system("head"), user("hi"), assistant("a"), system("late"), user("b")]
    body, changes = run(system_messages, request(*messages), HAIKU)
    assert body["messages"] == [user(folded("head")), user("hi"), assistant("a"), user(folded("late")), user("b")]
    assert changes == (change("messages.0", "moved", ROLE), change("messages.3", "moved", ROLE))


def test_the_first_message_is_a_users_on_every_model() -> None:
    """R19: unless it only sets the effort."""
    head = note(output_config={"effort": "low"})
    body, changes = run(system_messages, request(head, system("a"), note(text("b")), user("hi"), system("c")))
    assert body["messages"] == [head, user(folded("a"), folded("b")), user("hi"), system("c")]
    why = "the first message cannot be a system message (R19)"
    assert changes == (change("messages.1", "moved", why), change("messages.2", "moved", why))


@pytest.mark.parametrize("empty", [system(""), system(" \n"), note(), note(text("")), note(text(" "))], ids=str)
@pytest.mark.parametrize("name", ["claude-opus-5-5", HAIKU])
def test_one_that_says_nothing_vanishes(empty: dict[str, Any], name: str) -> None:
    """R32: refused without content; seen after /compact of a real client."""
    body, changes = run(system_messages, request(user("hi"), empty, assistant("a"), user("b")), name)
    assert body["messages"] == [user("hi"), assistant("a"), user("b")]
    assert changes[-1] == change("messages.1", "removed", EMPTY)


def test_a_kept_one_loses_only_what_is_refused_in_it() -> None:
    """R22; the effort that it sets stays, and so does an empty string beside it."""
    config = {"output_config": {"effort": "low"}}
    given = [user("hi"), note(text(""), text("a")), note(text(" "), **config), {"role": "system", "content": "", **config}]
    body, changes = run(system_messages, request(*given))
    assert body["messages"] == [user("hi"), note(text("a")), note(**config), given[3]]
    assert [(each.path, each.what) for each in changes] == [
        ("messages.1.content.0", "removed"),
        ("messages.2.content", "removed"),
    ]


def test_what_only_that_role_may_have_goes_with_it() -> None:
    """A message's own output_config, and blocks that are no text, each a Change."""
    addition = {"type": "tool_addition", "tool": {"name": "Bash"}}
    given = note(text("a"), addition, output_config={"effort": "high"}, clear_at="never")
    body, changes = run(system_messages, request(user("hi"), given), HAIKU)
    assert body["messages"] == [user(text("hi"), folded("a"))]
    assert changes == (
        change("messages.1.content.1", "left out", "only text can be in a user message (R32)"),
        change("messages.1.output_config", "removed", "only a system-role message may have it (R32)"),
        change("messages.1", "moved", ROLE),
    )


def test_the_cache_mark_of_a_folded_message_goes_with_its_text() -> None:
    """A real client puts its one mark on the system message at the end."""
    body, _ = run(system_messages, request(user("hi"), note(text("a"), text("b", cache_control=MARK))), HAIKU)
    assert body["messages"] == [user(text("hi"), folded("a\n\nb", cache_control=MARK))]


def test_folding_is_stable_when_the_history_grows() -> None:
    """Law 3: clients only append system messages, and then nothing before them changes."""
    messages = [user("hi"), system("a"), assistant("x"), user("b"), system("c"), assistant("y"), user("d")]
    whole, _ = run(system_messages, request(*messages), HAIKU)
    for end in (2, 5):
        part, _ = run(system_messages, request(*messages[:end]), HAIKU)
        assert whole["messages"][: len(part["messages"])] == part["messages"]


def test_a_history_without_any_is_the_same_request() -> None:
    assert run(system_messages, request(user("hi"), assistant("a"), user("b")), HAIKU)[1] == ()
