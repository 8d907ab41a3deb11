"""The table of models: the book's matrix, what a row takes over, what an unknown name gets."""

from __future__ import annotations

import pytest

from clew.errors import SettingsInvalid
from clew.model.facts import models
from clew.model.facts.models import resolve

EFFORTS = ("low", "medium", "high", "xhigh", "max")


def test_an_empty_cell_is_as_the_siblings() -> None:
    """Design, "profile": what a row leaves out is as in the one that it is `as`."""
    own = models()["claude-opus-5"]
    assert (own.display_default, own.sampling, own.max_tokens) == ("omitted", "reject", 128000)
    assert models()["claude-haiku-5-5"].forced_tools == "reject"


def test_what_a_model_is_and_where_it_is_from_is_never_taken_over() -> None:
    """Retired, disputed, its other names and its source are a row's own."""
    haiku = models()["claude-3-5-haiku"]
    assert (haiku.match, haiku.retired, haiku.line) == (("claude-haiku-3-5",), True, "haiku")
    assert not models()["claude-sonnet-4-5"].disabled_disputed
    assert not models()["claude-fable-5-2"].prefix_check_disputed
    assert all(row.source and row.date for row in models().values())


MATRIX = """
    model           thinking                   omitted effort  default sampling forced           prefill prior     prefix account out
    fable-5-2       adaptive                   always  low…max high    reject   reject           reject  all       yes    no      128000
    mythos-5-2      adaptive                   always  low…max high    reject   reject           reject  all       yes    no      128000
    fable-5-1       adaptive                   always  low…max high    reject   reject           reject  all       yes    no      128000
    mythos-5-1      adaptive                   always  low…max high    reject   reject           reject  all       yes    no      128000
    fable-5         adaptive                   always  low…max high    reject   accept           reject  all       no     no      128000
    mythos-5        adaptive                   always  low…max high    reject   accept           reject  all       no     no      128000
    mythos-preview  adaptive,enabled           always  -xhigh  high    reject   reject           reject  all       no     no      128000
    opus-5-5        adaptive                   always  low…max medium  reject   reject           reject  all       yes    no      128000
    opus-5          adaptive,disabled          on      low…max high    reject   accept           reject  all       no     no      128000
    opus-4-8        adaptive,disabled          off     low…max high    reject   accept           reject  all       no     no      128000
    opus-4-7        adaptive,disabled          off     low…max high    reject   accept           reject  all       no     no      128000
    opus-4-6        adaptive,enabled,disabled  off     -xhigh  high    accept   with_adaptive    reject  all       no     no      128000
    opus-4-5        enabled,disabled           off     to-high high    accept   not_with_enabled accept  all       no     no      64000
    sonnet-5-5      adaptive,between_tools     on      low…max high    reject   reject           reject  all       yes    yes     128000
    sonnet-5        adaptive,disabled          on      low…max high    reject   accept           reject  all       no     no      128000
    sonnet-4-6      adaptive,enabled,disabled  off     -xhigh  high    accept   with_adaptive    reject  all       no     no      128000
    sonnet-4-5      enabled,disabled           off     none    -       accept   not_with_enabled accept  last_turn no     no      64000
    haiku-5-5       adaptive,disabled          on      low…max medium  reject   reject           reject  all       yes    yes     128000
    haiku-4-5       enabled,disabled           off     none    -       accept   not_with_enabled accept  last_turn no     no      64000
    opus-4-1        enabled,disabled           off     none    -       accept   not_with_enabled accept  last_turn no     no      32000
    sonnet-4        enabled,disabled           off     none    -       accept   not_with_enabled accept  last_turn no     no      64000
    3-7-sonnet      enabled,disabled           off     none    -       accept   not_with_enabled accept  last_turn no     no      64000
"""
LEVELS = {
    EFFORTS: "low…max",
    ("low", "medium", "high", "max"): "-xhigh",
    ("low", "medium", "high"): "to-high",
    (): "none",
}


@pytest.mark.parametrize("row", MATRIX.strip().splitlines()[1:], ids=lambda row: row.split()[0])
def test_the_matrix_is_the_books(row: str) -> None:
    """R6, typed in a second time."""
    cells = row.split()
    facts = models()[f"claude-{cells[0]}"]
    assert cells[1:] == [
        ",".join(facts.thinking),
        facts.thinking_default,
        LEVELS[facts.effort],
        facts.effort_default or "-",
        facts.sampling,
        facts.forced_tools,
        "accept" if facts.prefill else "reject",
        facts.prior_thinking,
        "yes" if facts.prefix_check else "no",
        "yes" if facts.account_bound else "no",
        str(facts.max_tokens),
    ]


def test_the_smaller_columns_are_the_books() -> None:
    """R6, R14, R32, R36, R38, R40: the models that differ from the rest."""

    def having(column: str, value: object) -> set[str]:
        return {name.removeprefix("claude-") for name, row in models().items() if getattr(row, column) == value}

    assert having("disabled_max_effort", "high") == {"opus-5", "haiku-5-5"}
    assert having("between_tools_max_effort", "high") == {"sonnet-5-5"}
    assert having("disabled_disputed", True) == {"opus-4-7", "opus-4-8", "opus-5", "sonnet-5"}
    assert having("prefix_check_disputed", True) == {"mythos-5-1"}
    assert having("temperature_and_top_p", False) == {"opus-4-5", "opus-4-6", "sonnet-4-5", "sonnet-4-6", "haiku-4-5"}
    assert having("interleaved", "beta") == {
        "opus-4-5", "sonnet-4-5", "sonnet-4-6", "opus-4-1", "opus-4", "sonnet-4", "unknown"
    }  # fmt: skip
    assert having("retired", True) == {"opus-4-1", "opus-4", "sonnet-4", "3-7-sonnet", "3-5-haiku"}
    assert having("system_messages", True) == {
        "fable-5-2", "mythos-5-2", "fable-5-1", "mythos-5-1", "fable-5", "mythos-5", "opus-5-5", "opus-5", "opus-4-8",
        "sonnet-5-5", "haiku-5-5", "unknown",
    }  # fmt: skip
    assert having("legacy_texts", ("R36", "R38")) == {
        "opus-4-5", "sonnet-4-5", "haiku-4-5", "opus-4-1", "opus-4", "sonnet-4", "3-7-sonnet"
    }  # fmt: skip
    assert having("structured", False) == {"opus-4", "sonnet-4", "3-7-sonnet", "3-5-haiku", "unknown"}
    assert having("overflow", "reject") == {"opus-4-1", "opus-4", "sonnet-4", "3-7-sonnet", "3-5-haiku"}


def test_reads_names_other_models_only() -> None:
    """R43: a model's own thinking needs no entry, whatever line or age an entry covers."""
    assert {name for name, row in models().items() if name in row.reads} == set()
    assert {other for row in models().values() for other in row.reads} <= set(models())


def test_levels_are_listed_in_their_order() -> None:
    """Comparing with a limit needs one order."""
    for row in models().values():
        assert [*row.effort] == [level for level in EFFORTS if level in row.effort]
        assert row.effort_default in (*row.effort, "")


def test_an_unknown_model_is_what_claude_code_takes_it_for() -> None:
    """clients.md 1.3: adaptive, effort high, 32000, system messages; and no cap that we do not know."""
    row = models()["unknown"]
    assert ("adaptive" in row.thinking, row.effort_default, row.max_tokens_usual, row.system_messages) == (
        True,
        "high",
        32000,
        True,
    )
    assert (row.max_tokens, row.context, row.known) == (0, 0, False)


def test_rows_that_are_as_each_other_are_refused() -> None:
    """A circle has no beginning."""
    with pytest.raises(SettingsInvalid, match="a as b as a goes in a circle") as caught:
        resolve({"a": {"as": "b"}, "b": {"as": "a"}}, {}, file="x.toml")
    assert (caught.value.file, caught.value.key) == ("x.toml", "b.as")
