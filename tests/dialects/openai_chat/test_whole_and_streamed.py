"""One answer, whole and streamed, in every shape that reasoning has: the same blocks, the same payloads, the same ids."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai_chat.answers import read_message
from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatOptions
from clew.model.failure import Failure
from clew.model.json import JsonObject, JsonValue
from tests.counts import examples
from tests.dialects.openai_chat.chat import ASKED, DONE, Told, call, chunk, read_signatures
from tests.manifest import proves


class Spoken(NamedTuple):
    """The members of a message, and the deltas that say the same."""

    message: JsonObject
    deltas: list[JsonObject]


Shape = Callable[[str, str, int], Spoken]
"""From a thought, an answer and the size of pieces."""


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def saying(answer: str, size: int) -> list[JsonObject]:
    return [{"content": piece} for piece in cut(answer, size)]


def plain(*names: str) -> Shape:
    """A text under one name, or under several at once."""
    return lambda thought, answer, size: Spoken(
        {**dict.fromkeys(names, thought), "content": answer},
        [*({**dict.fromkeys(names, piece)} for piece in cut(thought, size)), *saying(answer, size)],
    )


def entries(*kinds: JsonObject, flat: bool = False) -> Shape:
    """`reasoning_details`: one entry of each kind, with the thought in those that show something."""

    def shape(thought: str, answer: str, size: int) -> Spoken:
        whole = [_entry(kind, thought) for kind in kinds]
        pieces = [piece for kind in kinds for piece in _pieces(kind, thought, size)]
        shown = "".join(_shown(entry) for entry in whole)
        mirror: list[JsonObject] = [{"reasoning": _shown(piece)} if flat else {} for piece in pieces]
        deltas: list[JsonObject] = [
            {"reasoning_details": [piece], **more} for piece, more in zip(pieces, mirror, strict=True)
        ]
        message: JsonObject = {"reasoning_details": list(whole), **({"reasoning": shown} if flat else {}), "content": answer}
        return Spoken(message, [*deltas, *saying(answer, size)])

    return shape


def _member(kind: JsonObject) -> str:
    return {"reasoning.text": "text", "reasoning.summary": "summary"}.get(str(kind["type"]), "")


def _shown(entry: JsonObject) -> str:
    return str(entry.get(_member(entry), "")) if _member(entry) else ""


def _entry(kind: JsonObject, thought: str) -> JsonObject:
    return {**kind, _member(kind): thought} if _member(kind) else kind


def _pieces(kind: JsonObject, thought: str, size: int) -> list[JsonObject]:
    """As a stream brings it: the text in pieces, the signature at the end."""
    member = _member(kind)
    if not member:
        return [kind]
    unsigned = {name: value for name, value in kind.items() if name != "signature"}
    pieces: list[JsonObject] = [{**unsigned, member: piece} for piece in cut(thought, size)]
    return [*pieces, {**kind, member: ""}] if "signature" in kind else pieces


def blocks(thought: str, answer: str, size: int) -> Spoken:
    """LiteLLM's `thinking_blocks`, signed at the end."""
    pieces: list[JsonObject] = [{"type": "thinking", "thinking": piece} for piece in cut(thought, size)]
    signed: JsonObject = {"type": "thinking", "thinking": "", "signature": "s"}
    whole: JsonObject = {"type": "thinking", "thinking": thought, "signature": "s"}
    deltas: list[JsonObject] = [{"thinking_blocks": [piece]} for piece in [*pieces, signed]]
    return Spoken({"thinking_blocks": [whole], "content": answer}, [*deltas, *saying(answer, size)])


def listed(thought: str, answer: str, size: int) -> Spoken:
    """Mistral's content list."""
    thoughts: list[JsonObject] = [{"content": [_chunk(piece)]} for piece in cut(thought, size)]
    texts: list[JsonObject] = [{"content": [{"type": "text", "text": piece}]} for piece in cut(answer, size)]
    return Spoken({"content": [_chunk(thought), {"type": "text", "text": answer}]}, [*thoughts, *texts])


def _chunk(text: str) -> JsonObject:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def tagged(open_tag: str, close_tag: str) -> Shape:
    def shape(thought: str, answer: str, size: int) -> Spoken:
        content = f"{open_tag}{thought}{close_tag}{answer}"
        return Spoken({"content": content}, saying(content, size))

    return shape


TEXT: JsonObject = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
SUMMARY: JsonObject = {"type": "reasoning.summary", "format": "openai-responses-v1", "index": 0}
ENCRYPTED: JsonObject = {"type": "reasoning.encrypted", "data": "blob", "id": "rs_1", "index": 0}
RECORD: JsonObject = {"type": "reasoning.server_tool_call", "tool_name": "t", "arguments": "{}", "result": "r"}
SHAPES: dict[str, Shape] = {
    **{name: plain(name) for name in ("reasoning", "reasoning_content", "reasoning_text", "thinking")},
    "two names": plain("reasoning", "reasoning_content"),
    "text": entries(TEXT),
    "signed text": entries({**TEXT, "signature": "s"}),
    "signed text, told twice": entries({**TEXT, "signature": "s"}, flat=True),
    "summaries": entries(SUMMARY, {**SUMMARY, "index": 1}),
    "summary and blob": entries(SUMMARY, ENCRYPTED),
    "blob alone": entries(ENCRYPTED),
    "record": entries(TEXT, RECORD),
    "blocks": blocks,
    "list": listed,
    "tags": tagged("<think>\n", "\n</think>\n\n"),
    "tight tags": tagged("[THINK]", "[/THINK]"),
}
THOUGHTS = st.text(st.sampled_from("ab \né😀<"), min_size=1, max_size=12)
ANSWERS = st.text(st.sampled_from("xy \né<>`"), max_size=12)
BROKEN = '{"q'
CALLS = st.lists(st.tuples(st.sampled_from(["a", "b.c", ""]), st.sampled_from(['{"q":1}', "{}", BROKEN])), max_size=2)


@proves("req:S3-30")
@settings(max_examples=examples(72, soak=6000), deadline=None)
@given(st.sampled_from(sorted(SHAPES)), THOUGHTS, ANSWERS, CALLS, st.integers(1, 5), st.sampled_from(["stop", "length"]))
def test_a_whole_answer_has_the_blocks_of_its_stream_in_every_shape(
    shape: str, thought: str, answer: str, calls: list[tuple[str, str]], size: int, finish: str
) -> None:
    """S3-30: blocks, payloads and ids; wherever the pieces were cut. Broken arguments are told only by a stream, which shows
    them, and by an answer whose stop reason says that it was cut short."""
    spoken = SHAPES[shape](thought, answer, size)
    whole: list[JsonValue] = [{"id": wire_id, "function": {"name": "f", "arguments": text}} for wire_id, text in calls]
    deltas = list(spoken.deltas)
    for index, (wire_id, text) in enumerate(calls):
        deltas += [call(index, wire_id, "f", ""), *(call(index, None, None, piece) for piece in cut(text, size))]
    message: JsonObject = {**spoken.message, "tool_calls": whole}
    body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": finish}]}).encode()
    told = Told(*map(chunk, deltas), chunk({}, finish=finish), DONE, speech=ChatAnswerOptions(empty_counts=True))

    answered = read_message(body, ASKED, ChatOptions(answer=ChatAnswerOptions(empty_counts=True)))
    if finish == "stop" and BROKEN in [text for _, text in calls]:
        assert answered == Failure(502, "api_error", f"the arguments of the call of f are not a JSON object: {BROKEN}")
    else:
        assert isinstance(answered, dict)
        assert read_signatures(answered) == read_signatures(told.whole)


def test_every_shape_shows_its_thought_as_thinking() -> None:
    """Each shape is one: none is read as text, and the encrypted one shows nothing."""
    for name, shape in SHAPES.items():
        told = Told(*map(chunk, shape("why", "so", 2).deltas), chunk({}, finish="stop"), DONE)
        thought = {"blob alone": "", "summaries": "why\n\nwhy"}.get(name, "why")
        assert (name, told.blocks) == (name, [("thinking", thought), ("text", "so")])
