"""The response object around the items: what was asked for, how it ended, the usage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator.answers import ModelAnswer
from clew.simulator.openai_responses.items import OutputItem, OutputStep
from clew.simulator.openai_responses.judge.case import ResponsesCase
from clew.simulator.values import as_dict, objects_in

_REASONS: Final = {"max_tokens": "max_output_tokens", "content_filter": "content_filter", "steered": "steered"}
"""Why an answer is incomplete, by the model's reason to stop."""
_ECHOED: Final[tuple[tuple[str, JsonValue], ...]] = (
    ("instructions", None),
    ("max_output_tokens", None),
    ("max_tool_calls", None),
    ("metadata", {}),
    ("parallel_tool_calls", True),
    ("previous_response_id", None),
    ("prompt_cache_key", None),
    ("safety_identifier", None),
    ("service_tier", "default"),
    ("store", True),
    ("temperature", 1.0),
    ("tool_choice", "auto"),
    ("tools", []),
    ("top_logprobs", 0),
    ("top_p", 1.0),
    ("truncation", "disabled"),
    ("user", None),
)
"""Fields of the request that the response repeats, and what they are if the request is silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeResponse:
    """A whole answer, to be written as an object or as a stream."""

    id: str
    created: int
    case: ResponsesCase
    steps: tuple[OutputStep, ...]
    stop_reason: str
    usage: JsonObject | None

    @property
    def items(self) -> tuple[JsonObject, ...]:
        return tuple(step.item for step in self.steps if isinstance(step, OutputItem))

    @property
    def status(self) -> str:
        return "incomplete" if self.stop_reason in _REASONS else "completed"

    def begun(self, status: str = "in_progress") -> JsonObject:
        """The response before it has any item."""
        return self._written(status, [], None)

    def ended(self) -> JsonObject:
        """The response as it is in the end."""
        return self._written(self.status, [*self.items], self.usage)

    def _written(self, status: str, output: list[JsonValue], usage: JsonValue) -> JsonObject:
        body = self.case.body
        ended = status != "in_progress"
        reason: JsonValue = {"reason": _REASONS[self.stop_reason]} if status == "incomplete" else None
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "completed_at": self.created if status == "completed" else None,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": reason if ended else None,
            "model": self.case.model,
            "output": output,
            "reasoning": {"effort": None, "summary": None, **self.case.reasoning},
            "text": {"format": {"type": "text"}, "verbosity": "medium", **as_dict(body.get("text"))},
            **{name: value if (value := body.get(name)) is not None else default for name, default in _ECHOED},
            "usage": usage,
            **as_dict(msgspec.json.decode(self.case.vendor.extra)),
        }


def usage_of(answer: ModelAnswer, case: ResponsesCase, cached: int) -> JsonObject:
    """The `usage` of an answer. A scenario's numbers replace the counted ones."""
    given = answer.usage
    prompt, cached = given.get("input_tokens", case.tokens), given.get("cache_read_input_tokens", cached)
    marked = any("prompt_cache_breakpoint" in each for each in objects_in(case.body))
    written = given.get("cache_creation_input_tokens", prompt - cached if marked else 0)
    output = given.get("output_tokens", answer.output_tokens)
    reasoning = given.get("thinking_tokens", answer.thinking_tokens)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": prompt + output,
    }
