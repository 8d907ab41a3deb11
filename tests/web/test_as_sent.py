"""A conversation beside what a backend would get of it."""

from msgspec import structs

from clew.chat.request import Projected
from clew.model.change import Change
from clew.store.values import Passage
from clew.web.blocks import ShownBlock
from clew.web.comparison import compare
from tests.build import text, thinking, tool_result, tool_use
from tests.store.turns import NOON, OPUS, recorded

ASKED = [
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": [thinking("Hm.", "s"), text("A look."), tool_use("t1")]},
    {"role": "user", "content": [tool_result("t1", "Rain"), text("And?")]},
    {"role": "assistant", "content": [thinking("So.", "s2"), text("Rain.")]},
]
SENT = (
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": "A look.", "tool_calls": [{"function": {"name": "Bash", "arguments": "{}"}}]},
    {"role": "tool", "content": "Rain"},
    {"role": "user", "content": "And?"},
    {"role": "assistant", "content": "Rain."},
)
LEFT = Change("thinking", "messages.1.content.0", "left out", "made by claude")
FIELD = Change("dialect", "messages.1.content.2.caller", "left out", "no field for it")
ADDED = Change("dialect", "messages.1.reasoning_content", "added", "it must be there")
MESSAGE = Change("roles", "messages.2", "moved", "why not")
WHOLE = Change("roles", "messages", "set", "all of them")
PROJECTED = Projected(
    backend="deepseek", model="deepseek-x", asked=ASKED, messages=SENT, changes=(LEFT, FIELD, ADDED, MESSAGE, WHOLE)
)


def line() -> list[Passage]:
    return [
        Passage(exchange="x", at=NOON, asked=(b"{}",), recording=recorded("a")),
        Passage(exchange="y", at=NOON, asked=(b"{}",), recording=recorded("b")),
    ]


def test_questions_and_answers_stand_beside_what_became_of_them() -> None:
    """In some dialects a result is a message of its own: the runs still fit."""
    found = compare(PROJECTED, line(), 0, 10)
    roles = [([each.role for each in pair.held], [each.role for each in pair.sent]) for pair in found.pairs]
    assert roles == [
        (["user"], ["user"]),
        (["assistant"], ["assistant"]),
        (["user"], ["tool", "user"]),
        (["assistant"], ["assistant"]),
    ]
    assert [pair.held[0].origin for pair in found.pairs] == [None, OPUS, None, OPUS]
    assert found.pairs[2].sent[0].pieces == [ShownBlock(kind="result", text="Rain")]


def test_each_change_stands_at_its_place() -> None:
    answer, asked = compare(PROJECTED, line(), 1, 3).pairs
    assert [piece.changes for piece in answer.held[0].pieces] == [(LEFT,), (), (FIELD,)]
    assert (answer.held[0].before, answer.held[0].after) == ((), [ADDED])
    assert asked.held[0].before == [MESSAGE]
    assert compare(PROJECTED, line(), 0, 0).elsewhere == [WHOLE]


def test_the_counts_are_of_the_whole_whichever_part_is_shown() -> None:
    found = compare(PROJECTED, line(), 2, 3)
    assert len(found.pairs) == 1
    assert found.counts == [("kept", 1), ("left out", 2), ("added", 1), ("moved", 1), ("set", 1)]


def test_a_pair_is_the_same_if_it_reads_the_same_and_nothing_is_said_about_it() -> None:
    """A narrow page shows it once."""
    assert [pair.same for pair in compare(PROJECTED, line(), 0, 10).pairs] == [True, False, False, False]
    moved = Projected(
        backend="b", model="m", asked=ASKED[:1], messages=SENT[:1], changes=(structs.replace(MESSAGE, path="messages.0"),)
    )
    assert [pair.same for pair in compare(moved, line(), 0, 10).pairs] == [False]


def test_a_side_that_is_shorter_is_empty_at_its_end() -> None:
    short = Projected(backend="b", model="m", asked=ASKED, messages=SENT[:1], changes=())
    assert [len(pair.sent) for pair in compare(short, line(), 0, 9).pairs] == [1, 0, 0, 0]


def test_items_of_the_responses_api_stand_beside_the_messages_they_were_made_of() -> None:
    """An item that is no message has no role: a model says thoughts and calls, and nobody else."""
    call = {"type": "function_call", "call_id": "t1", "name": "Bash", "arguments": "{}"}
    said = {"type": "message", "role": "assistant", "content": "A look."}
    sent = (SENT[0], {"type": "reasoning", "summary": []}, said, call)
    sent += ({"type": "function_call_output", "call_id": "t1", "output": "Rain"}, SENT[3], SENT[4])
    found = compare(structs.replace(PROJECTED, messages=sent), line(), 0, 10)
    assert [[each.role for each in pair.sent] for pair in found.pairs] == [
        ["user"],
        ["reasoning", "assistant", "function_call"],
        ["function_call_output", "user"],
        ["assistant"],
    ]
