"""What is kept, as a front end gets it when it reads a chat again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clew.chat.ui.messages import result_parts
from clew.chat.ui.parts import frame_of

OUTPUTS: dict[str, tuple[Any, Any]] = {
    "words": ("21 degrees", "21 degrees"),
    "a value": ('{"degrees": 21}', {"degrees": 21}),
    "a list": ("[1, 2]", [1, 2]),
    "no JSON after all": ("[sic]", "[sic]"),
    "half a character, as an escape": ('["\\ud83d"]', '["\\ud83d"]'),
    "too deep": ("[" * 5000, "[" * 5000),
    "no number of JSON's": ("[NaN]", "[NaN]"),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_whatever_a_tool_gave_can_be_told_again(case: str) -> None:
    """A result that could not be written would make the whole chat unreadable."""
    given, shown = OUTPUTS[case]
    asked = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": given}]}
    [part] = result_parts([asked])
    assert part == {"type": "tool-output-available", "toolCallId": "t", "output": shown}
    assert json.loads(frame_of(part).removeprefix(b"data: ")) == part


def test_half_a_character_goes_out_as_an_escape() -> None:
    """JavaScript holds it, and puts the halves together."""
    assert frame_of({"type": "data-block", "data": "\ud83d"}) == b'data: {"type": "data-block", "data": "\\ud83d"}\n\n'
