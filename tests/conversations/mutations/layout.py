"""Thinking in the wrong place, signatures that are gone, a last message that may not be last."""

from tests.build import redacted, text, thinking
from tests.conversations.mutations.moves import Catalogue, Move

steps = Catalogue()


@steps.breaks("R37.last-message")
def end_in_thinking(move: Move) -> None:
    move.messages.append(
        {"role": "assistant", "content": [*move.pick([], [text("a")]), move.pick(thinking("hm"), redacted("d"))]}
    )


@steps.breaks("R20.prefill", fits=lambda facts: not facts.prefill)
def end_in_an_answer(move: Move) -> None:
    move.messages.append({"role": "assistant", "content": move.pick("a", [text("a")], "", [])})


@steps.breaks("R20.prefill-with-thinking", fits=lambda facts: facts.prefill, mode="enabled")
def prefill_while_thinking(move: Move) -> None:
    move.messages.append({"role": "assistant", "content": [thinking("hm"), text("a")]})


@steps.breaks("R20.trailing-whitespace", fits=lambda facts: facts.prefill, mode="disabled")
def prefill_with_a_trailing_space(move: Move) -> None:
    move.messages.append({"role": "assistant", "content": move.pick("a ", [text("a\n")], [text("a"), text(" ")])})


@steps.breaks("R35.final-message", fits=lambda facts: facts.prefill, mode="enabled")
def end_in_manual_mode_without_thinking(move: Move) -> None:
    move.messages.append({"role": "assistant", "content": move.pick("a", [text("a")], "", [])})


@steps.breaks("R35.tool-loop", mode="enabled")
def take_the_thinking_out(move: Move) -> None:
    """As clients do that drop what they do not know."""
    move.need(move.blocks("thinking", "redacted_thinking"))
    for message in move.listed("assistant"):
        message["content"] = [each for each in message["content"] if each["type"] not in ("thinking", "redacted_thinking")]


@steps.breaks("R35.tool-loop", mode="enabled")
def speak_before_thinking(move: Move) -> None:
    move.with_blocks("thinking", "redacted_thinking")["content"].insert(0, text("well"))


@steps.breaks("R38.thinking-while-off", fits=lambda facts: "R38" in facts.legacy_texts)
def switch_thinking_off_in_the_loop(move: Move) -> None:
    move.need(move.blocks("thinking", "redacted_thinking"))
    if move.pick(True, False):
        move.body["thinking"] = {"type": "disabled"}
    else:
        move.body.pop("thinking", None)


@steps.breaks("R38.thinking-while-off", fits=lambda facts: "R38" in facts.legacy_texts, mode="disabled")
def think_in_the_loop_while_off(move: Move) -> None:
    move.pick(*move.listed("assistant"))["content"].insert(0, thinking("hm"))


@steps.breaks("R33.empty-signature")
def lose_a_signature(move: Move) -> None:
    move.a_block("thinking")["signature"] = ""


@steps.breaks("R33.foreign-signature")
def sign_for_another_maker(move: Move) -> None:
    move.a_block("thinking")["signature"] = move.pick('{"field":"reasoning"}', "clew1.AbCd", "clew9.AbCd")


@steps.breaks("R33.empty-block")
def cut_a_thought_before_it_began(move: Move) -> None:
    move.a_block("thinking").update(thinking="", signature="")


MUTATIONS = tuple(steps.mutations)
