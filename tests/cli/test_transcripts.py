"""Claude Code transcripts: read leniently, corrected without touching anything else."""

import json
from collections import Counter
from typing import Any

import pytest

from clew.cli.examine import examine_thread
from clew.cli.transcripts import MAIN, BlockPlace, excerpts, is_transcript, read_transcript, without_blocks
from clew.errors import RequestInvalid
from clew.model.facts import models
from clew.pipeline.step import Facts
from tests.build import redacted, text, thinking
from tests.manifest import proves


def line(kind: str, content: Any, *, id: str = "", **more: Any) -> bytes:
    message = {"role": kind, "content": content} | ({"id": id, "model": "claude-opus-5-5"} if kind == "assistant" else {})
    entry = {"parentUuid": None, "isSidechain": False, "type": kind, "message": message, "uuid": f"u-{id}", "sessionId": "s"}
    return json.dumps(entry | more).encode()


ASKED = line("user", "hi")
THOUGHT = line("assistant", [thinking("hm", "sig-1")], id="m1")
SAID = line("assistant", [text("hello")], id="m1")


def transcript(*lines: bytes):
    return read_transcript(b"\n".join(lines))


def test_lines_with_one_message_id_are_one_message() -> None:
    talk = transcript(ASKED, THOUGHT, SAID).threads[MAIN]
    assert (talk.messages, talk.model) == (2, "claude-opus-5-5")
    [answer] = talk.answers.values()
    assert ([place for place, _ in answer.thinking], answer.visible) == ([BlockPlace(2, 0)], True)


def test_sub_agents_are_conversations_of_their_own() -> None:
    agents = [line("assistant", [thinking("a", "s")], id=f"a{n}", isSidechain=True, agentId=f"ag{n}") for n in (1, 2)]
    assert list(transcript(ASKED, SAID, *agents).threads) == ["main", "sub-agent ag1", "sub-agent ag2"]


def test_the_model_is_the_one_that_answered_last_and_never_a_notice_of_the_client() -> None:
    notice = line("assistant", [text("API Error")], id="n").replace(b"claude-opus-5-5", b"<synthetic>")
    assert transcript(SAID, notice).threads[MAIN].model == "claude-opus-5-5"


def test_lines_that_are_not_understood_are_counted_and_kept() -> None:
    raw = b"\n".join(
        [
            b'{"type":"summary","summary":"x","leafUuid":"y"}',
            b'{"type":"summary","summary":"z","leafUuid":"y"}',
            b'{"snapshot":{}}',
            b"[1,2]",
            b'{"type":"assistant","message":"a string","uuid":"u"}',
            b'{"type":"user","uuid":"u"}',
            ASKED,
            b"",
            b'{"type":"user","mess',
            b"",
        ]
    )
    found = read_transcript(raw)
    assert found.other == Counter({"summary": 2, "without a type": 1, "of another shape": 2, "user": 1})
    assert [(number, fault.column, fault.reason) for number, fault in found.broken] == [(9, 21, "unexpected end of data")]
    assert found.threads[MAIN].messages == 1
    assert b"\n".join(without_blocks(found, [])) == raw


@pytest.mark.parametrize("bad", [b"\xff\xfe\x00", b"[" * 20_000, b'{"a":NaN}', b'{"a":"\\ud800"}', b"\x00"])
@proves("fault:C7")
def test_a_line_that_is_no_json_is_named_and_kept(bad: bytes) -> None:
    found = transcript(ASKED, bad, SAID)
    assert [number for number, _ in found.broken] == [2]
    assert list(without_blocks(found, [])) == [ASKED, bad, SAID]


def test_progress_is_told_every_byte() -> None:
    told: list[int] = []
    raw = b"\n".join([ASKED, b"", SAID])
    read_transcript(raw, told.append)
    assert sum(told) == len(raw) + 1


@pytest.mark.parametrize(
    ("raw", "is_one"),
    [
        (THOUGHT, True),
        (b'{"type":"file-history-snapshot","messageId":"x"}\n' + ASKED, True),
        (b'{"type":"broken\n' + ASKED, True),
        (b'{"model":"m","messages":[],"type":"x","uuid":"y"}', False),
        (b'{"model": "m",\n"messages": [\n{"type": "text", "text": "x"}\n]}', False),
        (b"", False),
        (b"\x00\x01", False),
        (b"[" * 100_000, False),
    ],
)
def test_a_transcript_is_told_from_a_request_by_its_lines(raw: bytes, is_one: bool) -> None:
    assert is_transcript(raw) is is_one


def test_mending_cuts_a_block_and_leaves_every_other_byte() -> None:
    odd = b'{ "type":"assistant",  "message":{"content":[ %b , %b ],"role":"assistant","id":"m"},"big":12345678901234567890, "x":1.0}'
    first, second = json.dumps(thinking("a", "")).encode(), json.dumps(text("b")).encode()
    found = transcript(ASKED, odd % (first, second), SAID)
    after = list(without_blocks(found, [BlockPlace(2, 0)]))
    kept = b'{ "type":"assistant",  "message":{"content":[ %b ],"role":"assistant","id":"m"},"big":12345678901234567890, "x":1.0}'
    assert after == [ASKED, kept % second, SAID]


def test_a_line_with_nothing_left_keeps_its_place_for_those_who_name_it_as_parent() -> None:
    """Empty where another line of the answer still speaks."""
    after = list(without_blocks(transcript(ASKED, THOUGHT, SAID), [BlockPlace(2, 0)]))
    assert json.loads(after[1]) == json.loads(THOUGHT) | {"message": {**json.loads(THOUGHT)["message"], "content": []}}
    assert (after[0], after[2]) == (ASKED, SAID)


def test_an_answer_of_which_nothing_is_left_gets_the_filler_once() -> None:
    second = line("assistant", [redacted("d")], id="m1")
    after = list(without_blocks(transcript(ASKED, THOUGHT, second), [BlockPlace(2, 0), BlockPlace(3, 0)]))
    contents = [json.loads(each)["message"]["content"] for each in after]
    assert contents == ["hi", [], [{"type": "text", "text": "[No message content]", "citations": []}]]


def test_a_line_with_a_doubled_key_is_not_edited() -> None:
    doubled = THOUGHT.replace(b'"message": {', b'"message": {}, "message": {', 1)
    with pytest.raises(RequestInvalid, match="line 1: duplicate key 'message'"):
        list(without_blocks(transcript(doubled), [BlockPlace(1, 0)]))


def test_excerpts_stay_below_the_vendors_limits_and_lose_no_block() -> None:
    big = "x" * 300_000
    found = transcript(*(line("assistant", [thinking("t", f"{n}{big}")], id=f"m{n}") for n in range(40)))
    parts = list(excerpts(found.threads[MAIN], "claude-opus-5-5"))
    assert len(parts) > 1
    assert max(len(part.raw) for part in parts) < 5_000_000
    assert [place for part in parts for place in part.places.values()] == [BlockPlace(n, 0) for n in range(1, 41)]


def test_an_excerpt_has_no_more_messages_than_the_vendor_takes() -> None:
    found = transcript(*(line("assistant", [thinking("t", f"{n}")], id=f"m{n}") for n in range(2_500)))
    parts = list(excerpts(found.threads[MAIN], "claude-opus-5-5"))
    assert [len(part.places) for part in parts] == [1_000, 1_000, 500]


@pytest.mark.parametrize("model", list(models()))
def test_a_sound_block_breaks_no_rule_of_any_model(model: str) -> None:
    """An excerpt has nothing in it that a rule about anything else could refuse."""
    found = transcript(ASKED, THOUGHT, SAID, line("assistant", [thinking("", "s2"), redacted("d"), text("x")], id="m2"))
    report, _ = examine_thread(found.threads[MAIN], [f"{model}"] if model != "unknown" else ["claude-nova-9"], Facts())
    assert [(each.known, each.violations) for each in report.judged] == [(True, ())]
    assert [seen.verdicts[0].what for seen in report.blocks] == ["goes"] * 3


def test_what_is_wrong_is_told_by_line_and_without_numbers_of_the_excerpt() -> None:
    unsigned = line("assistant", [text("x"), thinking("hm", "")], id="m2")
    report, places = examine_thread(transcript(ASKED, SAID, unsigned).threads[MAIN], [], Facts())
    [judged] = report.judged
    assert [(each.rule, each.path, each.words) for each in judged.violations] == [
        ("R33.empty-signature", "line 3 content.1", "messages.N.content.M: Invalid `signature` in `thinking` block")
    ]
    assert places == {"line 3 content.1": BlockPlace(3, 1)}


def test_a_block_that_cannot_be_read_hides_no_other() -> None:
    odd = line("assistant", [{"type": "thinking", "thinking": "x", "signature": 7}], id="m2")
    report, _ = examine_thread(transcript(THOUGHT, odd).threads[MAIN], [], Facts())
    assert [seen.path for seen in report.blocks] == ["line 1 content.0"]
    assert [(each.rule, each.path) for each in report.judged[0].violations] == [
        ("R33.signature-not-string", "line 2 content.0.thinking.signature.str")
    ]
