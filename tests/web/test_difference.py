"""The difference between two bodies: small edits are small, whatever is the same is folded."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.web.difference import CONTEXT, MOST_LINES, Difference, DiffLine, difference, spread
from tests.counts import examples

MESSAGES = [{"role": "user", "content": f"line {number}"} for number in range(20)]


def test_a_changed_value_is_one_line_and_the_rest_is_folded() -> None:
    before = json.dumps({"model": "opus", "messages": MESSAGES})
    after = json.dumps({"model": "glm-5", "messages": MESSAGES})
    found = difference(before, after)
    assert (found.gone, found.new, found.cut) == (1, 1, False)
    assert found.lines[:4] == (
        DiffLine("same", "{"),
        DiffLine("gone", '  "model": "opus",'),
        DiffLine("new", '  "model": "glm-5",'),
        DiffLine("same", '  "messages": ['),
    )
    assert found.lines[-1].kind == "fold"
    assert len(found.lines) == 4 + CONTEXT - 1 + 1


def test_what_is_left_out_is_gone() -> None:
    found = difference(json.dumps(MESSAGES), json.dumps([*MESSAGES[:5], *MESSAGES[6:]]))
    assert (found.gone, found.new) == (4, 0)


def test_a_long_line_is_cut_with_its_length() -> None:
    found = difference(json.dumps({"a": "x" * 5000}), json.dumps({"a": "y"}))
    gone = next(line for line in found.lines if line.kind == "gone")
    assert len(gone.text) < 700 and gone.text.endswith("more characters")


def test_bodies_without_anything_in_common_are_shown_one_after_the_other() -> None:
    """And nobody waits for it: comparing them would take minutes."""
    before = json.dumps([f"a{number}" for number in range(5000)])
    after = json.dumps([f"b{number}" for number in range(5000)])
    found = difference(before, after)
    assert (found.cut, len(found.lines)) == (True, MOST_LINES)


LARGE = 20_000


def took(before: str, after: str) -> tuple[Difference, float]:
    """The difference, and the seconds of a processor that it took."""
    began = time.thread_time()
    found = difference(before, after)
    return found, time.thread_time() - began


def test_large_bodies_with_changes_far_apart_show_these_changes() -> None:
    """To compare every line with every other would take minutes."""
    many = [{"role": "user", "content": f"line {number}"} for number in range(LARGE // 4)]
    other = [{"role": "user", "content": "a reminder"}, *many[1:2500], *many[2501:-1], {"role": "user", "content": "more"}]
    found, seconds = took(json.dumps(many), json.dumps(other))
    assert (found.gone, found.new, found.cut, found.rough) == (6, 2, False, False)
    changed = [line.text.strip() for line in found.lines if line.kind != "same" and "content" in line.text]
    assert changed == [
        '"content": "line 0"',
        '"content": "a reminder"',
        '"content": "line 2500"',
        '"content": "line 4999"',
        '"content": "more"',
    ]
    assert seconds < 30.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([f"{number % 100}" for number in range(LARGE)], [f"{number * 7 % 101}" for number in range(LARGE)]),
        ([f"{number % 2}" for number in range(LARGE)], [f"{number % 3}" for number in range(199)]),
        (["0"] * (10 * LARGE), [f"{number % 2}" for number in range(1, 20)]),
        ([f"{number}" for number in range(LARGE)], [f"{number}" for number in reversed(range(LARGE))]),
    ],
    ids=["a hundred words", "two words, and a short one", "one word", "upside down"],
)
def test_large_bodies_that_were_made_to_take_long_do_not(one: list[str], other: list[str]) -> None:
    for before, after in ((one, other), (other, one)):
        found, seconds = took("\n".join(["begins", *before, "ends"]), "\n".join(["began", *after, "ended"]))
        assert seconds < 30.0, "minutes, if every line were compared with every other"
        assert (found.gone - found.new, found.cut) == (len(before) - len(after), True)


def test_bodies_of_which_not_all_was_compared_are_said_to_be() -> None:
    one, other = ([f"{number * by % 150}" for number in range(LARGE)] for by in (1, 7))
    assert difference("\n".join(one), "\n".join(other)).rough
    assert not difference("a\nb", "c\nb").rough


def test_a_line_that_is_there_again_and_again_costs_no_minutes() -> None:
    """Clients choose the bodies, and anyone who looks at one waits."""
    before, after = ("\n".join(f"x\n{side}{number}" for number in range(500)) for side in "ab")
    began = time.thread_time()
    found = difference(before, after)
    assert time.thread_time() - began < 10
    assert found.new >= 500


def test_two_changes_far_apart_are_two_changes_though_lines_repeat() -> None:
    many = [{"role": "user", "content": f"line {number}"} for number in range(400)]
    found = difference(json.dumps(many), json.dumps([*many[:5], *many[6:390], *many[391:]]))
    assert (found.gone, found.new) == (8, 0)


def test_what_is_not_json_is_compared_as_it_is() -> None:
    assert spread("not\njson {") == ["not", "json {"]
    assert spread("[" * 5000 + "]" * 5000)
    assert difference("", "").lines == ()


@given(st.lists(st.integers(0, 3), max_size=60), st.lists(st.integers(0, 3), max_size=60))
@settings(max_examples=examples(24, soak=1200), deadline=None)
def test_both_sides_can_be_read_off_the_difference(a: list[int], b: list[int]) -> None:
    """Nothing is lost between the folds."""
    before, after = "\n".join(map(str, a)), "\n".join(map(str, b))
    found = difference(f"x\n{before}", f"x\n{after}")
    folded = sum(int(line.text) for line in found.lines if line.kind == "fold")
    shown = [line.kind for line in found.lines]
    assert folded + shown.count("same") + shown.count("gone") == len(spread(f"x\n{before}"))
    assert folded + shown.count("same") + shown.count("new") == len(spread(f"x\n{after}"))
