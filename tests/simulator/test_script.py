"""The script format: every direction, and an error that says the line and what would be right."""

from pathlib import Path

import pytest

from clew.errors import SettingsInvalid
from clew.simulator.faults import FaultSpec
from clew.simulator.script import (
    WORDS,
    CallTool,
    Pause,
    Say,
    Scenario,
    ScriptTurn,
    SendBlock,
    SendEvent,
    SendPings,
    SetPace,
    SetUsage,
    Stop,
    Think,
    ThinkRedacted,
    parse,
)
from clew.simulator.turns import load

SCRIPT = """
# Every direction once.
about: Everything.

turn:
  think: First: a colon in the text.
    | And a second line.
    |
    |   An indented fourth.
  omitted: Never seen.
  update: On the way.
  redacted: Gone.
  text:
    | Only continued.
  call: Read {"file_path": "/etc/hosts"}
  call: *
  block: {"type": "hologram"}

turn:
  ping:
  ping: 3 0.5
  pause: 0.25
  usage: input_tokens=10 output_tokens=2
  pace: chunk=7 padding=3
  event: odd {"type":"odd"} with more
  fault: status 529 retry-after=2
  stop: refusal cyber
"""


def test_every_direction_is_read() -> None:
    assert parse(SCRIPT, "all") == Scenario(
        "all",
        "Everything.",
        (
            ScriptTurn(
                (
                    Think("First: a colon in the text.\nAnd a second line.\n\n  An indented fourth."),
                    Think("Never seen.", "never"),
                    Think("On the way.", "update"),
                    ThinkRedacted("Gone."),
                    Say("Only continued."),
                    CallTool("Read", {"file_path": "/etc/hosts"}),
                    CallTool("*"),
                    SendBlock({"type": "hologram"}),
                )
            ),
            ScriptTurn(
                (
                    SendPings(1, 0.0),
                    SendPings(3, 0.5),
                    Pause(0.25),
                    SetUsage({"input_tokens": 10, "output_tokens": 2}),
                    SetPace(7, 3),
                    SendEvent("odd", '{"type":"odd"} with more'),
                    FaultSpec(kind="status", status=529, retry_after="2"),
                    Stop("refusal", "cyber"),
                )
            ),
        ),
    )


def test_the_example_uses_every_word_there_is() -> None:
    used = {line.split(":")[0].strip() for line in SCRIPT.splitlines() if ":" in line}
    assert set(WORDS) <= used


def test_a_single_turn_needs_no_heading() -> None:
    assert parse("text: Hi.", "one").turns == (ScriptTurn((Say("Hi."),)),)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("text: a\nthinkk: b", "scenario s, line 2: there is no 'thinkk'; there are about, turn, think, "),
        ("just words", "scenario s, line 1: a word and a colon, not 'just words'"),
        ("| a", "scenario s, line 1: there is nothing above to continue"),
        ("text: a\nturn: b", "scenario s, line 2: turn: what it says goes below it, not 'b'"),
        ("turn:\n| b", "scenario s, line 1: turn: what it says goes below it, not 'b'"),
        ("# nothing\nabout: no turns", "scenario s says nothing: it has no directions"),
        ("call:", "scenario s, line 1: call: which tool? `*` is any that was offered"),
        ("call: Read [1]", "scenario s, line 1: call: a JSON object is expected"),
        ("call: Read {", "scenario s, line 1: call: Input data was truncated"),
        ("stop:", "scenario s, line 1: stop: a stop reason is missing"),
        ("pause: soon", "scenario s, line 1: pause: could not convert string to float: 'soon'"),
        *(
            (f"text: a\npause: {given}", f"scenario s, line 2: pause: seconds from 0 to 86400, not {given}")
            for given in ("nan", "-1", "inf", "86401")
        ),
        ("ping: 2 nan", "scenario s, line 1: ping: seconds from 0 to 86400, not nan"),
        ("ping: -2", "scenario s, line 1: ping: a number from 0 on, not -2"),
        ("fault: stall nan", "scenario s, line 1: fault: fault 'stall nan': Expected `float` >= 0.0 - at `$.seconds`"),
        ("fault: pings every=-1", "scenario s, line 1: fault: fault 'pings every=-1': Expected `float` >= 0.0"),
        ("fault: flood -1", "scenario s, line 1: fault: fault 'flood -1': Expected `int` >= 0"),
        ("pace: chunk=-1", "scenario s, line 1: pace: a number from 1 on, not -1"),
        ("pace: speed=3", "scenario s, line 1: pace: "),
        ("fault: earthquake", "scenario s, line 1: fault: there is no fault 'earthquake'; there are status, "),
    ],
)
def test_a_mistake_is_named_with_its_line_and_what_would_be_right(script: str, words: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        parse(script, "s")
    assert str(caught.value).startswith(words)


def test_a_file_with_a_mark_before_it_is_read(tmp_path: Path) -> None:
    """Editors on Windows write one, and nobody sees it."""
    file = tmp_path / "marked.scenario"
    file.write_text("text: Hello.", "utf-8-sig")
    assert load(str(file)) == Scenario("marked", "", (ScriptTurn((Say("Hello."),)),))
