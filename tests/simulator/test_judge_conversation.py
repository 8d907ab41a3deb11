"""What counts as said before a block: loaded tools, summaries, system messages, files, the answer itself (R44)."""

from typing import Any

from tests.manifest import accepts, refuses
from tests.simulator.histories import KEPT, OPUS, fates
from tests.simulator.judging import (
    TOOL,
    call,
    result,
    system,
    user,
)
from tests.simulator.talks import Talk, Think

SEARCHED = {"name": "find", "input_schema": {"type": "object"}, "defer_loading": True}


@accepts("rule:R44.conversation")
@refuses("rule:R44.conversation")
def test_a_deferred_tool_counts_from_where_it_is_referenced() -> None:
    """R44: effective tools; Claude Code loads tools by tool_reference blocks."""
    talk = Talk(model=OPUS, more={"tools": [TOOL]}).ask("Hi.").reply(Think("Find it."), call("A"))
    talk.ask(result("A", [{"type": "tool_reference", "tool_name": "find"}]))
    talk.more["tools"] = [SEARCHED, TOOL]
    talk.reply(Think("Found."), call("B", "find")).ask(result("B"))
    assert fates(talk) == [KEPT, KEPT]
    talk.more["tools"] = [{**SEARCHED, "description": "Finds."}, TOOL]
    violation = talk.judged().violation
    assert violation is not None
    assert violation.path == "messages.3.content.0"


@accepts("rule:R44.conversation")
def test_a_compaction_begins_the_conversation_anew() -> None:
    """R44, R54: what stands before the newest compaction block counts no more, and may go."""
    compact = {"betas": ["compact-2026-01-12"]}
    talk = Talk(model=OPUS, terms=compact).ask("Hi.").reply(Think("Old."), "Hello.").ask("Go on.")
    talk.reply({"type": "compaction", "content": "We greeted."}, Think("New."), "So.").ask("And?")
    assert fates(talk) == [("stripped", "before the newest compaction"), KEPT]
    _edit_text = talk.copy()
    _edit_text.messages[0] = user("Something else.")
    assert fates(_edit_text)[1] == KEPT
    shorter = talk.copy(messages=talk.messages[3:])
    assert fates(shorter) == [KEPT]
    shorter.reply(Think("Newer."), "Yes.").ask("?")
    assert fates(shorter) == [KEPT, KEPT]


@accepts("rule:R44.conversation")
@refuses("rule:R44.conversation")
def test_a_cleared_system_message_stays_in_place_and_is_not_reworded() -> None:
    """R44, R32: a turn-scoped system message counts while it is there, cleared or not."""
    scoped = {"betas": ["mid-conversation-system-clear-at-2026-08-21"]}
    talk = Talk(model=OPUS, terms=scoped).ask("Hi.")
    talk.messages.append(system("For now.", clear_at="next_user_message"))
    talk.reply(Think("Hm."), "Hello.").ask("And?")
    assert fates(talk) == [KEPT]
    talk.messages[1]["content"] = "For ever."
    assert talk.judged().violation is not None
    del talk.messages[1]
    assert talk.judged().violation is not None


@accepts("rule:R44.conversation")
@refuses("rule:R44.conversation")
def test_a_rotating_url_is_the_same_and_another_file_is_not() -> None:
    """R44: the simulator takes the URL without its query for the bytes that it serves."""

    def image(url: str) -> dict[str, Any]:
        return {"type": "image", "source": {"type": "url", "url": url}}

    talk = Talk(model=OPUS).ask("Look.", image("https://files.example/a.png?token=1")).reply(Think("Hm."), "Nice.").ask("?")
    talk.messages[0]["content"][1] = image("https://files.example/a.png?token=2")
    assert fates(talk) == [KEPT]
    talk.messages[0]["content"][1] = image("https://files.example/b.png?token=1")
    assert talk.judged().violation is not None


@refuses("rule:R44.conversation")
def test_text_between_two_thinking_blocks_of_one_answer_counts_for_the_second() -> None:
    """R44: the answer's own visible part is prefix for what follows it in the answer."""
    talk = (
        Talk(model=OPUS, more={"tools": [TOOL]}).ask("Hi.").reply(Think("One."), "So.", Think("Two."), call()).ask(result())
    )
    assert fates(talk) == [KEPT, KEPT]
    talk.messages[1]["content"][1]["text"] = "[Empty text removed]"
    violation = talk.judged().violation
    assert violation is not None
    assert violation.path == "messages.1.content.2"


@accepts("rule:R44.conversation")
def test_a_thinking_only_answer_may_be_taken_out_with_its_message() -> None:
    """R22, R44: content [] and no message at all say the same."""
    talk = Talk(model=OPUS).ask("Hi.").reply(Think("Hm.")).ask("Say it.").reply(Think("Ah."), "Hello.").ask("Thanks.")
    assert fates(talk) == [KEPT, KEPT]
    talk.messages[1]["content"] = []
    assert fates(talk) == [KEPT]
    del talk.messages[1]
    assert fates(talk) == [KEPT]
