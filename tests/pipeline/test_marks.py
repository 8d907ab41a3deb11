"""Where cache marks go, on plain messages: the documents' rules, and where we do better."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import CacheRules, mark_messages
from clew.pipeline.cache_marks import fitting_ttl, places_to_mark
from tests.build import assistant, redacted, text, thinking, tool_result, tool_use, user
from tests.counts import examples
from tests.manifest import proves, public

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
T, R = thinking('"quotes",\nnew lines, 😀, \ud800', "sig"), redacted("abc")
SEED = CacheRules(nearest=False)


def marked(block: dict[str, Any], mark: dict[str, Any] = MARK) -> dict[str, Any]:
    return {**block, "cache_control": mark}


def marks_in(messages: list) -> list[tuple[int, int]]:
    blocks = [
        (i, j, b) for i, m in enumerate(messages) if isinstance(m["content"], list) for j, b in enumerate(m["content"])
    ]
    return [(i, j) for i, j, block in blocks if "cache_control" in block]


@public("library")
@proves("req:S0-15")
@pytest.mark.parametrize(("count", "indices"), [(0, []), (1, [0]), (2, [0, 1]), (3, [1, 2]), (6, [4, 5])])
def test_the_window_is_the_last_two_messages(count: int, indices: list[int]) -> None:
    """S0-15: index > n − 3, and only those."""
    messages = [user("a", "b") if i % 2 == 0 else assistant("a", "b") for i in range(count)]
    assert marks_in(mark_messages(messages, CacheRules())) == [(i, 1) for i in indices]


@public("library")
@proves("req:S0-16")
def test_only_the_last_block_of_a_windowed_message_is_marked() -> None:
    """S0-16."""
    messages = [user(text("a"), text("b"), text("c"))]
    assert mark_messages(messages, CacheRules()) == [user(text("a"), text("b"), marked(text("c")))]


@public("library")
@proves("req:S0-17")
@pytest.mark.parametrize("last", [T, R])
def test_as_documented_a_message_that_ends_in_thinking_gets_no_mark(last: dict[str, Any]) -> None:
    """S0-17: the document's rule, selectable."""
    messages = [user(text("q")), assistant(text("a"), last)]
    assert mark_messages(messages, SEED) == [user(marked(text("q"))), messages[1]]


@public("library")
@proves("req:S0-25")
def test_by_default_the_nearest_earlier_block_is_marked_instead() -> None:
    """S0-25: a breakpoint is not lost; in the same message, or in one before it."""
    messages = [user(text("q")), assistant(text("a"), T), user(text("r")), assistant(T, R)]
    assert marks_in(mark_messages(messages[:2], CacheRules())) == [(0, 0), (1, 0)]
    assert marks_in(mark_messages(messages, CacheRules())) == [(2, 0)]
    assert marks_in(mark_messages([assistant(T)], CacheRules())) == []


@public("library")
@proves("req:S0-18", "req:S0-21")
def test_thinking_is_never_marked_and_never_altered() -> None:
    """S0-18, S0-21: the mark is on the text; the block is the same object, whatever its text holds."""
    messages = [assistant(T, text("a")), user(text("b"))]
    result = mark_messages(messages, CacheRules())
    assert result[0] == assistant(T, marked(text("a")))
    assert result[0]["content"][0] is messages[0]["content"][0]


@public("library")
@proves("req:S0-19", "req:S0-23")
@pytest.mark.parametrize(
    ("rules", "line", "is_marked"),
    [
        (CacheRules(off=True), "opus", False),
        (CacheRules(off_for=("haiku",)), "haiku", False),
        (CacheRules(off_for=("haiku",)), "opus", True),
        (CacheRules(off_for=("sonnet", "opus")), "opus", False),
        (CacheRules(off_for=("haiku", "sonnet", "opus")), "fable", True),
    ],
)
def test_switched_off_means_no_marks_in_messages(rules: CacheRules, line: str, is_marked: bool) -> None:
    """S0-19, S0-23: everywhere, or for one family; marks of an earlier pass go too."""
    messages = [user(marked(text("a"))), assistant(text("b")), user("c")]
    assert bool(marks_in(mark_messages(messages, rules, line=line))) == is_marked


@public("library")
@proves("req:S0-20")
def test_a_message_outside_the_window_is_the_same_object() -> None:
    """S0-20."""
    messages = [user("a"), assistant(T, text("b")), user(text("c")), assistant(text("d"))]
    result = mark_messages(messages, CacheRules())
    assert result[0] is messages[0]
    assert result[1] is messages[1]


@public("library")
@proves("req:S0-22")
def test_a_string_becomes_a_block_inside_the_window_only() -> None:
    """S0-22."""
    messages = [user("a"), {"role": "assistant", "content": "b"}, user("c")]
    assert mark_messages(messages, CacheRules()) == [
        user("a"),
        assistant(marked(text("b"))),
        user(marked(text("c"))),
    ]


@public("library")
@proves("req:S0-23")
def test_a_mark_may_live_for_an_hour() -> None:
    """S0-23."""
    assert mark_messages([user(text("a"))], CacheRules(ttl="1h")) == [user(marked(text("a"), HOUR))]
    assert mark_messages([user(text("a"))], CacheRules(ttl="5m")) == [user(marked(text("a")))]


@public("library")
@proves("req:S0-24")
def test_marks_of_an_earlier_pass_are_moved_and_not_piled_up() -> None:
    """S0-24: the document kept them."""
    messages: list = [user(text("a"))]
    for turn in range(8):
        messages = mark_messages([*messages, assistant(text(f"{turn}")), user(text(f"{turn}"))], CacheRules())
        assert marks_in(messages) == [(len(messages) - 2, 0), (len(messages) - 1, 0)]


@public("library")
@proves("req:S0-24")
@pytest.mark.parametrize(("fixed", "left"), [(0, 2), (2, 2), (3, 1), (4, 0), (5, 0)])
def test_there_are_never_more_than_four_in_all(fixed: int, left: int) -> None:
    """S0-24, R58: tools and system count; the last message is served first."""
    messages = [user(text("a")), assistant(text("b"))]
    result = marks_in(mark_messages(messages, CacheRules(), fixed=[MARK] * fixed))
    assert result == [(0, 0), (1, 0)][2 - left :]


def test_an_hour_may_not_come_after_five_minutes() -> None:
    """R58: tools and system are read first."""
    assert fitting_ttl("1h", []) == "1h"
    assert fitting_ttl("1h", [HOUR, HOUR]) == "1h"
    assert fitting_ttl("1h", [HOUR, MARK]) == "5m"
    assert fitting_ttl("5m", [HOUR]) == "5m"


@pytest.mark.parametrize("block", [text(""), {"type": "hologram"}, {"type": "mcp_tool_listing"}, {}, 7, None])
def test_what_cannot_carry_a_mark_gets_none(block: Any) -> None:
    """R58, R22: empty text, and types that the table does not say it of."""
    messages = [{"role": "user", "content": [text("a"), block]}]
    assert mark_messages(messages, CacheRules()) == [{"role": "user", "content": [marked(text("a")), block]}]


blocks = st.sampled_from([text("a"), text(""), T, R, tool_use("t"), tool_result("t"), marked(text("m")), marked(T)])
histories = st.lists(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant", "system"]),
        st.lists(blocks, max_size=4) | st.sampled_from(["", "words"]),
    ),
    max_size=8,
)
rule_sets = st.builds(
    CacheRules, ttl=st.sampled_from(["5m", "1h"]), off=st.booleans(), nearest=st.booleans(), off_for=st.just(("haiku",))
)


@public("library")
@proves("req:S0-24", "req:S0-2")
@settings(max_examples=examples(48, soak=4000))
@given(histories, rule_sets, st.integers(0, 6))
def test_marking_is_pure_idempotent_and_bounded(history: list, rules: CacheRules, fixed: int) -> None:
    """S0-24 for any history: ≤ 4, none on thinking, the same when done again, and the input untouched."""
    before = copy.deepcopy(history)
    once = mark_messages(history, rules, fixed=[MARK] * fixed)
    assert history == before
    assert mark_messages(once, rules, fixed=[MARK] * fixed) == once
    assert len(marks_in(once)) + min(fixed, 4) <= 4
    assert all(b["type"] == "text" or "cache_control" not in b or b["type"].startswith("tool") for b in _blocks(once))


def _blocks(messages: list) -> list[dict[str, Any]]:
    return [block for message in messages if isinstance(message["content"], list) for block in message["content"]]


def test_a_place_is_found_or_not() -> None:
    assert places_to_mark([], nearest=True) == []
    assert places_to_mark([[True], []], nearest=True) == [(0, 0)]
    assert places_to_mark([[True], [False]], nearest=False) == [(0, 0)]
