"""The conversation that a block is bound to: every documented change, from both sides (R44)."""

from typing import Any

import pytest

from tests.manifest import accepts, refuses
from tests.simulator.histories import (
    BOUND,
    KEPT,
    NEEDS_BETA,
    OPUS,
    SEARCHED,
    behaviour,
    edit_answer,
    edit_question,
    fates,
    history,
    shorten_result,
    without,
)
from tests.simulator.judging import (
    BINDING,
    CACHED,
    TOOL,
    assistant,
    call,
    named,
    picture,
    result,
    text,
)
from tests.simulator.talks import Talk, Think

MISSING = (
    " Content that preceded this block when it was created is missing from this request, starting at `messages.0.content.0`."
)
GAP = " The `thinking` block that preceded this one when it was created is missing from this request."
DIFFERS = " A message older than `messages.0.content.0` differs from when this block was created."


def _append(talk: Talk) -> None:
    talk.reply("Bye.").ask("One more thing.")


def _parameters(talk: Talk) -> None:
    talk.more |= {"metadata": {"user_id": "u"}, "output_config": {"effort": "low"}, "tool_choice": {"type": "auto"}}
    talk.more["thinking"] = {"type": "adaptive", "display": "summarized"}


def _marks(talk: Talk) -> None:
    talk.more["system"] = [text("Be kind.", cache_control=CACHED)]
    talk.more["tools"] = [{**TOOL, "cache_control": CACHED}, SEARCHED]
    talk.messages[2]["content"][0]["cache_control"] = CACHED


def _strings_as_blocks(talk: Talk) -> None:
    talk.more["system"] = [text("Be kind.")]
    talk.messages[6]["content"] = [text("Thanks.", citations=None)]
    talk.messages[2]["content"] = [result("A", [text("first")], is_error=False)]
    talk.messages[1]["content"][2] = call("A", input={"b": 2, "a": 1}, caller={"type": "direct"})


def _deferred(talk: Talk) -> None:
    talk.more["tools"] = [{**SEARCHED, "name": "seek"}, *talk.more["tools"]]


def _split(talk: Talk) -> None:
    first, *rest = talk.messages[1]["content"]
    talk.messages[1:2] = [assistant(first), assistant(*rest)]


VALID = [
    ("append messages at the end", _append),
    ("parameters outside system, tools, messages", _parameters),
    ("add cache_control", _marks),
    ("strings as blocks, key order, 2 for 2.0, default keys", _strings_as_blocks),
    ("add a deferred tool that nothing references", _deferred),
    ("one answer sent as two messages", _split),
    ("remove thinking from the start", without(1)),
    ("remove more from the start", without(1, 3)),
    ("remove thinking from the end", without(7)),
    ("remove start and end", without(1, 7)),
    ("remove all of it", without(1, 3, 5, 7)),
]


@pytest.mark.parametrize("change", [case[1] for case in VALID], ids=[case[0] for case in VALID])
@accepts("rule:R44.conversation")
def test_a_change_that_leaves_later_thinking_valid(change: Any) -> None:
    """R44: the upper half of the documented table."""
    talk = history()
    change(talk)
    assert set(fates(talk)) <= {KEPT}


def _edit_input(talk: Talk) -> None:
    talk.messages[1]["content"][2]["input"]["a"] = 2


def _other_image(talk: Talk) -> None:
    talk.messages[0]["content"][1]["source"]["data"] = picture()["source"]["data"][:-4] + "AAAA"


def _insert(talk: Talk) -> None:
    talk.messages[6]["content"] = [text("Thanks."), text("A lot.")]


def _delete(talk: Talk) -> None:
    del talk.messages[6:8]


def _delete_first(talk: Talk) -> None:
    talk.messages[0]["content"] = [text("Hi.")]


def _reorder(talk: Talk) -> None:
    talk.messages[0]["content"].reverse()


def _system(talk: Talk) -> None:
    talk.more["system"] = "Be brief."


def _tool(**changes: Any) -> Any:
    def change(talk: Talk) -> None:
        talk.more["tools"] = [{**TOOL, **changes}, SEARCHED]

    return change


def _add_tool(talk: Talk) -> None:
    talk.more["tools"] = [*talk.more["tools"], {**TOOL, "name": "see"}]


INVALID = [
    ("edit the first question", edit_question, 1, NEEDS_BETA + DIFFERS),
    ("edit an answer", edit_answer, 3, NEEDS_BETA),
    ("change a tool input", _edit_input, 3, NEEDS_BETA),
    ("shorten a tool result", shorten_result, 3, NEEDS_BETA),
    ("re-encode an image", _other_image, 1, NEEDS_BETA + DIFFERS),
    ("insert content", _insert, 7, NEEDS_BETA),
    ("delete content at the start", _delete_first, 1, NEEDS_BETA + MISSING),
    ("reorder content", _reorder, 1, NEEDS_BETA + DIFFERS),
    ("change system", _system, 1, NEEDS_BETA),
    ("edit a tool", _tool(description="Sees."), 1, NEEDS_BETA),
    ("rename a tool", _tool(name="see"), 1, NEEDS_BETA),
    ("add a tool", _add_tool, 1, NEEDS_BETA),
    ("remove thinking from the middle", without(3), 5, NEEDS_BETA + GAP),
]


@pytest.mark.parametrize(("change", "message", "after"), [case[1:] for case in INVALID], ids=[case[0] for case in INVALID])
@refuses("rule:R44.conversation")
def test_a_change_that_makes_later_thinking_invalid(change: Any, message: int, after: str) -> None:
    """R44: the lower half of the table; the first failing block is named, and what is known of the change."""
    talk = history()
    change(talk)
    path = f"messages.{message}.content.0"
    assert named(talk.judged().violation) == ("R44.conversation", path, BOUND % path + after)


@accepts("rule:R44.conversation")
def test_deleting_the_end_is_an_append_to_less() -> None:
    """R44: a rewind keeps every block before it."""
    talk = history()
    _delete(talk)
    assert fates(talk) == [KEPT] * 3


@refuses("rule:R44.conversation")
@pytest.mark.parametrize("removed", [(1,), (1, 3)])
def test_a_block_put_back_makes_those_invalid_that_were_made_meanwhile(removed: tuple[int, ...]) -> None:
    """R44: put back one removed earlier; the answer that never saw it names it."""
    whole = history()
    shorter = history()
    without(*removed)(shorter)
    shorter.reply(Think("Five."), "Bye.").ask("Still there?")
    assert fates(shorter) == [KEPT] * (5 - len(removed))
    for message in removed:
        shorter.messages[message] = whole.messages[message]
    path = "messages.9.content.0"
    violation = shorter.judged().violation
    assert violation is not None
    assert (violation.rule, violation.path) == ("R44.conversation", path)


@refuses("rule:R44.conversation")
def test_a_block_of_another_conversation_is_refused() -> None:
    """R44: the plain case."""
    one = Talk(model=OPUS).ask("Hi.").reply(Think("Hm."), "Hello.")
    other = Talk(model=OPUS).ask("Hello.").reply(Think("Oh."), "Hi.").ask("?")
    other.messages[1]["content"][0] = one.block(1, 0)
    path = "messages.1.content.0"
    assert named(other.judged().violation) == ("R44.conversation", path, BOUND % path + NEEDS_BETA + DIFFERS)


M15 = [
    ("unchanged", lambda talk: None, None),
    ("oldest removed", without(1), None),
    ("suffix removed", without(5, 7), None),
    ("all removed", without(1, 3, 5, 7), None),
    ("middle removed", without(3), "R44.conversation"),
    ("tool_result edited", shorten_result, "R44.conversation"),
    ("first user text edited", edit_question, "R44.conversation"),
    ("oldest text replaced", lambda talk: talk.block(1, 0).update(thinking="[cleared]"), None),
]


@pytest.mark.parametrize(("change", "rule"), [case[1:] for case in M15], ids=[case[0] for case in M15])
@accepts("rule:R44.conversation")
@refuses("rule:R44.conversation")
def test_the_preserved_thinking_matrix_as_measured(change: Any, rule: str | None) -> None:
    """R44: M15, Opus 5.5, direct API, binding set to error."""
    talk = history().copy(terms={"betas": [BINDING]})
    talk.more |= behaviour("error")
    change(talk)
    violation = talk.judged().violation
    assert (violation and violation.rule) == rule
