"""System-role messages and the system prompt, made legal for the target.

System-role messages stay where the model takes them; where it does not, the user says them (R32). A message that a model
cannot take becomes a text block, in constant tags, at the end of the user message right before it; without one, a user
message of its own. Clients only ever append such messages, so a history that grows is folded to one that grows; moving them
to `system` or into the first message would change the beginning with each new one. The first message of a request can be a
system message on no model (R19), unless it only sets the effort. An empty one is removed, and with the role goes what only
that role may have: a message's own `output_config`.

Clients of other dialects put such messages anywhere. Where a model takes them only between a user's turn and an answer, all
others are said by the user (R32).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import msgspec
from msgspec import UNSET, Raw, UnsetType

from clew.model.blocks import Block, Made, string_of, text_block
from clew.model.change import Change
from clew.model.origin import Target
from clew.model.request import Edited, Request, RequestMessage, blocks_of, with_blocks, with_content
from clew.pipeline.findings import findings_in
from clew.pipeline.step import Facts
from clew.pipeline.values import (
    block_path,
    is_blank_text,
    is_empty_text,
    is_nothing_but_blank,
    message_path,
    object_of,
    value_of,
)
from clew.wire.splice import apply, edit_array

STEP = "system_messages"

TAGS = ("<system-message>\n", "\n</system-message>")

ROLE = "this model has no system-role messages (R32)"
PLACE = "system messages must directly follow a user turn, and be last or be followed by an assistant turn (R32)"
HEAD = "the first message cannot be a system message (R19)"
EMPTY = "a system message must have content or output_config (R32)"
EMPTY_TEXT = "a text block must be non-empty (R22)"
BLANK = "a message must hold more than white space (R22)"
OUTPUT_CONFIG = "only a system-role message may have it (R32)"
NOT_TEXT = "only text can be in a user message (R32)"
EMPTY_PROMPT_TEXT = "a system text must be non-empty (R16)"
BLANK_PROMPT = "the system prompt must hold more than white space (R16)"


def system_messages(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    found = findings_in(request.messages).system
    if not found:
        return request, ()
    head = sum(1 for _ in takewhile(lambda message: message.role == "system", request.messages))
    in_place = frozenset(found) if request.source.native is None else _in_place(request.messages)
    done: list[RequestMessage] = []
    texts: list[Made] = []
    changes: list[Change] = []
    at = 0
    for index in found:
        message = request.messages[index]
        _add(done, texts, request.messages[at:index])
        at = index + 1
        is_first = index < head and not (message.content == () and _has_config(message))
        if not target.profile.system_messages or is_first:
            texts += _folded(request, index, changes, HEAD if target.profile.system_messages else ROLE)
        elif index not in in_place:
            texts += _folded(request, index, changes, PLACE)
        else:
            _add(done, texts, _kept(request, index, changes))
    _add(done, texts, request.messages[at:])
    _add_texts(done, texts)
    return request.with_messages(tuple(done)), tuple(changes)


def _add(done: list[RequestMessage], texts: list[Made], messages: Sequence[RequestMessage]) -> None:
    """Add messages, behind the texts that were folded into the message before them."""
    if messages:
        _add_texts(done, texts)
        done += messages


def _add_texts(done: list[RequestMessage], texts: list[Made]) -> None:
    """Add texts that lost their role to the user message before them, or as a message of their own."""
    if texts and done and done[-1].role == "user":
        before = done[-1].content
        blocks = (text_block(before),) if isinstance(before, str) and before else blocks_of(done[-1])
        done[-1] = with_content(done[-1], (*blocks, *texts))
    elif texts:
        done.append(Edited("user", tuple(texts)))
    texts.clear()


def _in_place(messages: Sequence[RequestMessage]) -> frozenset[int]:
    """The system messages that stand behind a user's turn, and before an answer or at the end."""
    found: list[int] = []
    waiting: list[int] = []
    before = ""
    for index, message in enumerate(messages):
        if message.role != "system":
            found += waiting if message.role == "assistant" else []
            waiting, before = [], message.role
        elif before == "user":
            waiting.append(index)
    return frozenset((*found, *waiting))


def _has_config(message: RequestMessage) -> bool:
    return any(value is not None for value in (object_of(message.output_config) or {}).values())


def _kept(request: Request, index: int, changes: list[Change]) -> tuple[RequestMessage, ...]:
    """The message without what is refused in it; none if then nothing is left."""
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
        return (message,)
    changes.append(Change(STEP, message_path(request, index), "removed", EMPTY))
    return ()


def _folded(request: Request, index: int, changes: list[Change], why: str) -> tuple[Made, ...]:
    """The text of a message that loses its role, in tags and with its cache mark; none if it has none."""
    message, path = request.messages[index], message_path(request, index)
    others = [block for block in blocks_of(message) if block.type != "text"]
    changes.extend(Change(STEP, block_path(request, index, block), "left out", NOT_TEXT) for block in others)
    if message.output_config is not UNSET:
        changes.append(Change(STEP, f"{path}.output_config", "removed", OUTPUT_CONFIG))
    if isinstance(message.content, str):
        texts, marks = [message.content], []
    else:
        blocks = [block for block in blocks_of(message) if block.type == "text"]
        texts = [string_of(block.text) for block in blocks if not (is_empty_text(block) or is_blank_text(block))]
        marks = [mark for block in blocks if (mark := value_of(block.cache_control)) is not None]
    joined = "\n\n".join(texts)
    if not joined.strip():
        changes.append(Change(STEP, path, "removed", EMPTY))
        return ()
    changes.append(Change(STEP, path, "moved", why))
    return (text_block(TAGS[0] + joined + TAGS[1], **({"cache_control": marks[-1]} if marks else {})),)


_prompt = msgspec.json.Decoder(str | list[Block])


def tidy_prompt(raw: Raw | UnsetType, *, step: str) -> tuple[Raw | UnsetType, tuple[Change, ...]]:
    """The system prompt without what is refused in it (R16), and the changes: empty texts, and a prompt of white space
    alone.

    An empty string and an empty list are legal and stay. So does a prompt of another kind, which the vendor refuses.
    """
    try:
        prompt = None if raw is UNSET else _prompt.decode(raw)
    except msgspec.DecodeError:
        return raw, ()
    if raw is UNSET or not prompt:
        return raw, ()
    empty = [] if isinstance(prompt, str) else [index for index, block in enumerate(prompt) if is_empty_text(block)]
    rest = prompt if isinstance(prompt, str) else tuple(block for block in prompt if not is_empty_text(block))
    if not rest or is_nothing_but_blank(rest):
        return UNSET, (Change(step, "system", "removed", BLANK_PROMPT),)
    if not empty:
        return raw, ()
    cut = Raw(apply(bytes(raw), edit_array(bytes(raw), drop=empty)))
    return cut, tuple(Change(step, f"system.{index}", "removed", EMPTY_PROMPT_TEXT) for index in empty)
