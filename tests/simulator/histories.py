"""What the tests of bindings share: models, settings, and what became of the thinking in a talk."""

from collections.abc import Callable
from typing import Any

from tests.simulator.judging import TOOL, call, picture, result
from tests.simulator.talks import Talk, Think

OPUS, SONNET = "claude-opus-5-5", "claude-sonnet-5-5"
KEPT = ("kept", "")
PREFIX = ("dropped", "prefix_binding_mismatch")
MODEL = ("dropped", "model_binding_mismatch")
ORGANIZATION = ("dropped", "organization_binding_mismatch")
BOUND = (
    "%s: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
NEEDS_BETA = " That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
SEARCHED = {"name": "find", "input_schema": {"type": "object"}, "defer_loading": True}


def behaviour(value: str) -> dict[str, Any]:
    """The request's own wish for blocks of another conversation."""
    return {"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": value}}}


def fates(talk: Talk, **terms: Any) -> list[tuple[str, str]]:
    """What became of each thinking block of a legal request."""
    verdict = talk.judged(**terms)
    assert verdict.violation is None, verdict.violation
    return [(fate.fate, fate.reason) for fate in verdict.prompt.blocks]


def without(*messages: int) -> Callable[[Talk], None]:
    """A client that leaves the thinking of these messages out."""

    def change(talk: Talk) -> None:
        for message in messages:
            blocks = talk.messages[message]["content"]
            talk.messages[message]["content"] = [block for block in blocks if block["type"] != "thinking"]

    return change


def history(model: str = OPUS) -> Talk:
    """Three answers in one tool loop and one after it; messages 1, 3, 5, 7 are the model's."""
    more = {"system": "Be kind.", "tools": [TOOL, SEARCHED]}
    talk = Talk(model=model, more=more).ask("Hi.", picture())
    talk.reply(Think("One."), "Let me see.", call("A", input={"a": 1, "b": 2.0})).ask(result("A", "first"))
    talk.reply(Think("Two."), call("B")).ask(result("B", "second"))
    talk.reply(Think("Three."), "Done.").ask("Thanks.")
    return talk.reply(Think("Four."), "You are welcome.").ask("Bye.")


def edit_question(talk: Talk) -> None:
    talk.messages[0]["content"][0]["text"] = "Hi!"


def edit_answer(talk: Talk) -> None:
    talk.messages[1]["content"][1]["text"] = "Let me look."


def shorten_result(talk: Talk) -> None:
    talk.messages[2]["content"][0]["content"] = "fir"
