"""Who may speak where, rule by rule (R18–R23, R32, R54)."""

from typing import Any

import pytest

from clew.simulator.server import stance
from tests.manifest import accepts, refuses
from tests.simulator.judging import (
    TOOL,
    ask,
    assistant,
    call,
    picture,
    request,
    result,
    row,
    search,
    searched,
    system,
    text,
    thought,
    user,
)

TURNS = "per-turn-control-2026-07-01"
COMPACT = "compact-2026-01-12"
DIRECTIVE = system(output_config={"effort": "low"})
HI, OK = user("Hi."), assistant("Hello.")


def say(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), "tools": [TOOL], **more}


ROWS = [
    row("R18.no-messages", say(), say(HI), "messages", "messages: at least one message is required"),
    row(
        "R19.first-not-user",
        say(OK, HI),
        say(OK, HI),
        "messages.0",
        'messages: first message must use the "user" role',
        stance=stance({"C-16": "reject"}),
        good_stance=stance(),
        conflict="C-16",
    ),
    row(
        "R19.leading-system",
        say(system("Be brief."), OK, HI),
        say(DIRECTIVE, HI),
        "messages.0",
        "{path}: use the top-level 'system' parameter for the initial system prompt; the directive-only form "
        "(content: [] with output_config) is accepted at any position",
        betas=(TURNS,),
    ),
    row(
        "R21.not-alternating",
        say(HI, OK, OK, HI),
        say(HI, OK, OK, HI, HI),
        "messages.2",
        'messages: roles must alternate between "user" and "assistant", but found multiple "assistant" roles in a row',
        stance=stance({"C-2": "reject"}),
        good_stance=stance(),
        conflict="C-2",
    ),
    row(
        "R32.no-content",
        say(HI, system()),
        say(HI, system("Be brief.")),
        "messages.1",
        "{path}: system messages must have content or output_config",
    ),
    row(
        "R32.between-tool-use-and-result",
        say(HI, assistant(call()), system("Wait."), user(result())),
        say(HI, assistant(call()), user(result()), system("Wait.")),
        "messages.2",
        "{path}: system messages cannot be placed between `tool_use` and `tool_result` blocks",
    ),
    row(
        "R32.follows-wrong-turn",
        say(HI, OK, system("Be brief.")),
        say(HI, assistant("Hm.", search(), searched()), system("Be brief.")),
        "messages.2",
        "{path}: system messages must directly follow a user turn",
    ),
    row(
        "R32.precedes-wrong-turn",
        say(HI, system("Be brief."), HI),
        say(HI, system("Be brief."), OK, HI),
        "messages.1",
        "{path}: system messages must be last or be followed by an assistant turn",
    ),
    row(
        "R23.tool-result-in-assistant",
        say(HI, assistant(result()), HI),
        say(HI, assistant(call()), user(result())),
        "messages.1",
        "{path}: `tool_result` blocks can only be in `user` messages",
    ),
    row(
        "R23.thinking-in-user",
        say(user(thought(), "Hi.")),
        say(HI),
        "messages.0",
        "{path}: `thinking` blocks can only be in `assistant` messages",
    ),
    row(
        "R32.content-not-text",
        say(HI, system(picture())),
        say(HI, system(text("Look."))),
        "messages.1.content.0",
        "{path}: `image` blocks are not supported in `system` messages",
    ),
    row(
        "R23.block-role",
        say(HI, assistant(picture()), HI),
        say(user(picture())),
        "messages.1.content.0",
        "{path}: `image` blocks can only be in `user` messages",
    ),
    row(
        "R54.compaction-empty",
        say(HI, assistant({"type": "compaction", "content": ""}), HI),
        say(HI, assistant({"type": "compaction", "content": None}), HI),
        "messages.1.content.0.compaction.content",
        "{path}: compaction content must be non-empty",
        betas=(COMPACT,),
    ),
]


@accepts("rule:R21.not-alternating")
@pytest.mark.parametrize("messages", [[HI, HI], [HI, HI, HI], [HI, OK, OK, HI]])
def test_runs_of_one_role_are_legal(messages: list[Any]) -> None:
    """R21: u|u, u|u|u, u|a|a|u are served (M1, M3)."""
    assert ask(request(messages=messages)).violation is None


@accepts("rule:R32.between-tool-use-and-result", "rule:R32.follows-wrong-turn", "rule:R32.precedes-wrong-turn")
def test_a_directive_may_stand_anywhere() -> None:
    """R19, R32: content [] with output_config is legal at any position."""
    messages = [DIRECTIVE, HI, assistant(call()), DIRECTIVE, user(result()), DIRECTIVE, user("And?"), OK, DIRECTIVE, HI]
    assert ask(request(**say(*messages)), betas=[TURNS]).violation is None


WRONG_TURNS = [
    ([system("Be brief.", output_config={"effort": "low"}), HI], "R19.leading-system"),
    ([system(), HI], "R19.leading-system"),
    ([HI, OK, system("Wait."), user(result())], "R32.follows-wrong-turn"),
    ([HI, assistant(call()), system("Wait."), user("Hm.")], "R32.follows-wrong-turn"),
]


@pytest.mark.parametrize(("messages", "rule"), WRONG_TURNS)
@refuses("rule:R19.leading-system", "rule:R32.follows-wrong-turn")
def test_only_a_call_and_its_result_are_split_and_only_an_empty_message_is_a_directive(
    messages: list[Any], rule: str
) -> None:
    """R19, R32: which of the placement rules names a message."""
    violation = ask(request(**say(*messages)), betas=[TURNS]).violation
    assert violation is not None
    assert violation.rule == rule
