"""Generated requests that are wrong in the ways that the steps repair, and in no other."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from clew.model.facts import models
from tests.build import assistant, redacted, text, thinking, tool_result, tool_use, user

Json = dict[str, Any]

MODELS = sorted(name for name, facts in models().items() if not facts.retired)

_ids = st.sampled_from(["A", "B", "C", "D"])
_texts = st.sampled_from(["ok", "more words", "", " ", "\n\t", "ultrathink"]).map(text)
_calls = _ids.map(lambda id: tool_use(id, command="ls"))
_results = st.builds(tool_result, _ids, st.sampled_from(["done", "", [text("seen")], [text("")], [text("a"), text("b")]]))
_thinking = st.sampled_from([thinking("hmm"), thinking("", "signed"), redacted("abc")])
_marked = st.sampled_from([thinking("hmm") | {"cache_control": {"type": "ephemeral"}}])

_user = st.one_of(
    st.lists(_texts | _results, max_size=4).map(lambda blocks: user(*blocks)),
    st.sampled_from(["hello", "", " "]).map(lambda words: {"role": "user", "content": words}),
)
_assistant = st.one_of(
    st.lists(_texts | _calls | _thinking | _marked, max_size=5).map(lambda blocks: assistant(*blocks)),
    st.sampled_from(["hello", ""]).map(lambda words: {"role": "assistant", "content": words}),
)
_system = st.one_of(
    st.sampled_from(["be kind", "", "  "]).map(lambda words: {"role": "system", "content": words}),
    st.lists(_texts, max_size=2).map(lambda blocks: {"role": "system", "content": blocks}),
    st.sampled_from(["low", "max"]).map(lambda level: {"role": "system", "content": [], "output_config": {"effort": level}}),
)
_turn = st.tuples(
    st.lists(_user, min_size=1, max_size=2), st.lists(_system, max_size=2), st.lists(_assistant, min_size=1, max_size=2)
)


def _joined(turns: list[tuple[list[Json], list[Json], list[Json]]], end: list[Json], note: list[Json]) -> list[Json]:
    return [message for turn in turns for part in turn for message in part] + end + note


histories = st.builds(
    _joined, st.lists(_turn, max_size=4), st.lists(_user, min_size=1, max_size=2), st.lists(_system, max_size=1)
)
"""Messages that end with the user's, or with a system message behind them."""

_odd_answer = st.lists(_texts | _calls | _results | _thinking, max_size=5).map(lambda blocks: assistant(*blocks))
wild_histories = st.builds(
    lambda messages, end: [*messages, end], st.lists(_user | _assistant | _odd_answer | _system, max_size=7), _user
)
"""Messages of any role anywhere, results in answers among them."""

_edit = st.sampled_from([{"type": "clear_thinking_20251015", "keep": "all"}, {"type": "clear_tool_uses_20250919"}])
_thinking_settings = st.one_of(
    st.sampled_from([{"type": "adaptive"}, {"type": "disabled"}, {"type": "between_tools"}]),
    st.sampled_from([{"type": "adaptive", "display": "omitted"}, {"type": "disabled", "display": "omitted"}]),
    st.integers(-1, 200_000).map(lambda budget: {"type": "enabled", "budget_tokens": budget}),
)
_optional = st.fixed_dictionaries(
    {},
    optional={
        "thinking": _thinking_settings,
        "output_config": st.sampled_from(["low", "medium", "high", "xhigh", "max"]).map(lambda level: {"effort": level}),
        "context_management": st.lists(_edit, max_size=2, unique_by=str).map(lambda edits: {"edits": edits}),
        "temperature": st.sampled_from([0, 0.5, 1]),
        "top_p": st.sampled_from([0.5, 0.99, 1]),
        "top_k": st.sampled_from([1, 40]),
        "system": st.sampled_from(["", " ", "be kind", [text("")], [text("a"), text(""), text(" ")]]),
    },
)
settings_of = st.builds(
    lambda optional, max_tokens: {**optional, "max_tokens": max_tokens},
    _optional,
    st.sampled_from([1, 1024, 1025, 8000, 64_000, 128_000, 200_000]),
)
"""The other fields of a request: whatever a client for another model might set."""
