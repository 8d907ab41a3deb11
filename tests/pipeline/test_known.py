"""Thinking by known makers: what goes depends on who made each message, and on nothing else."""

from typing import Any

import pytest

from clew.model.change import Change
from clew.model.origin import Origin, Target
from clew.pipeline.step import Facts
from clew.pipeline.thinking import keep_known
from tests.build import GLM, OPUS, SONNET, assistant, redacted, request, sent, target, text, thinking, tool_use, user

SIGNED, UNSIGNED, HIDDEN = thinking("a", "sig-a"), thinking("b", ""), redacted("data")


def kept(reader: Target, makers: dict[int, Origin], *messages: Any) -> tuple[list[Any], list[tuple[str, str, str]]]:
    """The messages that go, and what was changed where and why."""
    given = request(*messages)
    going, changes = keep_known(makers)(given, reader, Facts())
    assert sent(keep_known(makers)(going, reader, Facts())[0]) == sent(going)
    assert all(isinstance(change, Change) and change.step == "thinking" for change in changes)
    return sent(going), [(change.path, change.what, change.why) for change in changes]


TALK = (user("q"), assistant(SIGNED, HIDDEN, text("x"), tool_use("t1")))


@pytest.mark.parametrize("maker", [OPUS, SONNET])
def test_a_realm_that_checks_gets_all_of_its_own(maker: Origin) -> None:
    assert kept(target(OPUS), {1: maker}, *TALK) == ([*TALK], [])


def test_another_realms_stays_out() -> None:
    left = [("messages.1.content.0", "left out", "made by glm"), ("messages.1.content.1", "left out", "made by glm")]
    assert kept(target(OPUS), {1: GLM}, *TALK) == ([user("q"), assistant(text("x"), tool_use("t1"))], left)
    away = [(path, what, "made by claude") for path, what, _ in left]
    assert kept(target(GLM), {1: OPUS}, *TALK)[1] == away


def test_an_open_realm_gets_its_own_back_signed_or_not() -> None:
    talk = (user("q"), assistant(UNSIGNED, text("x")), user("q"), assistant(SIGNED, text("y")))
    assert kept(target(GLM), {1: GLM, 3: GLM}, *talk) == ([*talk], [])


def test_messages_in_a_row_may_have_makers_of_their_own() -> None:
    """The API reads them as one; who made which is still known."""
    talk = (user("q"), assistant(SIGNED, text("x")), assistant(thinking("c", "sig-c"), text("y")))
    assert kept(target(OPUS), {1: GLM, 2: OPUS}, *talk) == (
        [user("q"), assistant(text("x")), talk[2]],
        [("messages.1.content.0", "left out", "made by glm")],
    )


def test_an_answer_in_plain_words_needs_no_maker() -> None:
    talk = (user("q"), {"role": "assistant", "content": "a"}, user("q"))
    for reader in (target(OPUS), target(GLM)):
        assert kept(reader, {}, *talk) == ([*talk], [])


def test_a_backend_that_wants_reasoning_in_every_answer_gets_what_it_accepts_instead() -> None:
    talk = (user("q"), assistant(text("a")))
    messages, changes = kept(target(GLM, missing="empty"), {1: OPUS}, *talk)
    assert messages == [user("q"), assistant({"type": "thinking", "thinking": "", "signature": ""}, text("a"))]
    assert [what for _, what, _ in changes] == ["added"]
