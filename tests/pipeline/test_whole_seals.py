"""Clients that lose the text of a thought hold it whole under a seal: what their history becomes for each reader."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from clew.dialects import openai_chat
from clew.model.change import Change
from clew.model.origin import ANTHROPIC, Origin, Target
from clew.model.recording import Shelf
from clew.pipeline.step import Facts, Options
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.pipeline.thinking import keep_thinking
from clew.pipeline.thinking.outcomes import LOST, UNVERIFIED
from clew.thinking.seal import Sealer, is_seal
from tests.build import (
    GLM,
    OPUS,
    SONNET,
    Json,
    Scribe,
    assistant,
    redacted,
    request,
    sent,
    target,
    text,
    thinking,
    tool_result,
    tool_use,
    user,
)

SEALER = Sealer({"k1": b"x" * 32}, "k1")
NAMES = itertools.count()
MINE, THINE = thinking("Mine.", "EqQBc2ln"), thinking("Thine.", '{"field":"reasoning_content"}')


class Talk:
    """A conversation by a client that holds what a view shows it, and does to it what such clients do."""

    def __init__(self, **view: Any) -> None:
        self.scribe = Scribe()
        self.view = view
        self.history: list[Json] = [user("hi")]

    def facts(self, *, forgets: bool = False, sealer: Sealer = SEALER, **options: Any) -> Facts:
        shelf = Shelf() if forgets else self.scribe.shelf
        return Facts(recordings=shelf, context=self.scribe.context, sealer=sealer, options=Options(**options))

    def project(self, origin: Origin, *, foreign: str = "drop", **facts: Any) -> tuple[list[Json], tuple[Change, ...]]:
        going, changes = keep_thinking(request(*self.history), reader(origin, foreign=foreign), self.facts(**facts))
        assert not any(is_seal(str(block.get("signature") or block.get("data"))) for block in blocks_in(sent(going)))
        return sent(going), changes

    def answer(self, answer: Json, origin: Origin = OPUS) -> None:
        """What the maker says, shown to the client and recorded as a gateway does it."""
        options = ViewOptions(
            model="m",
            exchange=f"ex{next(NAMES)}",
            principal=self.scribe.context.principal,
            origin=origin,
            sealer=SEALER,
            whole=True,
            **self.view,
        )
        view, asked = ClientView(options), request(*self.history)
        going, _ = keep_thinking(asked, reader(origin), self.facts())
        shown = view.show_message({"content": answer["content"]})
        self.scribe.record(asked, going, answer, origin, held=tuple(view.held(answer["content"])))
        self.history.append({"role": "assistant", "content": shown["content"]})

    def ask(self, *words: Any) -> None:
        self.history.append(user(*words))

    def edit(self, alter: Any) -> None:
        """What the client makes of every thought that it holds."""
        for message in self.history:
            if message["role"] == "assistant":
                blocks = [alter(block) if "thinking" in block["type"] else block for block in message["content"]]
                message["content"] = [block for block in blocks if block]


def reader(origin: Origin, **more: Any) -> Target:
    return target(origin, dialect="anthropic" if origin.realm == ANTHROPIC else "openai-chat", **more)


def blocks_in(messages: list[Json]) -> list[Json]:
    return [block for message in messages if isinstance(message["content"], list) for block in message["content"]]


def thoughts(messages: list[Json]) -> list[Json]:
    return [block for block in blocks_in(messages) if "thinking" in block["type"]]


def proof(block: Json) -> str:
    return block["signature"] if block["type"] == "thinking" else block["data"]


EDITS: dict[str, Any] = {
    "as it came": lambda block: block,
    "without its text": lambda block: {**block, "thinking": ""} if block["type"] == "thinking" else block,
    "with another text": lambda block: {**block, "thinking": "Something else."} if block["type"] == "thinking" else block,
    "as one kind for both": lambda block: thinking("", proof(block)),
}


@pytest.mark.parametrize("forgets", [False, True], ids=["recorded", "the store is lost"])
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("own", [MINE, redacted("EqQBZGF0")], ids=["thinking", "redacted"])
def test_claude_gets_its_block_as_it_made_it(own: Json, edit: Any, forgets: bool) -> None:
    talk = Talk()
    talk.answer(assistant(own, "one"))
    talk.ask("more")
    talk.edit(edit)

    going, changes = talk.project(OPUS, forgets=forgets)

    assert going[1]["content"] == [own, text("one")]
    assert changes == ()


@pytest.mark.parametrize("forgets", [False, True], ids=["recorded", "the store is lost"])
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("own", [THINE, redacted("opaque")], ids=["thinking", "redacted"])
def test_another_maker_gets_what_it_wants_back(own: Json, edit: Any, forgets: bool) -> None:
    talk = Talk()
    talk.answer(assistant(own, "one"), GLM)
    talk.ask("more")
    talk.edit(edit)

    going, changes = talk.project(GLM, forgets=forgets)

    assert going[1]["content"] == [own, text("one")]
    assert changes == ()


@pytest.mark.parametrize("forgets", [False, True], ids=["recorded", "the store is lost"])
def test_the_words_that_are_handed_over_are_the_makers(forgets: bool) -> None:
    """And not what the client made of them."""
    talk = Talk()
    talk.answer(assistant(THINE, "one"), GLM)
    talk.ask("more")
    talk.edit(EDITS["with another text"])

    going, _ = talk.project(OPUS, foreign="text", forgets=forgets)

    assert going[1]["content"] == [text("Thine."), text("one")]


def test_each_of_three_makers_finds_its_own_again() -> None:
    talk = Talk()
    for origin, own, words in ((OPUS, MINE, "one"), (GLM, THINE, "two"), (SONNET, thinking("S.", "EqQBc29u"), "three")):
        talk.answer(assistant(own, words), origin)
        talk.ask("more")
    talk.edit(EDITS["without its text"])

    assert thoughts(talk.project(GLM)[0]) == [THINE]
    assert thoughts(talk.project(OPUS)[0])[0] == MINE
    assert THINE not in thoughts(talk.project(SONNET)[0])


def test_the_strand_of_a_client_with_seals_is_that_of_a_client_with_signatures() -> None:
    """Whole copies are seen to be whole, and a block that a repair left out does not come back."""
    talk = Talk()
    for at in range(3):
        talk.answer(assistant(thinking(f"t{at}", f"EqQB{at}aa="), f"said {at}"))
        talk.ask(f"more {at}")
    links = [recording.strand.after for recording in talk.scribe.shelf.all]

    assert links == [None, *[recording.id for recording in talk.scribe.shelf.all][:-1]]


def test_a_reference_is_the_block_that_the_store_has() -> None:
    talk = Talk(by_reference=True)
    talk.answer(assistant(MINE, "one"))
    talk.ask("more")
    talk.answer(assistant(THINE, "two"), GLM)
    talk.ask("more")
    talk.edit(EDITS["without its text"])

    assert len(proof(talk.history[1]["content"][0])) < 300
    assert thoughts(talk.project(OPUS)[0]) == [MINE]
    assert thoughts(talk.project(GLM)[0]) == [THINE]


@pytest.mark.parametrize("origin", [OPUS, GLM], ids=["claude", "another"])
def test_a_reference_to_what_is_lost_is_left_out_and_said(origin: Origin) -> None:
    talk = Talk(by_reference=True)
    talk.answer(assistant(MINE if origin is OPUS else THINE, "one"), origin)
    talk.ask("more")

    going, changes = talk.project(origin, forgets=True)

    assert going[1]["content"] == [text("one")]
    assert changes == (Change("thinking", "messages.1.content.0", "left out", LOST),)


def test_a_lost_link_of_a_strand_is_no_part_of_it() -> None:
    """A copy with a seal that cannot be opened has a hole there, and no hole may come before a block of Claude's."""
    talk = Talk(by_reference=True)
    for at in range(3):
        talk.answer(assistant(thinking(f"t{at}", f"EqQB{at}aa="), f"said {at}"))
        talk.ask(f"more {at}")
    kept = list(talk.scribe.shelf.all)
    talk.scribe.shelf = Shelf(kept[:1] + kept[2:])

    assert [block["thinking"] for block in thoughts(talk.project(OPUS)[0])] == ["t2"]


@pytest.mark.parametrize("origin", [OPUS, GLM], ids=["claude", "another"])
def test_a_seal_of_another_secret_counts_as_absent(origin: Origin) -> None:
    talk = Talk()
    talk.answer(assistant(MINE if origin is OPUS else THINE, "one"), origin)
    talk.ask("more")

    going, changes = talk.project(origin, forgets=True, sealer=Sealer({"k2": b"y" * 32}, "k2"))

    assert going[1]["content"] == [text("one")]
    assert [change.why for change in changes] == [UNVERIFIED]


def test_a_seal_of_another_principal_counts_as_absent() -> None:
    talk = Talk()
    talk.answer(assistant(MINE, "one"))
    talk.ask("more")
    facts = Facts(recordings=Shelf(), context=type(talk.scribe.context)(principal="bob"), sealer=SEALER)

    going, changes = keep_thinking(request(*talk.history), target(OPUS), facts)

    assert thoughts(sent(going)) == []
    assert [change.why for change in changes] == [UNVERIFIED]


# ── places and texts that a dialect loses

INTERLEAVED = (MINE, text("Let me see. "), thinking("Then.", "EqQBdGhlbg=="), text("Now."), tool_use("toolu_1"))


def as_chat(blocks: list[Json]) -> list[Json]:
    """All thoughts first, one text, then the calls."""
    texts = "".join(block["text"] for block in blocks if block["type"] == "text")
    return [
        *[block for block in blocks if "thinking" in block["type"]],
        *([text(texts)] if texts else []),
        *[block for block in blocks if block["type"] == "tool_use"],
    ]


@pytest.mark.parametrize("returns", [True, False], ids=["returns details", "returns nothing"])
def test_a_client_with_one_text_for_an_answer_gives_claude_all_in_its_place(returns: bool) -> None:
    talk = Talk(joins_texts=True, safe_ids=True, make_id=openai_chat.DIALECT.tool_id)
    talk.answer(assistant(*INTERLEAVED))
    talk.history[1]["content"] = as_chat(talk.history[1]["content"])
    talk.edit(EDITS["without its text"] if returns else lambda block: None)
    call = talk.history[1]["content"][-1]
    talk.ask(tool_result(call["id"]))

    going, changes = talk.project(OPUS)

    assert going[1]["content"] == [*INTERLEAVED[:-1], call]
    assert [change.what for change in changes] == ([] if returns else ["restored", "restored"])


def test_without_a_recording_the_seals_say_where_each_thought_stood() -> None:
    said = (MINE, text("Let me see."), thinking("Then.", "EqQBdGhlbg=="), tool_use("toolu_1"))
    talk = Talk()
    talk.answer(assistant(*said))
    talk.history[1]["content"] = as_chat(talk.history[1]["content"])
    talk.ask(tool_result("toolu_1"))

    assert talk.project(OPUS, forgets=True)[0][1]["content"] == [*said]


def test_a_projection_twice_is_a_projection_once() -> None:
    talk = Talk()
    talk.answer(assistant(MINE, "one"))
    talk.ask("more")
    talk.answer(assistant(THINE, "two"), GLM)
    talk.ask("more")
    once, _ = keep_thinking(request(*talk.history), target(OPUS), talk.facts())

    twice, changes = keep_thinking(request(*sent(once)), target(OPUS), talk.facts())

    assert sent(twice) == sent(once)
    assert changes == ()


# ── what a client's own dialect brings without a seal

ITEM = thinking("", '{"dialect":"openai-responses","item":{"type":"reasoning","id":"rs_1","encrypted_content":"gAAAA"}}')
PLAIN_ITEM = thinking("Hm.", '{"dialect":"openai-responses","item":{"type":"reasoning","content":[]}}')


@pytest.mark.parametrize(
    ("origin", "dialect", "goes"),
    [(GLM, "openai-responses", True), (GLM, "openai-chat", False), (GLM, "anthropic", False), (OPUS, "anthropic", False)],
    ids=["its own dialect", "another", "the Messages API", "Claude"],
)
def test_a_vendors_own_item_from_before_the_gateway_goes_to_its_dialect_alone(
    origin: Origin, dialect: str, goes: bool
) -> None:
    asked = request(user("hi"), assistant(ITEM, "one"), user("more"))

    going, changes = keep_thinking(asked, target(origin, dialect=dialect), Facts(sealer=SEALER))

    assert thoughts(sent(going)) == ([ITEM] if goes else [])
    assert len(changes) == (0 if goes else 1)


@pytest.mark.parametrize(
    ("own", "dialect", "want"),
    [
        (ITEM, "openai-responses", [ITEM]),
        (ITEM, "openai-chat", []),
        (PLAIN_ITEM, "openai-chat", [thinking("Hm.", "")]),
        (THINE, "openai-chat", [THINE]),
        (THINE, "openai-responses", [thinking("Thine.", "")]),
    ],
    ids=["home", "opaque elsewhere", "text elsewhere", "home of chat", "text of chat elsewhere"],
)
def test_a_payload_of_one_dialect_never_goes_out_in_another(own: Json, dialect: str, want: list[Json]) -> None:
    """A vendor with endpoints in two dialects: a thought that was plain text there is its text here."""
    talk = Talk()
    talk.answer(assistant(own, "one"), GLM)
    talk.ask("more")

    going, _ = keep_thinking(request(*talk.history), target(GLM, dialect=dialect), talk.facts())

    assert thoughts(sent(going)) == want
