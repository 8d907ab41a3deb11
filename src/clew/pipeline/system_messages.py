"""System-role messages: kept where the model takes them, said by the user where it does not (R32).

A message that a model cannot take becomes a text block, in constant tags, at the end of the user message right before it;
without one, a user message of its own. Clients only ever append such messages, so a history that grows is folded to one that
grows; moving them to `system` or into the first message would change the beginning with each new one. The first message of a
request can be a system message on no model (R19), unless it only sets the effort. One that says nothing vanishes, and with
the role goes what only that role may have: a message's own `output_config`.
"""

from __future__ import annotations

from itertools import takewhile

from msgspec import UNSET

from clew.model.blocks import Block, Made, string_of, text_block
from clew.model.change import Change
from clew.model.past import all_of, folded
from clew.model.request import Edited, Message, Request, blocks_of, with_blocks, with_content
from clew.model.target import Target
from clew.pipeline.blank import is_blank_text, is_empty_text, is_nothing_but_blank
from clew.pipeline.places import block_path, message_path
from clew.pipeline.step import Facts
from clew.pipeline.values import object_of, value_of

__all__ = ["TAGS", "system_messages"]

STEP = "system_messages"

TAGS = ("<system-message>\n", "\n</system-message>")

ROLE = "this model has no system-role messages (R32)"
HEAD = "the first message cannot be a system message (R19)"
EMPTY = "a system message must have content or output_config (R32)"
EMPTY_TEXT = "a text block must be non-empty (R22)"
BLANK = "a message must hold more than white space (R22)"
OUTPUT_CONFIG = "only a system-role message may have it (R32)"
NOT_TEXT = "only text can be said by the user (R32)"


_NO_SYSTEM_MESSAGE = all_of(lambda messages: "system" not in [message.role for message in messages])


def system_messages(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    if folded(request.messages, _NO_SYSTEM_MESSAGE):
        return request, ()
    head = sum(1 for _ in takewhile(lambda message: message.role == "system", request.messages))
    done: list[Message] = []
    changes: list[Change] = []
    for index, message in enumerate(request.messages):
        if message.role != "system":
            done.append(message)
        elif target.profile.system_messages and (index >= head or _is_directive(message)):
            _keep(request, index, done, changes)
        else:
            _fold(request, index, done, changes, HEAD if target.profile.system_messages else ROLE)
    return request.with_messages(tuple(done)), tuple(changes)


def _is_directive(message: Message) -> bool:
    """Only sets the effort; legal anywhere."""
    return message.content == () and _has_config(message)


def _has_config(message: Message) -> bool:
    return any(value is not None for value in (object_of(message.output_config) or {}).values())


def _keep(request: Request, index: int, done: list[Message], changes: list[Change]) -> None:
    """A message that keeps its role, without what is refused in it; gone if then nothing is left."""
    message = request.messages[index]
    blocks = blocks_of(message)
    kept = tuple(block for block in blocks if not is_empty_text(block))
    changes.extend(
        Change(STEP, block_path(request, index, block), "removed", EMPTY_TEXT) for block in blocks if is_empty_text(block)
    )
    message = with_blocks(message, kept)
    if is_nothing_but_blank(message.content):
        changes.append(Change(STEP, f"{message_path(request, index)}.content", "removed", BLANK))
        message = with_content(message, ())
    if message.content or _has_config(message):
        done.append(message)
    else:
        changes.append(Change(STEP, message_path(request, index), "removed", EMPTY))


def _fold(request: Request, index: int, done: list[Message], changes: list[Change], why: str) -> None:
    """A message that loses its role: its text at the end of the user message before it, or as one of its own."""
    message, path = request.messages[index], message_path(request, index)
    others = [block for block in blocks_of(message) if block.type != "text"]
    changes.extend(Change(STEP, block_path(request, index, block), "left out", NOT_TEXT) for block in others)
    if message.output_config is not UNSET:
        changes.append(Change(STEP, f"{path}.output_config", "removed", OUTPUT_CONFIG))
    said = _as_text(message)
    if said is None:
        changes.append(Change(STEP, path, "removed", EMPTY))
        return
    changes.append(Change(STEP, path, "moved", why))
    if done and done[-1].role == "user":
        done[-1] = with_content(done[-1], (*_as_blocks(done[-1]), said))
    else:
        done.append(Edited("user", (said,)))


def _as_text(message: Message) -> Made | None:
    """What the message says, in tags, with its cache mark; None if it says nothing."""
    if isinstance(message.content, str):
        texts, marks = [message.content], []
    else:
        spoken = [block for block in blocks_of(message) if block.type == "text"]
        texts = [string_of(block.text) for block in spoken if not (is_empty_text(block) or is_blank_text(block))]
        marks = [mark for block in spoken if (mark := value_of(block.cache_control)) is not None]
    said = "\n\n".join(texts)
    if not said.strip():
        return None
    return text_block(TAGS[0] + said + TAGS[1], **({"cache_control": marks[-1]} if marks else {}))


def _as_blocks(message: Message) -> tuple[Block, ...]:
    """A string as the one text block that it means."""
    return (text_block(message.content),) if isinstance(message.content, str) and message.content else blocks_of(message)
