"""Profiles: any name of a model finds its row, and the user's rows go on top."""

from __future__ import annotations

import time

import pytest

from clew.errors import SettingsInvalid
from clew.model.facts import models
from clew.model.facts.models import canonical_model, merge_overrides, profile_for, reads

NAMES = [
    ("claude-opus-5-5", "claude-opus-5-5"),
    ("claude-opus-5-5[1m]", "claude-opus-5-5"),
    ("claude-opus-5-5-20260801", "claude-opus-5-5"),
    ("claude-opus-5-5-20260801[1m]", "claude-opus-5-5"),
    ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
    ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
    ("claude-opus-5@default", "claude-opus-5"),
    ("claude-sonnet-4.5", "claude-sonnet-4-5"),
    ("Claude-Sonnet-4.5", "claude-sonnet-4-5"),
    (" claude-sonnet-4-5 ", "claude-sonnet-4-5"),
    ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
    ("openrouter/anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
    ("openrouter/anthropic/claude-sonnet-4.5:thinking", "claude-sonnet-4-5"),
    ("bedrock/anthropic.claude-opus-4-8", "claude-opus-4-8"),
    ("anthropic.claude-opus-4-8", "claude-opus-4-8"),
    ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
    ("arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-4-1"),
    ("vertex_ai/claude-opus-4-6@20260205", "claude-opus-4-6"),
    ("publishers/anthropic/models/claude-sonnet-5", "claude-sonnet-5"),
    ("claude-sonnet-4-20250514", "claude-sonnet-4"),
    ("claude-opus-4-0", "claude-opus-4"),
    ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
    ("claude-3.7-sonnet", "claude-3-7-sonnet"),
    ("claude-3-5-haiku-20241022", "claude-3-5-haiku"),
]


@pytest.mark.parametrize(("name", "model"), NAMES)
def test_every_name_of_a_model_finds_its_row(name: str, model: str) -> None:
    """Design, "reader": the id without date, platform prefix and suffixes."""
    assert canonical_model(name) == model
    assert profile_for(name) == models()[model]


@pytest.mark.parametrize("model", [name for name in models() if name != "unknown"])
def test_a_canonical_name_is_its_own(model: str) -> None:
    """Idempotent, for every row."""
    assert canonical_model(model) == model
    assert profile_for(model).known


@pytest.mark.parametrize(
    "name",
    ["claude-" + "[" * 60_000, ".claude-" * 8000 + "/", "[" * 60_000, "claude" + "-v1" * 20_000, "x" + "-a" * 200_000],
)
def test_a_text_that_is_too_long_for_a_name_is_not_taken_apart(name: str) -> None:
    """Clients choose it: nobody may hold up the others with a name."""
    began = time.thread_time()
    assert (canonical_model(name), profile_for(name).id) == (name, name)
    assert time.thread_time() - began < 10


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("qwen3-32b", "qwen3-32b"),
        ("gpt-5-2025-08-07", "gpt-5-2025-08-07"),
        ("x-ai/grok-code-fast-1", "x-ai/grok-code-fast-1"),
        ("unknown", "unknown"),
        ("", ""),
        ("my-claude-opus-5", "my-claude-opus-5"),
        ("claude-opus-5-7", "claude-opus-5-7"),
        ("claude-opus-4-9-20270101", "claude-opus-4-9"),
        ("claude-opus-6", "claude-opus-6"),
    ],
)
def test_a_name_that_no_row_fits_gets_the_unknown_profile_under_its_own_id(name: str, model: str) -> None:
    """clients.md 1.3; a new version number is another model, never an older one's profile."""
    profile = profile_for(name)
    assert profile.id == model
    assert not profile.known
    assert (profile.thinking, profile.effort_default) == (models()["unknown"].thinking, "high")


def test_a_variant_has_the_most_specific_rows_facts_and_its_own_id() -> None:
    """A word at the end is not a version."""
    profile = profile_for("claude-opus-5-5-fast")
    assert (profile.id, profile.known, profile.effort_default) == ("claude-opus-5-5-fast", True, "medium")


# ── reading


@pytest.mark.parametrize("model", list(models()))
def test_a_model_reads_its_own_thinking(model: str) -> None:
    """R43."""
    assert reads(profile_for(model), model)


PAIRS = [
    ("claude-fable-5-1", "claude-mythos-5-1", True),
    ("claude-mythos-5-1", "claude-fable-5-1", True),
    ("claude-fable-5-1", "claude-fable-5", True),
    ("claude-fable-5-1", "claude-opus-5", True),
    ("claude-fable-5-1", "claude-opus-5-5", True),
    ("claude-fable-5-1", "claude-sonnet-5-5", False),
    ("claude-fable-5-1", "claude-fable-5-2", False),
    ("claude-opus-5-5", "claude-opus-5", True),
    ("claude-opus-5-5", "claude-sonnet-5", True),
    ("claude-opus-5-5", "claude-haiku-4-5", True),
    ("claude-opus-5-5", "claude-sonnet-5-5", True),
    ("claude-opus-5-5", "claude-fable-5", False),
    ("claude-opus-5-5", "claude-mythos-preview", False),
    ("claude-opus-5-5", "claude-fable-5-1", False),
    ("claude-opus-5-5", "claude-haiku-5-5", False),
    ("claude-sonnet-5-5", "claude-sonnet-5", True),
    ("claude-sonnet-5-5", "claude-opus-4-8", True),
    ("claude-sonnet-5-5", "claude-3-7-sonnet", True),
    ("claude-sonnet-5-5", "claude-opus-5", False),
    ("claude-sonnet-5-5", "claude-opus-5-5", False),
    ("claude-sonnet-5-5", "claude-fable-5", False),
    ("claude-opus-4-8", "claude-opus-4-7", False),
    ("claude-opus-5", "claude-sonnet-5", False),
    ("claude-haiku-5-5", "claude-sonnet-5-5", False),
    ("claude-opus-5-5", "qwen3-32b", False),
    ("qwen3-32b", "claude-opus-5-5", False),
]


@pytest.mark.parametrize(("reader", "other", "expected"), PAIRS)
def test_who_reads_whose_thinking(reader: str, other: str, expected: bool) -> None:
    """R43; a pair that nobody published counts as not read (design §4)."""
    assert reads(profile_for(reader), other) is expected


def test_reading_does_not_depend_on_how_a_model_is_named() -> None:
    """The origin holds the name that a backend gave."""
    assert reads(profile_for("anthropic/claude-opus-5.5"), "us.anthropic.claude-opus-5-20260801-v1:0")


# ── the user's rows


def test_a_users_table_changes_a_row_and_leaves_the_others() -> None:
    """Issue: users can override and add rows."""
    rows = merge_overrides({"claude-opus-5-5": {"others_after_last": "leave", "max_tokens": 64000}})
    profile = profile_for("claude-opus-5-5[1m]", rows)
    assert (profile.others_after_last, profile.max_tokens, profile.effort_default) == ("leave", 64000, "medium")
    assert profile.reads == models()["claude-opus-5-5"].reads
    assert profile.source == "settings"
    assert {name: rows[name] for name in models() if name != "claude-opus-5-5"} == {
        name: row for name, row in models().items() if name != "claude-opus-5-5"
    }
    assert profile_for("claude-opus-5-5").others_after_last == "keep"


def test_a_users_table_adds_a_row_that_is_like_another() -> None:
    """`as` names what the rest is like; lines and ages can be used for `reads`."""
    rows = merge_overrides(
        {"claude-opus-6": {"as": "claude-opus-5-5", "released": 30, "reads": ["opus", "sonnet<=claude-sonnet-5"]}}
    )
    profile = profile_for("claude-opus-6-20270101", rows)
    assert (profile.id, profile.known, profile.prefix_check, profile.retired) == ("claude-opus-6", True, True, False)
    assert reads(profile, "claude-opus-5.5", rows)
    assert reads(profile, "claude-sonnet-4-6", rows)
    assert not reads(profile, "claude-sonnet-5-5", rows)


def test_a_users_table_without_a_model_to_be_like_is_like_the_unknown_one() -> None:
    """Another vendor's model needs only what is special about it; its name may be written with or without its vendor."""
    rows = merge_overrides({"grok-code-fast-1": {"max_tokens": 10000, "thinking": ["disabled"]}})
    profile = profile_for("x-ai/grok-code-fast-1", rows)
    assert (profile.id, profile.known, profile.max_tokens) == ("x-ai/grok-code-fast-1", True, 10000)
    assert (profile.thinking, profile.effort_default) == (("disabled",), "high")


def test_a_model_like_a_retired_one_is_not_retired() -> None:
    """Nor does it have the other's names."""
    profile = profile_for("opus-at-home", merge_overrides({"opus-at-home": {"as": "claude-opus-4"}}))
    assert (profile.retired, profile.match, profile.overflow) == (False, (), "reject")


def test_a_users_row_can_give_a_model_other_names() -> None:
    """`match`: then they all are one reader."""
    rows = merge_overrides({"claude-opus-5-5": {"match": ["company-model"]}})
    assert canonical_model("company-model", rows) == "claude-opus-5-5"
    assert profile_for("company-model", rows) == rows["claude-opus-5-5"]


def test_the_unknown_row_can_be_changed_too() -> None:
    """For those whose other models do not take system messages."""
    rows = merge_overrides({"unknown": {"system_messages": False}})
    profile = profile_for("qwen3-32b", rows)
    assert (profile.id, profile.known, profile.system_messages) == ("qwen3-32b", False, False)


@pytest.mark.parametrize(
    ("tables", "key", "says"),
    [
        ({"m": {"thinkng": []}}, "m.thinkng", "unknown field `thinkng`"),
        ({"m": {"thinking": ["sometimes"]}}, "m.thinking[0]", "Invalid enum value 'sometimes'"),
        ({"m": {"max_tokens": "many"}}, "m.max_tokens", "Expected `int`, got `str`"),
        ({"m": {"as": "claude-opus-99"}}, "m.as", "there is no model 'claude-opus-99'"),
        ({"m": {"as": "m"}}, "m.as", "m as m goes in a circle"),
        ({"m": {"reads": ["opera"]}}, "m.reads", "no model or line 'opera'"),
        ({"m": {"reads": ["opus<=claude-opus-99"]}}, "m.reads", "no model or line 'opus<=claude-opus-99'"),
        ({"m": {"id": "n"}}, "m.id", "the table's name says it"),
        ({"m": {"known": True}}, "m.known", "the table's name says it"),
        ({"m": 3}, "m", "expected a table"),
    ],
)
def test_a_mistake_in_a_users_table_is_named_by_its_key(tables: dict[str, object], key: str, says: str) -> None:
    """The message names file and key, and says what is wrong."""
    with pytest.raises(SettingsInvalid) as caught:
        merge_overrides(tables, file="clew.toml")
    assert (caught.value.file, caught.value.key) == ("clew.toml", key)
    assert str(caught.value).startswith("clew.toml: m")
    assert says in str(caught.value)
