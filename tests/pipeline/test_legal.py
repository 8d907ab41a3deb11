"""The quick look never passes over what the close look would mend."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.past import retold
from clew.pipeline import normalise, tool_structure
from clew.pipeline.legal import is_paired, is_plain, is_tidy, is_well
from clew.pipeline.step import Facts
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
many = settings(max_examples=examples(300, soak=5000), deadline=None)


@many
@given(st.lists(_message, max_size=6))
def test_a_history_that_looks_paired_has_nothing_to_mend(messages: list[Json]) -> None:
    asked = request(*messages)
    with patch.object(tool_structure, "is_paired", lambda messages: False):
        closely, changes = tool_structure.tool_structure(asked, target(), Facts())

    if is_paired(asked.messages):
        assert changes == ()
        assert closely is asked


@many
@given(st.lists(_message, max_size=6))
def test_a_history_that_looks_tidy_has_nothing_to_mend(messages: list[Json]) -> None:
    asked = request(*messages)
    with patch.object(normalise, "is_tidy", lambda messages: False):
        closely, changes = normalise.normalise(asked, target(), Facts())

    if is_tidy(asked.messages):
        assert changes == ()
        assert closely is asked


@many
@given(st.lists(st.one_of(st.sampled_from(_ROUNDS), _message.map(lambda each: [each])), max_size=5), st.integers(0, 10))
def test_all_is_well_where_each_look_finds_it_so(rounds: list[list[Json]], known: int) -> None:
    """However much of the history was told before."""
    messages = request(*[each for some in rounds for each in some]).messages
    well = is_plain(messages) and is_tidy(messages) and is_paired(messages)

    assert is_well(messages) == is_well(retold(messages, min(known, len(messages)))) == well


@pytest.mark.parametrize("value", [5, 55, None, [], {}])
def test_a_text_that_is_no_text_is_the_vendors_to_refuse(value: object) -> None:
    """R22 is about texts. A number of one digit has no second character to look at."""
    asked = request({"role": "user", "content": [{"type": "text", "text": value}]})

    assert normalise.normalise(asked, target(), Facts()) == (asked, ())


def test_an_ordinary_tool_loop_is_seen_to_be_well() -> None:
    messages = [
        user("a"),
        assistant(thinking("x", "s"), "go", tool_use("t1"), tool_use("t2")),
        user(tool_result("t2"), tool_result("t1"), "and be quick"),
        assistant("done"),
        user("thanks"),
    ]

    assert is_paired(request(*messages).messages)
    assert is_tidy(request(*messages).messages)
    assert is_well(request(*messages).messages)
