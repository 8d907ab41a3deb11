"""Which thinking goes where: one test for each sentence of the rule."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clew.model.change import Change
from clew.model.facts.models import profile_for
from clew.model.origin import Origin
from clew.pipeline.step import Facts, Options
from clew.pipeline.thinking import keep_thinking
from clew.pipeline.thinking.opened import CHANGED
from clew.thinking.keys import block_key, proof_half
from clew.thinking.seal import Seal, Sealer
from clew.wire.requests import encode
from tests.build import (
    GLM,
    OPUS,
    SONNET,
    Json,
    Scribe,
    assistant,
    raw,
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
FILLER = {"type": "text", "text": "[No message content]", "citations": []}


def seal(origin: Origin, words: str, payload: bytes = b"native", index: int = 0, **more: bool) -> str:
    return SEALER.mint(Seal(principal="local", origin=origin, exchange="e1", index=index, payload=payload, **more), words)


class Talk:
    """A conversation: what the client holds, and what each backend got."""

    def __init__(self, opening: str = "hi", **options: Any) -> None:
        self.scribe = Scribe()
        self.history: list[Json] = [user(opening)]
        self.options = Options(**options)

    def facts(self) -> Facts:
        return Facts(recordings=self.scribe.shelf, context=self.scribe.context, sealer=SEALER, options=self.options)

    def project(
        self, origin: Origin, history: list[Json] | None = None, **more: Any
    ) -> tuple[list[Json], tuple[Change, ...]]:
        asked = request(*(history or self.history))
        going, changes = keep_thinking(asked, target(origin, **more), self.facts())
        return sent(going), changes

    def answer(self, answer: Json, origin: Origin = OPUS, held: Json | None = None) -> None:
        asked = request(*self.history)
        going, _ = keep_thinking(asked, target(origin), self.facts())
        blocks = request(held or answer).messages[0].content
        assert isinstance(blocks, tuple)
        self.scribe.record(asked, going, answer, origin, held=blocks)
        self.history.append(held or answer)

    def ask(self, *words: Any) -> None:
        self.history.append(user(*words))


def without_thinking(history: list[Json], *indices: int) -> list[Json]:
    out = [dict(each) for each in history]
    for index in indices:
        out[index]["content"] = [b for b in out[index]["content"] if b["type"] not in ("thinking", "redacted_thinking")]
    return out


def test_a_whole_copy_goes_out_as_the_very_bytes_that_came() -> None:
    talk = Talk()
    talk.answer(assistant(thinking("a", "s1"), "one"))
    talk.ask("more")
    talk.answer(assistant(thinking("b", "s2"), tool_use("t1")))
    talk.ask(tool_result("t1"))
    body = raw(*talk.history)

    going, changes = keep_thinking(request(*talk.history), target(OPUS), talk.facts())

    assert encode(going) == body
    assert changes == ()


def test_what_the_client_dropped_of_this_models_own_is_restored_in_place() -> None:
    talk = Talk()
    talk.answer(assistant(thinking("a", "s1"), "one", thinking("b", "s2"), tool_use("t1")))
    talk.ask(tool_result("t1"))

    got, changes = talk.project(OPUS, without_thinking(talk.history, 1))

    assert got == talk.history
    assert changes == (
        Change("thinking", "messages.1.content.0", "restored", "the client had left it out"),
        Change("thinking", "messages.1.content.2", "restored", "the client had left it out"),
    )


def test_redacted_and_empty_signed_thinking_are_restored_too() -> None:
    talk = Talk()
    talk.answer(assistant(redacted("d1"), thinking("", "s1"), "one"))
    talk.ask("more")

    got, _ = talk.project(OPUS, without_thinking(talk.history, 1))

    assert got == talk.history


def test_away_and_back_gives_the_maker_its_blocks_and_nobody_else() -> None:
    """A → B → A: A's blocks byte for byte, B's left out; while B answers, A's are left out."""
    talk = Talk()
    talk.answer(assistant(thinking("a", "s1"), "one"))
    talk.ask("more")
    to_glm, changes = talk.project(GLM)
    assert to_glm == without_thinking(talk.history, 1)
    assert changes == (Change("thinking", "messages.1.content.0", "left out", "made by claude"),)
    sealed = thinking("g", seal(GLM, "g", b"glm-signature"))
    talk.answer(assistant(thinking("g", "glm-signature"), "two"), GLM, assistant(sealed, "two"))
    talk.ask("and back")

    back, changes = talk.project(OPUS)

    assert back == without_thinking(talk.history, 3)
    assert changes == (Change("thinking", "messages.3.content.0", "left out", "made by glm"),)


def test_an_open_reader_gets_its_own_back_unsealed_from_the_recording() -> None:
    talk = Talk()
    sealed = thinking("g", seal(GLM, "g", b"glm-signature"))
    talk.answer(assistant(thinking("g", "glm-signature"), "two"), GLM, assistant(sealed, "two"))
    talk.ask("more")

    got, changes = talk.project(GLM)

    assert got[1] == assistant(thinking("g", "glm-signature"), "two")
    assert changes == ()


def test_an_open_reader_gets_its_own_back_from_the_seal_where_the_recording_is_lost() -> None:
    talk = Talk()
    talk.history += [assistant(thinking("g", seal(GLM, "g", b"glm-signature")), "two"), user("more")]

    got, changes = talk.project(GLM)

    assert got[1] == assistant(thinking("g", "glm-signature"), "two")
    assert changes == ()


def test_a_reference_whose_recording_is_lost_is_left_out() -> None:
    talk = Talk()
    talk.history += [assistant(thinking("g", seal(GLM, "g", b"key", reference=True)), "two"), user("more")]

    got, changes = talk.project(GLM)

    assert got[1] == assistant("two")
    assert changes[0].why == "its recording was deleted, and its seal holds only a reference"


def test_an_answer_that_the_client_split_goes_back_to_an_open_reader_with_nothing_added() -> None:
    talk = Talk()
    sealed = thinking("g", seal(GLM, "g", b"glm-signature"))
    talk.answer(assistant(thinking("g", "glm-signature"), "two"), GLM, held=assistant(sealed, "two"))
    talk.history[-1:] = [assistant(sealed), assistant("two"), user("more")]

    got, changes = talk.project(GLM)

    assert got[1:3] == [assistant(thinking("g", "glm-signature")), assistant("two")]
    assert changes == ()


@pytest.mark.parametrize("said", [(), ("two, edited",)])
def test_a_reference_is_followed_also_where_the_answer_around_it_does_not_line_up(said: tuple[str, ...]) -> None:
    """As the same seal would do that carries all: nothing but thinking, or other words beside it."""
    talk = Talk()
    token = seal(GLM, "g", block_key("thinking", "glm-signature"), reference=True)
    talk.answer(assistant(thinking("g", "glm-signature"), "two"), GLM, held=assistant(thinking("g", token), "two"))
    talk.history[-1] = assistant(thinking("g", token), *said)
    talk.ask("more")

    got, changes = talk.project(GLM)

    assert got[1] == assistant(thinking("g", "glm-signature"), *said)
    assert changes == ()


def test_what_an_open_reader_had_said_and_the_client_dropped_is_restored() -> None:
    talk = Talk()
    sealed = thinking("g", seal(GLM, "g", b"glm-signature"))
    talk.answer(assistant(thinking("g", "glm-signature"), tool_use("t1")), GLM, assistant(sealed, tool_use("t1")))
    talk.ask(tool_result("t1"))

    got, changes = talk.project(GLM, without_thinking(talk.history, 1))

    assert got[1] == assistant(thinking("g", "glm-signature"), tool_use("t1"))
    assert [change.what for change in changes] == ["restored"]


def test_a_seal_that_does_not_verify_goes_nowhere() -> None:
    talk = Talk()
    good = seal(GLM, "g")
    for signature in (good[:-1] + ("A" if good[-1] != "A" else "B"), "clew1.", "clew1.garbage"):
        talk.history[1:] = [assistant(thinking("g", signature), "two"), user("more")]
        for reader in (OPUS, GLM):
            got, changes = talk.project(reader)
            assert got[1] == assistant("two")
            assert changes == (Change("thinking", "messages.1.content.0", "left out", "its seal does not verify"),)


def test_unsigned_thinking_goes_nowhere() -> None:
    talk = Talk()
    talk.history += [assistant(thinking("g", ""), thinking("h", None), redacted(""), "two"), user("more")]

    got, changes = talk.project(OPUS)

    assert got[1] == assistant("two")
    assert [change.why for change in changes] == ["unsigned: no maker accepts it"] * 3


def test_a_message_that_would_be_empty_gets_the_constant_filler() -> None:
    talk = Talk()
    talk.history += [assistant(thinking("g", "")), user("more")]

    got, _ = talk.project(OPUS)

    assert got[1] == {"role": "assistant", "content": [FILLER]}


def test_native_thinking_from_before_clew_goes_to_claude_as_it_came_and_to_nobody_else() -> None:
    talk = Talk()
    talk.history += [assistant(thinking("old", "native-signature"), "two"), user("more")]

    assert talk.project(OPUS) == (talk.history, ())
    assert talk.project(GLM)[0][1] == assistant("two")


def test_a_block_that_the_client_once_left_out_does_not_come_back_ahead_of_what_followed() -> None:
    """The strand of the last answer: what it was made without, it is sent without."""
    talk = Talk()
    talk.answer(assistant(thinking("a", "native-unknown"), "one"), GLM)
    talk.scribe = Scribe()  # nobody recorded it
    talk.history = [user("hi"), assistant("one"), user("more")]
    talk.answer(assistant(thinking("b", "s2"), "two"))
    talk.ask("again")

    put_back = [user("hi"), assistant(thinking("a", "native-unknown"), "one"), *talk.history[2:]]
    got, changes = talk.project(OPUS, put_back)

    assert got == talk.history
    assert changes == (
        Change("thinking", "messages.1.content.0", "left out", "this model's last answer was given without it"),
    )


def test_each_model_has_its_own_strand_for_a_client_that_hides_other_models_thinking() -> None:
    talk = Talk()
    talk.answer(assistant(thinking("o1", "s1"), "one"), OPUS)
    talk.ask("switch")
    full = list(talk.history)
    talk.history = without_thinking(full, 1)
    talk.answer(assistant(thinking("m1", "s2"), "two"), SONNET)
    talk.ask("back")

    to_opus, changes = talk.project(OPUS, [*full, *without_thinking(talk.history, 3)[3:]])
    to_sonnet, restored = talk.project(SONNET, talk.history)

    assert to_opus == [*full, assistant("two"), user("back")]
    assert changes == ()
    assert to_sonnet == talk.history
    assert restored == ()


def test_a_message_of_which_a_repair_left_out_the_end_takes_nothing_before_it_along() -> None:
    """R37 cuts inside a message: what went of it then goes again, and all that went ahead of it."""
    talk = Talk()
    talk.answer(assistant(thinking("a", "sa"), "one"))
    talk.ask("more")
    talk.answer(assistant(thinking("b", "sb"), "two", thinking("c", "sc")))
    talk.ask("more")
    repaired = [*talk.history[:3], assistant(thinking("b", "sb"), "two"), *talk.history[4:]]
    answer = assistant(thinking("d", "sd"), "three")
    talk.scribe.record(request(*talk.history), request(*repaired), answer, OPUS)
    talk.history.append(answer)
    talk.ask("more")

    got, changes = talk.project(OPUS)

    assert got == [*repaired, answer, user("more")]
    assert [(change.path, change.what) for change in changes] == [("messages.3.content.2", "left out")]


def test_nothing_is_restored_into_another_models_strand() -> None:
    """Sonnet's answer was made without Opus's block, so it goes without it also when Opus's recording is there."""
    talk = Talk()
    talk.answer(assistant(thinking("o1", "s1"), "one"), OPUS)
    talk.ask("switch")
    talk.history = without_thinking(talk.history, 1)
    talk.answer(assistant(thinking("m1", "s2"), "two"), SONNET)
    talk.ask("go on")

    got, changes = talk.project(SONNET, without_thinking(talk.history, 3))

    assert got == talk.history
    assert [change.path for change in changes] == ["messages.3.content.0"]


def test_after_the_last_answer_goes_what_the_client_sends() -> None:
    talk = Talk()
    talk.answer(assistant(thinking("o1", "s1"), "one"), OPUS)
    talk.ask("switch")
    talk.answer(assistant(thinking("m1", "s2"), "two"), SONNET)
    talk.ask("back")

    assert talk.project(OPUS) == (talk.history, ())


def test_a_readers_own_blocks_go_though_their_recording_is_lost_and_another_models_is_there() -> None:
    """Opus reads Sonnet, so Sonnet's answer could be L; but what nobody recorded may be Opus's own."""
    talk = Talk()
    talk.answer(assistant(thinking("o1", "s1"), "one"), OPUS)
    talk.scribe = Scribe()
    talk.ask("switch")
    full = list(talk.history)
    talk.history = without_thinking(full, 1)
    talk.answer(assistant(thinking("m1", "s2"), "two"), SONNET)
    talk.ask("back")
    hidden = [*full, *without_thinking(talk.history, 3)[3:]]

    assert talk.project(OPUS, hidden) == (hidden, ())


def test_others_after_last_leave_leaves_out_what_is_recorded_as_another_models() -> None:
    talk = Talk()
    talk.answer(assistant(thinking("o1", "s1"), "one"), OPUS)
    talk.ask("switch")
    talk.answer(assistant(thinking("m1", "s2"), "two"), SONNET)
    talk.ask("back")
    leave = msgspec.structs.replace(profile_for(OPUS.model), others_after_last="leave")

    got, changes = talk.project(OPUS, profile=leave)

    assert got == without_thinking(talk.history, 3)
    assert changes[0].why == "made by another model, after this model's last answer"


def test_a_recording_of_which_the_client_sends_a_part_goes_whole() -> None:
    talk = Talk()
    talk.answer(assistant(thinking("o1", "s1"), "one"), OPUS)
    talk.ask("switch")
    talk.answer(assistant(thinking("m1", "s2"), "two", thinking("m2", "s3"), tool_use("t1")), SONNET)
    talk.ask(tool_result("t1"))
    partly = [dict(each) for each in talk.history]
    partly[3]["content"] = partly[3]["content"][1:]

    got, changes = talk.project(OPUS, partly)

    assert got == talk.history
    assert [(change.path, change.what) for change in changes] == [("messages.3.content.0", "restored")]


def test_where_the_visible_blocks_do_not_line_up_nothing_is_put_anywhere() -> None:
    talk = Talk()
    talk.answer(assistant(thinking("a", "s1"), "one", tool_use("t1")))
    talk.ask(tool_result("t1"))
    edited = [talk.history[0], assistant(tool_use("t1")), talk.history[2]]

    assert talk.project(OPUS, edited) == (edited, ())


def test_the_clients_visible_part_stays_whatever_the_model_once_said() -> None:
    talk = Talk()
    talk.answer(assistant(thinking("a", "s1"), " one \n", tool_use("t1", old="x")))
    talk.ask(tool_result("t1"))
    edited = [talk.history[0], assistant("one", tool_use("t1", old="x", replace_all=False)), talk.history[2]]

    got, _ = talk.project(OPUS, edited)

    assert got[1] == assistant(thinking("a", "s1"), "one", tool_use("t1", old="x", replace_all=False))


def test_string_content_becomes_blocks_when_thinking_is_restored_into_it() -> None:
    talk = Talk()
    talk.answer(assistant(thinking("a", "s1"), "one"))
    talk.ask("more")

    got, _ = talk.project(OPUS, [talk.history[0], {"role": "assistant", "content": "one"}, talk.history[2]])

    assert got == talk.history


def test_foreign_thinking_is_handed_over_as_plain_text_where_the_policy_says_so() -> None:
    talk = Talk()
    sealed = thinking("a thought", seal(GLM, "a thought"))
    talk.answer(assistant(thinking("a thought", "n"), "two"), GLM, assistant(sealed, "two"))
    talk.ask("more")

    got, changes = talk.project(OPUS, foreign="text")

    assert got[1] == assistant(text("a thought"), text("two"))
    assert changes == (Change("thinking", "messages.1.content.0", "handed over", "made by glm"),)


def test_the_policy_to_strip_sends_no_thinking_at_all() -> None:
    talk = Talk(policy="strip")
    talk.answer(assistant(thinking("a", "s1"), "one"))
    talk.ask("more")

    got, changes = talk.project(OPUS)

    assert got == without_thinking(talk.history, 1)
    assert [change.why for change in changes] == ["the policy is to send no thinking"]


def test_a_backend_that_wants_reasoning_everywhere_gets_its_placeholder() -> None:
    talk = Talk()
    talk.history += [assistant("plain"), user("more")]

    got, changes = talk.project(GLM, missing="space")

    assert got[1] == assistant(thinking(" ", ""), "plain")
    assert [change.what for change in changes] == ["added"]


def changed(message: Json) -> Json:
    """The message with another text in each thought, under the same signature."""
    blocks = [each | {"thinking": "changed"} if each["type"] == "thinking" else each for each in message["content"]]
    return message | {"content": blocks}


def test_a_thought_whose_text_the_client_changed_goes_as_it_was_recorded() -> None:
    talk = Talk()
    talk.answer(assistant(thinking("a", "s1"), "one", thinking("b", "s2"), "two"))
    talk.ask("next")

    got, changes = talk.project(OPUS, [talk.history[0], changed(talk.history[1]), talk.history[2]])

    assert got == talk.history
    assert changes == (
        Change("thinking", "messages.1.content.0", "restored", CHANGED),
        Change("thinking", "messages.1.content.2", "restored", CHANGED),
    )


def test_a_changed_thought_is_put_back_where_nothing_is_restored() -> None:
    """What a client holds goes back to its maker either way."""
    talk = Talk(restore=False)
    talk.answer(assistant(thinking("a", "s1"), "one"))
    talk.ask("next")

    assert talk.project(OPUS, [talk.history[0], changed(talk.history[1]), talk.history[2]])[0] == talk.history


def test_a_changed_thought_of_a_recording_from_before_texts_were_hashed_is_put_back() -> None:
    talk = Talk()
    talk.answer(assistant(thinking("a", "s1"), "one"))
    talk.ask("next")
    recording = talk.scribe.shelf.by_key(block_key("thinking", "s1"))
    assert recording is not None
    talk.scribe.shelf.add(msgspec.structs.replace(recording, digest=proof_half(recording.digest)))

    assert talk.project(OPUS) == (talk.history, ())
    assert talk.project(OPUS, [talk.history[0], changed(talk.history[1]), talk.history[2]])[0] == talk.history


def test_a_changed_thought_that_stays_out_is_told_of_as_left_out_alone() -> None:
    talk = Talk()
    talk.answer(assistant(thinking("a", "s1"), "one"))
    talk.ask("next")

    _, changes = talk.project(GLM, [talk.history[0], changed(talk.history[1]), talk.history[2]])

    assert [change.what for change in changes] == ["left out"]


def test_of_a_changed_thought_under_a_seal_the_recorded_words_are_handed_over() -> None:
    """Else what Claude gets at this place would depend on the client's last change."""
    talk = Talk()
    talk.answer(assistant(thinking("g", "native"), "one"), GLM, held=assistant(thinking("g", seal(GLM, "g")), "one"))
    talk.ask("next")

    got, changes = talk.project(OPUS, [talk.history[0], changed(talk.history[1]), talk.history[2]], foreign="text")

    assert got[1] == assistant("g", "one")
    assert [change.what for change in changes] == ["handed over"]


def test_a_changed_thought_under_a_seal_goes_home_from_an_answer_in_another_shape() -> None:
    """The recording does not line up with the answer; the seal fits the recorded text, and says what the maker wants back."""
    talk = Talk()
    talk.answer(assistant(thinking("g", "native"), "one"), GLM, held=assistant(thinking("g", seal(GLM, "g")), "one"))
    talk.ask("next")
    reshaped = changed(assistant(*talk.history[1]["content"], "more"))

    got, changes = talk.project(GLM, [talk.history[0], reshaped, talk.history[2]])

    assert got[1] == assistant(thinking("g", "native"), "one", "more")
    assert changes == (Change("thinking", "messages.1.content.0", "restored", CHANGED),)
