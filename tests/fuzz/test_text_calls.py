"""Answers that may hold calls as text, made by chance and cut anywhere: nothing is lost, nothing is invented."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from clew.dialects.openai_chat.offered_tools import OfferedTools
from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.dialects.openai_chat.text_call_finder import TextCallFinder, TextPiece, grammars_of
from clew.dialects.openai_chat.text_call_reader import TextCall
from clew.model.facts.chat_backends import text_call_families
from clew.model.json import JsonValue, objects_of
from tests.counts import examples
from tests.dialects.openai_chat.chat import Told, stream
from tests.dialects.openai_chat.lookalikes import CALLS, LOOKALIKES
from tests.dialects.openai_chat.text_calls import TOOLS, asked
from tests.manifest import proves

DOCUMENT = json.dumps({"tools": TOOLS}).encode()
MARKUP = [
    *("<tool_call>", "</tool_call>", "<function=Bash>", "<function=", "</function>", "<parameter=command>", "</parameter>"),
    *("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "Bash", "Write", '{"name": "Bash", "arguments": {}}', "{"),
    *('<xai:function_call name="Bash">', "</xai:function_call>", '<parameter name="a">', '<xai:parameter name="b">'),
    *("</xai:parameter>", "<|start|>assistant", "<|channel|>commentary to=functions.Bash", "<|message|>", "<|call|>"),
    *("<seed:tool_call>", "</seed:tool_call>", '"', "\\", "}", "```", "`", "~~~", "\n", "    ", " ", "\\n", "x", "木", "<"),
]
TEXTS = st.one_of(
    st.lists(st.sampled_from([*MARKUP, *CALLS.values()]), max_size=30).map("".join),
    st.lists(st.one_of(st.sampled_from([*CALLS.values(), *LOOKALIKES.values()]), st.text(max_size=20)), max_size=6).map(
        "".join
    ),
)
FAMILIES = st.sampled_from(sorted(text_call_families()))
CUTS = st.lists(st.integers(0, 400), max_size=20)


def parts(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    return [text[start:end] for start, end in pairwise(places)]


def found(family: str, pieces: list[str], *, regular: bool) -> list[TextPiece]:
    """What is found, with neighbouring texts as one."""
    finder = TextCallFinder(grammars_of(family), OfferedTools(DOCUMENT))
    told = [each for piece in pieces for each in finder.feed(piece)]
    joined: list[TextPiece] = []
    for piece in [*told, *finder.flush(regular=regular)]:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


@proves("req:S3-37")
@settings(max_examples=examples(180, soak=50_000), deadline=None)
@given(FAMILIES, TEXTS, CUTS, st.booleans())
@example("qwen", "<tool_call>\\", [11], True)
def test_what_is_found_does_not_depend_on_the_cuts(family: str, text: str, cuts: list[int], regular: bool) -> None:
    at_once = found(family, [text], regular=regular)

    assert found(family, parts(text, cuts), regular=regular) == at_once
    assert found(family, list(text), regular=regular) == at_once


@settings(max_examples=examples(180, soak=50_000), deadline=None)
@given(FAMILIES, TEXTS, CUTS, st.booleans())
def test_texts_are_parts_of_what_was_said_in_order_and_calls_are_of_offered_tools(
    family: str, text: str, cuts: list[int], regular: bool
) -> None:
    at = 0
    pieces = found(family, parts(text, cuts), regular=regular)
    for piece in pieces:
        if isinstance(piece, TextCall):
            assert piece.name in ("Bash", "Write")
            assert isinstance(json.loads(piece.arguments), dict)
        else:
            at = text.index(piece, at) + len(piece)
    if not any(isinstance(piece, TextCall) for piece in pieces):
        assert "".join(map(str, pieces)) == text


@settings(max_examples=examples(90, soak=20_000), deadline=None)
@given(FAMILIES, TEXTS, CUTS, st.sampled_from(["stop", "length", "tool_calls"]))
def test_the_stream_is_legal_and_says_the_same_in_one_piece(family: str, text: str, cuts: list[int], finish: str) -> None:
    """`Told` holds every event to the strict grammar."""
    speech = ChatAnswerOptions(text_calls=family, tags="never")
    deltas: list[JsonValue] = [{"content": part} for part in parts(text, cuts)]
    told = Told(stream(*deltas, finish=finish), speech=speech, asked=asked())
    at_once = Told(stream({"content": text}, finish=finish), speech=speech, asked=asked())

    assert told.message == at_once.message
    has_call = "tool_use" in [block["type"] for block in objects_of(told.message["content"])]
    assert told.message["stop_reason"] == ("max_tokens" if finish == "length" else "tool_use" if has_call else "end_turn")
