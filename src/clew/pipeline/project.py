"""The projection: the history as one target gets it, and why it differs.

`project(request, target, facts)` is pure: the same values in, the same bytes out. The steps are a plain tuple, read from
top to bottom; each is a small pure function that returns the request and what it changed. Towards Claude from a client of
Claude almost nothing changes, and then nothing is written again.
"""

from __future__ import annotations

import json

from msgspec import Struct

from clew.errors import RequestInvalid
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.origin import Target
from clew.model.request import Request
from clew.pipeline.cache_marks import cache_marks
from clew.pipeline.context_edits import context_edits
from clew.pipeline.normalise import normalise
from clew.pipeline.parameters import answer_form, answer_length, forced_tools, safeguards, sampling, stop_words
from clew.pipeline.step import Facts, Step
from clew.pipeline.system import system_messages
from clew.pipeline.thinking import keep_thinking
from clew.pipeline.thinking_budget import thinking_budget
from clew.pipeline.thinking_order import thinking_first
from clew.pipeline.thinking_parameter import loop_parameter, thinking_parameter
from clew.pipeline.tool_calls import maker_ids
from clew.pipeline.tool_structure import tool_structure
from clew.wire.requests import encode, parse


class Projection(Struct, frozen=True, eq=False):
    """The request for the backend, and every change with its reason.

    >>> from clew import Target, profile_for
    >>> claude = Target(backend="claude", model="claude-opus-5-5", profile=profile_for("claude-opus-5-5"))
    >>> body = b'{"model": "claude-opus-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}'
    >>> projection = project(body, claude)
    >>> projection.body == body, projection.changes
    (True, ())
    """

    request: Request
    changes: tuple[Change, ...] = ()

    @property
    def body(self) -> bytes:
        """The bytes to send: the client's own, but for what the changes name."""
        return encode(self.request)


def default_steps() -> tuple[Step, ...]:
    """The steps in their order. Thinking is settled first, on the client's own messages; what follows depends on it."""
    return (
        thinking_budget,  #     only if asked: a budget from keywords or the environment
        keep_thinking,  #       keep, restore, hand over or leave out each block
        thinking_first,  #      only if asked: unsigned thinking in front of a message that calls tools
        normalise,  #           empty content (R22), trailing thinking of the last message (R37)
        system_messages,  #     folded where the model has none (R32)
        tool_structure,  #      every call answered, every result answering (R25–R29)
        answer_length,  #       max_tokens within the model's cap (R7)
        thinking_parameter,  #  the mode, effort and display that the model takes (R9–R12)
        loop_parameter,  #      manual thinking off where the open loop cannot begin with it (R35, R38)
        answer_form,  #         a schema for the answer of clients of other dialects, where it is not taken
        stop_words,  #          blank ones of clients of other dialects (R15)
        sampling,  #            temperature and the like, where they would be refused (R13, R14)
        forced_tools,  #        tool_choice, where it would be refused (R49)
        cache_marks,  #         only if asked: breakpoints on the last two messages
        context_edits,  #       only if asked: keep all thinking in context
        safeguards,  #          Anthropic's own field, to Anthropic alone
        maker_ids,  #           tool ids as their maker gave them
        model_name,  #          what the backend calls its model
    )


def steps_for(target: Target) -> tuple[Step, ...]:
    """The steps towards one target. Parameters of another dialect are settled where they are written in its words."""
    return default_steps() if target.dialect == "anthropic" else _TRANSLATED


def model_name(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: the name by which the backend knows the model that was chosen."""
    if request.body.model == target.model:
        return request, ()
    change = Change("model", "model", "set", f"{target.backend} serves {target.model!r}")
    return request.with_fields(model=target.model), (change,)


_TRANSLATED: tuple[Step, ...] = (
    thinking_budget,
    keep_thinking,
    thinking_first,
    normalise,
    tool_structure,
    maker_ids,
    model_name,
)
"""In the same order: what is about the conversation, and not about the Messages API."""


def project(
    request: Request | bytes | JsonObject,
    target: Target,
    facts: Facts | None = None,
    *,
    steps: tuple[Step, ...] | None = None,
) -> Projection:
    """Convert the request to the form for this target. Raises RequestInvalid for a request that cannot be read or safely
    edited.

    >>> from clew import Target, profile_for
    >>> thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    >>> request = {
    ...     "model": "glm-5",
    ...     "max_tokens": 100,
    ...     "messages": [
    ...         {"role": "user", "content": "Hello"},
    ...         {"role": "assistant", "content": [thought, {"type": "text", "text": "Hi."}]},
    ...         {"role": "user", "content": "And?"},
    ...     ],
    ... }
    >>> glm = Target(backend="glm", model="glm-5", profile=profile_for("glm-5"), realm="glm")
    >>> [(change.path, change.what) for change in project(request, glm).changes]
    [('messages.1.content.0', 'left out')]
    """
    facts = facts or Facts()
    if isinstance(request, dict):
        try:  # the standard writer refuses values that JSON does not have instead of writing null
            request = json.dumps(request, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise RequestInvalid(f"the request cannot be written as JSON: {error}") from None
    if isinstance(request, bytes):
        request = parse(request)
    changes: list[Change] = []
    check = request.source.wanted.check
    for step in steps_for(target) if steps is None else steps:
        check()
        request, made = step(request, target, facts)
        if made:
            changes.extend(made)
    return Projection(request, tuple(changes))
