"""A strand that is a link says what the list would have said, wherever a conversation went."""

from __future__ import annotations

import json
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from clew.model.origin import ANTHROPIC, Origin
from clew.model.recording import Recording, Shelf
from clew.model.request import Request, blocks_of
from clew.pipeline.step import Facts
from clew.pipeline.thinking import keep_thinking
from clew.pipeline.thinking.open import reduce_thoughts, reduced_thoughts
from clew.thinking.keys import key_of
from clew.thinking.seal import Seal, Sealer
from clew.thinking.strands import remarks_of, repair_mark, strand_keys
from tests.build import OPUS, SONNET, Json, Scribe, assistant, request, target, thinking, tool_result, tool_use, user
from tests.counts import examples

SEALER = Sealer({"k1": b"x" * 32}, "k1")
CHAT = Origin("glm", "glm", "glm-5", "me")
SISTER = Origin("glm", "glm", "glm-5-air", "me")
MESSAGES = Origin("kimi", "kimi", "kimi-k3", "me")
DIALECTS = {"glm": "openai-chat"}
MARKS = (repair_mark("images"), repair_mark("fill"))

Payload = Literal["field", "entries", "none"]


class Ask(Struct, frozen=True):
    """The next answer: whose, with what thinking, in which form it is asked for, and what the client gets of it."""

    origin: Origin
    thoughts: int
    payload: Payload
    marks: tuple[bytes, ...]
    lighter: bool
    hidden: bool
    calls: bool


class Rewind(Struct, frozen=True):
    answers: int


class Compact(Struct, frozen=True):
    """What was said becomes a summary, and the last answer stays."""


class Drop(Struct, frozen=True):
    """The client no longer has the thinking of one answer."""

    answer: int


class Lose(Struct, frozen=True):
    """A recording is gone."""

    recording: int


class Talk:
    """A client, what it holds, what the recordings hold, and for each of these the row that went ahead of it."""

    def __init__(self) -> None:
        self.scribe = Scribe()
        self.history: list[Json] = [user("hi")]
        self.kept: list[Recording] = []
        self.rows: dict[str, tuple[bytes, ...]] = {}
        self.remarks: dict[str, frozenset[bytes]] = {}
        self.count = 0

    def does(self, act: Ask | Rewind | Compact | Drop | Lose) -> None:
        answers = [at for at, message in enumerate(self.history) if message["role"] == "assistant"]
        match act:
            case Ask():
                self.asks(act)
            case Rewind(count) if answers:
                del self.history[answers[-min(count, len(answers))] :]
            case Compact() if answers and not _calls(self.history[answers[-1]]):
                self.history = [user("A summary."), self.history[answers[-1]], user("go on")]
            case Drop(index) if answers:
                self._drops(answers[index % len(answers)])
            case Lose(index) if self.kept:
                self.kept.pop(index % len(self.kept))
                self.scribe.shelf = Shelf(self.kept)
            case _:
                pass

    def _drops(self, at: int) -> None:
        rest = [block for block in self.history[at]["content"] if block["type"] != "thinking"]
        self.history[at] = {**self.history[at], "content": rest}

    def asks(self, act: Ask) -> None:
        self.count += 1
        going, marks, lighter = self._going(act)
        answer = self._answer(act)
        held = self._held(answer, act)
        recording = self.scribe.record(
            request(*self.history), going, answer, act.origin, marks=marks, lighter=lighter, held=_blocks(held)
        )
        self.rows[recording.id] = (*marks, *_keys(going))
        self.remarks[recording.id] = frozenset((*marks, *lighter))
        self.kept.append(recording)
        self.history += [held, user(*map(tool_result, _calls(held))) if _calls(held) else user("go on")]

    def _going(self, act: Ask) -> tuple[Request, tuple[bytes, ...], tuple[bytes, ...]]:
        facts = Facts(recordings=self.scribe.shelf, context=self.scribe.context, sealer=SEALER)
        dialect = DIALECTS.get(act.origin.realm, "anthropic")
        going, _ = keep_thinking(request(*self.history), target(act.origin, dialect=dialect), facts)
        if dialect == "anthropic":
            return going, (), ()
        said = reduce_thoughts(going) if act.lighter else going
        return said, act.marks, tuple(key for block in reduced_thoughts(said) if (key := key_of(block)))

    def _answer(self, act: Ask) -> Json:
        thoughts = [thinking(f"thought {self.count}.{index}", self._proof(act)) for index in range(act.thoughts)]
        calls = [tool_use(f"call-{self.count}")] if act.calls else []
        return assistant(*thoughts, f"answer {self.count}", *calls)

    def _proof(self, act: Ask) -> str:
        """The same for every thought where only the field has to be known, as with most vendors."""
        if act.origin.realm not in DIALECTS:
            return f"signed {self.count}"
        entries = {
            "reasoning_details": [{"data": f"{self.count:04}", "format": "as long as the end that a digest looks at"}]
        }
        return {"field": '{"field":"reasoning_content"}', "entries": json.dumps(entries), "none": ""}[act.payload]

    def _held(self, answer: Json, act: Ask) -> Json:
        if act.origin.realm == ANTHROPIC:
            return answer
        return assistant(*(self._sealed(block, at, act) for at, block in enumerate(answer["content"]) if _shown(block, act)))

    def _sealed(self, block: Json, at: int, act: Ask) -> Json:
        if block["type"] != "thinking":
            return block
        seal = Seal("local", act.origin, f"e{self.count}", at, block["signature"].encode())
        return {**block, "signature": SEALER.mint(seal, block["thinking"])}


def _shown(block: Json, act: Ask) -> bool:
    return not (act.hidden and block["type"] == "thinking")


def _calls(message: Json) -> list[str]:
    return [block["id"] for block in message["content"] if block["type"] == "tool_use"]


def _blocks(message: Json) -> object:
    return blocks_of(request(message).messages[0])


def _keys(going: Request) -> list[bytes]:
    return [key for message in going.messages for block in blocks_of(message) if (key := key_of(block))]


ASKS = st.builds(
    Ask,
    origin=st.sampled_from([CHAT, CHAT, CHAT, SISTER, MESSAGES, OPUS, SONNET]),
    thoughts=st.sampled_from([1, 1, 2, 0]),
    payload=st.sampled_from(["field", "entries", "entries", "none"]),
    marks=st.sampled_from([(), (), MARKS[:1], MARKS]),
    lighter=st.sampled_from([False, False, False, True]),
    hidden=st.booleans(),
    calls=st.booleans(),
)
TURNS = [
    ASKS,
    ASKS,
    ASKS,
    ASKS,
    st.builds(Rewind, st.integers(1, 3)),
    st.builds(Compact),
    st.builds(Drop, st.integers(0, 9)),
]

many = settings(max_examples=examples(36, soak=3000), deadline=None)


@many
@given(st.lists(st.one_of(TURNS), max_size=14))
def test_every_strand_reads_as_the_row_that_was_sent(acts: list[Ask | Rewind | Compact | Drop]) -> None:
    """Whatever the conversation does: switches, forks, edits, compactions, repairs."""
    talk = Talk()
    for act in acts:
        talk.does(act)
    assert {each.id: strand_keys(each, talk.scribe.shelf) for each in talk.kept} == talk.rows


@many
@given(st.lists(st.one_of(*TURNS, st.builds(Lose, st.integers(0, 9))), max_size=14))
def test_what_a_lost_recording_takes_away_is_the_beginning_of_a_row_and_never_a_remark(
    acts: list[Ask | Rewind | Compact | Drop | Lose],
) -> None:
    """The remarks are all that anybody reads of a row that is not Claude's; of Claude's a tail is what the vendor accepts."""
    talk = Talk()
    for act in acts:
        talk.does(act)
    for each in talk.kept:
        remarks, row = talk.remarks[each.id], talk.rows[each.id]
        if each.origin.realm != ANTHROPIC:
            assert remarks_of(each, talk.scribe.shelf) & {*remarks, *MARKS} == remarks
        left = [key for key in strand_keys(each, talk.scribe.shelf) if key not in remarks]
        true = [key for key in row if key not in remarks]
        assert left == true[len(true) - len(left) :]


@given(ASKS.filter(lambda ask: ask.origin.realm != ANTHROPIC), st.integers(2, 8))
def test_turns_alike_are_linked_from_the_second_on(ask: Ask, turns: int) -> None:
    """Where nothing changes, nothing is written out: in the weaker forms, too."""
    talk = Talk()
    for _ in range(turns):
        talk.does(Ask(ask.origin, 1, "entries", ask.marks, False, ask.hidden, ask.calls))
    assert all(each.strand.after for each in talk.kept[1:])
    assert {len(each.strand.listed or ()) for each in talk.kept[1:]} <= {len(ask.marks), 0}
