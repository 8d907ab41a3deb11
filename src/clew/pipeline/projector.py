"""A projector: the projection for one target, which does not look twice at what needs no change.

Most steps only look at a request's parameters: the mode of thinking, effort, sampling and the like. From one request of a
conversation to the next these are the same bytes, and for nearly every client they are what the target takes. So the
parameters that were once found in order are remembered, as bytes, and their steps are skipped. What is skipped is what
would have returned the request as it is, so the result is the same (a property test holds it to that). Messages are always
looked at; but a single question in words, without a system prompt, holds nothing that any step could be about, and a history
in which all is well holds nothing but thinking.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import attrgetter
from typing import TypeAlias

from msgspec import UNSET, Raw, UnsetType

from clew.model.past import all_of, folded
from clew.model.request import Message, Request
from clew.model.target import Target
from clew.pipeline.cache_marks import cache_marks
from clew.pipeline.context_edits import context_edits
from clew.pipeline.legal import is_well
from clew.pipeline.limits import answer_length, forced_tools
from clew.pipeline.normalise import has_tidy_prompt
from clew.pipeline.options import Options
from clew.pipeline.parameter import loop_parameter, thinking_parameter
from clew.pipeline.project import Projection, model_name, project, steps_for
from clew.pipeline.safeguards import safeguards
from clew.pipeline.sampling import sampling
from clew.pipeline.step import Facts, Step
from clew.pipeline.thinking import keep_thinking

__all__ = ["Projector", "is_question"]

MOST = 256
"""Sets of parameters to remember; a client has a handful."""

ABOUT_PARAMETERS: tuple[Step, ...] = (
    answer_length,
    thinking_parameter,
    sampling,
    forced_tools,
    context_edits,
    safeguards,
)
"""Steps whose outcome depends on the parameters alone, on the target, and on the options."""

_EMPTY = re.compile(rb"\s*\[\s*\]")
_Parameters: TypeAlias = tuple[object, ...]
_looked_at = attrgetter(
    *("max_tokens", "thinking", "output_config", "tool_choice", "temperature", "top_p", "top_k"),
    *("context_management", "safeguards"),
)


class Projector:
    """Belongs to one target and one set of options."""

    def __init__(self, target: Target, options: Options) -> None:
        self._target = target
        self._steps = steps_for(target)
        self._mending = tuple(step for step in self._steps if step not in (*ABOUT_PARAMETERS, keep_thinking))
        self._in_order: set[_Parameters] = set()
        self.is_about_form = options.cache is None and options.budget is None
        """Whether all that is done about a question (`is_question`) follows from what stands around it: no step reads its
        words, or puts a mark on it."""
        self._remembers = self.is_about_form and cache_marks in self._steps

    def project(self, request: Request, facts: Facts) -> Projection:
        """As `clew.pipeline.project.project` does."""
        known = self._remembers and _may_be_known(request)
        asked = _parameters(request, facts) if known else ()
        in_order = known and asked in self._in_order
        if in_order and request.body.system is UNSET and is_question(request.messages):
            return Projection(*model_name(request, self._target, facts))
        if in_order and _is_still(loop_parameter, request, self._target, facts):
            return self._project_messages(request, facts)
        projected = project(request, self._target, facts, steps=self._steps)
        if known and self._all_still(request, facts):
            self._remember(asked)
        return projected

    def _project_messages(self, request: Request, facts: Facts) -> Projection:
        """The same where all about the parameters is in order."""
        going, changes = keep_thinking(request, self._target, facts)
        if going is request and self._target.binding and has_tidy_prompt(request) and is_well(request.messages):
            return Projection(*model_name(request, self._target, facts))
        mended = project(going, self._target, facts, steps=self._mending)
        return Projection(mended.request, (*changes, *mended.changes))

    def _all_still(self, request: Request, facts: Facts) -> bool:
        """Whether none of the steps about parameters has anything to do."""
        return all(_is_still(step, request, self._target, facts) for step in ABOUT_PARAMETERS)

    def _remember(self, asked: _Parameters) -> None:
        if len(self._in_order) >= MOST:
            self._in_order.clear()
        self._in_order.add(asked)


def _is_still(step: Step, request: Request, target: Target, facts: Facts) -> bool:
    return step(request, target, facts)[0] is request


def is_question(messages: Sequence[Message]) -> bool:
    """Nothing but one message of words, in which no step finds anything to do, whichever words they are."""
    if len(messages) != 1 or messages[0].output_config is not UNSET:
        return False
    content = messages[0].content
    return messages[0].role == "user" and isinstance(content, str) and bool(content) and not content.isspace()


def _may_be_known(request: Request) -> bool:
    """A message that sets an effort of its own has to be looked at."""
    return folded(request.messages, _SET_NOTHING)


def _set_nothing(messages: Sequence[Message]) -> bool:
    return all([message.output_config is UNSET for message in messages])  # noqa: C419  (a list is faster than a generator)


_SET_NOTHING = all_of(_set_nothing)


def _parameters(request: Request, facts: Facts) -> _Parameters:
    body = request.body
    given: tuple[Raw | UnsetType, ...] = _looked_at(body)
    told = tuple([None if raw is UNSET else bytes(raw) for raw in given])
    return told, _is_empty(body.tools), request.betas, facts.version


def _is_empty(tools: Raw | UnsetType) -> bool:
    return tools is UNSET or _EMPTY.match(memoryview(tools)) is not None
