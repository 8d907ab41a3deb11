"""The steps about messages: untouched stays untouched by identity, and what was known before makes no difference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.past import retold
from clew.pipeline.normalise import normalise
from clew.pipeline.step import Facts, Step
from clew.pipeline.system import system_messages
from clew.pipeline.tool_structure import tool_structure
from clew.wire.requests import encode
from tests.build import Json, assistant, request, target, text, thinking, tool_result, tool_use, user
from tests.counts import examples

_ids = st.sampled_from(["t1", "t2", "t3"])
_block = st.one_of(
    st.sampled_from(["", " ", "\n", "\u00a0", "a", "é", "\\"]).map(text),
    st.sampled_from([5, 55, None, [], {}]).map(lambda value: {"type": "text", "text": value}),
    st.just(thinking("x", "s")),
    st.just({**thinking("x", "s"), "cache_control": {"type": "ephemeral"}}),
    _ids.map(tool_use),
    _ids.map(tool_result),
    _ids.map(lambda id: {"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}),
    _ids.map(lambda id: {"type": "web_search_tool_result", "tool_use_id": id, "content": []}),
    st.just({"type": "image", "source": {}}),
)
_content = st.one_of(st.sampled_from(["", " ", "words"]), st.lists(_block, max_size=4))
_ROUNDS: tuple[list[Json], ...] = (
    [user("a"), assistant("b")],
    [assistant(thinking("x", "s"), tool_use("t1")), user(tool_result("t1"))],
    [assistant(tool_use("t2")), user(tool_result("t2"), "and")],
    [assistant("b", thinking("x", "s"))],
    [assistant({"type": "server_tool_use", "id": "t3", "name": "web_search", "input": {}})],
)
_message = st.builds(
    lambda role, content: {"role": role, "content": content}, st.sampled_from(["user", "assistant", "system"]), _content
)
STEPS: tuple[Step, ...] = (normalise, system_messages, tool_structure)
many = settings(max_examples=examples(72, soak=5000), deadline=None)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_changes_nothing_returns_the_very_same_request(step: Step) -> None:
    @many
    @given(st.lists(st.one_of(st.sampled_from(_ROUNDS), _message.map(lambda each: [each])), max_size=5))
    def holds(rounds: list[list[Json]]) -> None:
        asked = request(*[each for some in rounds for each in some])
        going, changes = step(asked, target(), Facts())
        again, more = step(going, target(), Facts())

        assert (going is asked) == (not changes)
        assert again is going
        assert more == ()

    holds()


@pytest.mark.parametrize("step", STEPS)
def test_what_was_known_of_a_history_before_makes_no_difference(step: Step) -> None:
    """Looked at for the first time, as it goes on, and after it went back."""

    @many
    @given(
        st.lists(st.one_of(st.sampled_from(_ROUNDS), _message.map(lambda each: [each])), min_size=1, max_size=5),
        st.lists(st.integers(0, 10), min_size=1, max_size=3),
    )
    def holds(rounds: list[list[Json]], cuts: list[int]) -> None:
        asked, past = request(*[each for some in rounds for each in some]), None
        wanted, changes = step(asked, target(), Facts())
        for cut in cuts:
            messages = retold(asked.messages, min(cut, len(asked.messages)), past)
            going, made = step(asked.with_fields(messages=messages), target(), Facts())
            past = messages.past

            assert (encode(going), made) == (encode(wanted), changes)

    holds()


def test_the_messages_of_an_ordinary_tool_loop_stay_the_very_same() -> None:
    asked = request(
        user("a"),
        assistant(thinking("x", "s"), "go", tool_use("t1"), tool_use("t2")),
        user(tool_result("t2"), tool_result("t1"), "and be quick"),
        assistant("done"),
        user("thanks"),
    )

    assert [step(asked, target(), Facts()) for step in STEPS] == [(asked, ())] * 3


@pytest.mark.parametrize("value", [5, 55, None, [], {}])
def test_a_text_that_is_no_text_is_the_vendors_to_refuse(value: object) -> None:
    """R22 is about texts. A number of one digit has no second character to look at."""
    asked = request({"role": "user", "content": [{"type": "text", "text": value}]})

    assert normalise(asked, target(), Facts()) == (asked, ())
