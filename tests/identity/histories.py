"""What Claude Code does to a history as a whole: the second half of table 1.1, one function a row.

Each takes the messages of a request as it would have been and returns the messages of the request that comes instead; none
touches its input. `MUTATIONS` holds these and, lifted to every assistant message, those of `answers`: one signature for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.build import Json, assistant, system, text, user
from tests.identity import answers

Messages = list[Json]
Mutation = Callable[[Messages], Messages]

INTERRUPTED = "[Request interrupted by user]"
COMPACT = "Summarise the conversation so far."
SUMMARY = "This session continues an earlier one. It was about what was said there."
NUDGE = "Your last message had no visible output. Please answer."


def system_messages_move_to_the_front(messages: Messages) -> Messages:
    """For a model that has none, and after a role 400: text blocks of the first user message, ahead of its own."""
    moved = [text(f"<system-reminder>\n{words}\n</system-reminder>") for words in _system_texts(messages)]
    kept = [message for message in messages if message["role"] != "system"]
    return [{**kept[0], "content": [*moved, *_blocks(kept[0])]}, *kept[1:]]


def compaction_leaves_out_the_last_answer(messages: Messages) -> Messages:
    """The compaction request: the prompt joins the user message before it, whose text gains a newline."""
    before = messages[: _last(messages, "assistant")]
    asked = _last(before, "user")
    return [*before[:asked], _extended(before[asked], text(f"\n{COMPACT}")), *before[asked + 1 :]]


def compaction_keeps_only_the_last_answer(messages: Messages) -> Messages:
    """After it: the summary, an empty system message, the last answer with its thinking, and the newest question."""
    return [user(SUMMARY), {"role": "system", "content": []}, messages[_last(messages, "assistant")], messages[-1]]


def an_escape_splits_the_answer(messages: Messages) -> Messages:
    """2.1.197: two assistant messages in a row for one answer, thinking in the first, and the note of the interruption."""
    last = _last(messages, "assistant")
    blocks = _blocks(messages[last])
    cut = next((i for i, block in enumerate(blocks) if block["type"] not in answers.THINKING), len(blocks))
    halves = [assistant(*half) for half in (blocks[:cut], blocks[cut:]) if half]
    return [*messages[:last], *halves, _extended(messages[-1], text(INTERRUPTED), front=True)]


def an_escape_notes_the_interruption(messages: Messages) -> Messages:
    """2.1.325: one message, and the note ahead of the next question."""
    return [*messages[:-1], _extended(messages[-1], text(INTERRUPTED), front=True)]


def the_last_question_is_replaced(messages: Messages) -> Messages:
    """Esc before an answer, or a rewind: other words stand where the last ones stood."""
    kept = [block for block in _blocks(messages[-1]) if block["type"] != "text"]
    return [*messages[:-1], {**messages[-1], "content": [*kept, text("No, do this instead.")]}]


def a_nudge_is_merged_into_the_question(messages: Messages) -> Messages:
    """After an answer without visible output, which itself does not come back."""
    return [*messages[:-1], _extended(messages[-1], text(NUDGE))]


def a_remark_stands_beside_the_result(messages: Messages) -> Messages:
    """What was typed during a tool loop is a text beside the newest tool_result."""
    return [*messages[:-1], _extended(messages[-1], text("By the way, hurry."))]


def a_reminder_is_appended(messages: Messages) -> Messages:
    """Clients only ever append system messages; the newest may be the last message of all."""
    return [*messages, system("The date has changed.")]


def single_texts_become_strings(messages: Messages) -> Messages:
    """The same message is a list while it carries the mark, and a plain string later."""
    return [_as_string(message) for message in messages]


def strings_become_lists(messages: Messages) -> Messages:
    return [{**message, "content": _blocks(message)} for message in messages]


def the_cache_mark_moves(messages: Messages) -> Messages:
    """Exactly one, on the last block of the last message."""
    bare = [{**message, "content": [_unmarked(block) for block in _blocks(message)]} for message in messages]
    last = bare[-1]
    if not last["content"]:
        return bare
    marked = {**last["content"][-1], "cache_control": {"type": "ephemeral"}}
    return [*bare[:-1], {**last, "content": [*last["content"][:-1], marked]}]


def signed_thinking_leaves(messages: Messages) -> Messages:
    """A switch to another model: unsigned thinking stays."""
    return _answers(messages, lambda blocks: answers.thinking_leaves(blocks, unsigned=False))


def all_thinking_leaves(messages: Messages) -> Messages:
    """The one retry after a signature was refused."""
    return _answers(messages, answers.thinking_leaves)


def _answers(messages: Messages, change: Callable[[list[Json]], list[Json]]) -> Messages:
    return [
        {**message, "content": change(_blocks(message))} if message["role"] == "assistant" else message
        for message in messages
    ]


def _lifted(change: Callable[[list[Json]], list[Json]]) -> Mutation:
    return lambda messages: _answers(messages, change)


MUTATIONS: dict[str, Mutation] = {
    **{name: _lifted(change) for name, change in answers.ANSWER_CHANGES.items()},
    "empty_texts_leave": _lifted(answers.empty_texts_leave),
    "empty_texts_leave_in_2.1.197": _lifted(lambda blocks: answers.empty_texts_leave(blocks, answers.NODE_20)),
    "bare_thinking_becomes_a_stand_in": _lifted(answers.bare_thinking_becomes_a_stand_in),
    "all_changes_of_an_answer": _lifted(answers.returned),
    **{
        change.__name__: change
        for change in (
            system_messages_move_to_the_front,
            compaction_leaves_out_the_last_answer,
            compaction_keeps_only_the_last_answer,
            an_escape_splits_the_answer,
            an_escape_notes_the_interruption,
            the_last_question_is_replaced,
            a_nudge_is_merged_into_the_question,
            a_remark_stands_beside_the_result,
            a_reminder_is_appended,
            single_texts_become_strings,
            strings_become_lists,
            the_cache_mark_moves,
            signed_thinking_leaves,
            all_thinking_leaves,
        )
    },
}
"""Every row of the table by name."""


def _blocks(message: Json) -> list[Json]:
    content: Any = message["content"]
    return [text(content)] if isinstance(content, str) else list(content)


def _extended(message: Json, block: Json, *, front: bool = False) -> Json:
    blocks = _blocks(message)
    return {**message, "content": [block, *blocks] if front else [*blocks, block]}


def _as_string(message: Json) -> Json:
    match _blocks(message):
        case [{"type": "text", "text": str(words)}] if message["role"] != "assistant":
            return {**message, "content": words}
        case _:
            return message


def _unmarked(block: Json) -> Json:
    return {name: value for name, value in block.items() if name != "cache_control"}


def _system_texts(messages: Messages) -> Iterator[str]:
    for message in messages:
        if message["role"] == "system":
            yield from (block["text"] for block in _blocks(message))


def _last(messages: Messages, role: str) -> int:
    return max(i for i, message in enumerate(messages) if message["role"] == role)
