"""Parts of an answer that the Messages API has no block for: named, and said as far as they are words."""

import json

import pytest

from clew.dialects.openai_chat.answers import read_message
from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.shape import AnswerContext
from clew.model.json import JsonObject, JsonValue
from clew.pipeline.translator import Translator
from tests.dialects.openai_chat.chat import Told, stream

PICTURE: JsonObject = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}

ROWS: dict[str, tuple[JsonObject, list[str], str, str]] = {
    "an image among the parts": (
        {"content": [{"type": "text", "text": "See:"}, PICTURE]},
        ["image_url"],
        "See:",
        "end_turn",
    ),
    "images beside the content": ({"content": "See:", "images": [PICTURE]}, ["image"], "See:", "end_turn"),
    "a sound with its transcript": ({"audio": {"data": "UklG", "transcript": "Hello."}}, ["audio"], "Hello.", "end_turn"),
    "a refusal among the parts": ({"content": [{"type": "refusal", "refusal": "I cannot."}]}, [], "I cannot.", "refusal"),
    "a reference": (
        {"content": [{"type": "text", "text": "So it is"}, {"type": "reference", "reference_ids": [1]}]},
        ["reference"],
        "So it is",
        "end_turn",
    ),
    "sources": ({"content": "So.", "annotations": [{"type": "url_citation"}]}, ["annotation"], "So.", "end_turn"),
    "none of them": ({"content": "So.", "annotations": [], "audio": None, "images": []}, [], "So.", "end_turn"),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("whole", [True, False])
def test_what_cannot_be_shown_is_named_and_its_words_are_said(
    row: tuple[JsonObject, list[str], str, str], whole: bool
) -> None:
    """Law 6; case 21: streamed or in one piece, each kind once."""
    delta, kinds, text, stop = row
    found: list[str] = []
    message = _heard(delta, AnswerContext(model="m", unsaid=found.append), whole)
    assert (found, message["content"], message["stop_reason"]) == (kinds, [{"type": "text", "text": text}], stop)


def _heard(delta: JsonObject, asked: AnswerContext, whole: bool) -> JsonObject:
    if not whole:
        return Told(stream(delta), asked=asked).message
    choice: JsonValue = {"index": 0, "message": {"role": "assistant", **delta}, "finish_reason": "stop"}
    found = read_message(json.dumps({"choices": [choice]}).encode(), asked, ChatOptions())
    assert isinstance(found, dict)
    return found


def test_a_kind_is_named_once_however_often_it_comes() -> None:
    translator = Translator()
    translator.feed(stream({"content": [PICTURE]}, {"content": [PICTURE, {"type": "x" * 100}]}))
    assert translator.left_out == ["image_url", "x" * 40]
