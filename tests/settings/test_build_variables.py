"""MAX_THINKING_TOKENS and DISABLE_PROMPT_CACHING: settings without a file, and outranked by one."""

from pathlib import Path

import pytest

from clew.pipeline.step import CacheRules
from clew.settings.load import Loaded, load
from clew.settings.schema import entries_of
from clew.thinking.budgets import BudgetRules
from tests.manifest import proves


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "clew.toml"


def read(file: Path, text: str, **environ: str) -> Loaded:
    file.write_text(text or "active = 'claude'\n")
    return load(file, environ)


@proves("req:S0-29")
def test_a_budget_by_variable_needs_no_file(tmp_path: Path) -> None:
    loaded = load(None, {"CLEW_HOME": str(tmp_path), "MAX_THINKING_TOKENS": "5000"})
    assert loaded.settings.build.budget == BudgetRules(variable="5000")
    assert [each.says for each in loaded.variables] == [
        "MAX_THINKING_TOKENS=5000: a thinking budget of 5000 tokens, where a request leaves thinking open"
    ]
    assert loaded.warnings == ()
    [entry] = [each for each in entries_of(loaded) if each.key == "build.budget.variable"]
    assert (entry.value, entry.origin) == ("5000", "environment: MAX_THINKING_TOKENS")


@proves("req:S0-29")
@pytest.mark.parametrize(
    ("text", "variable", "does"),
    [
        ("[build.budget]\ndefault = 9", "5000", "a thinking budget of 5000 tokens, where a request leaves thinking open"),
        ('[build.budget]\nvariable = "7"', "7", "not used, since `[build.budget] variable` says otherwise"),
        ('[build.budget]\nvariable = ""', "", "not used, since `[build.budget] variable` says otherwise"),
    ],
)
def test_what_the_file_says_outranks_the_variable(file: Path, text: str, variable: str, does: str) -> None:
    loaded = read(file, text, MAX_THINKING_TOKENS="5000")
    assert loaded.settings.build.budget is not None
    assert loaded.settings.build.budget.variable == variable
    assert [each.does for each in loaded.variables] == [does]


def test_the_environment_can_be_left_out(file: Path) -> None:
    loaded = read(file, "[build]\nenvironment = false\ncache = {}", MAX_THINKING_TOKENS="5000", DISABLE_PROMPT_CACHING="1")
    assert (loaded.settings.build.budget, loaded.settings.build.cache) == (None, CacheRules())
    assert {each.does for each in loaded.variables} == {"not used, since `[build] environment` is false"}


@proves("req:S0-30", "req:S0-31")
@pytest.mark.parametrize("value", ["0", "-5"])
def test_zero_and_less_ask_for_nothing(file: Path, value: str) -> None:
    loaded = read(file, "", MAX_THINKING_TOKENS=value)
    assert loaded.settings.build.budget == BudgetRules(variable=value)
    assert [each.does for each in loaded.variables] == ["no thinking is asked for, where a request leaves thinking open"]
    assert read(file, "", MAX_THINKING_TOKENS="").settings.build.budget is None


@proves("req:S0-32")
@pytest.mark.parametrize("text", ["", '[build.budget]\nvariable = "abc"'])
def test_a_value_that_is_no_number_is_one_warning_that_names_the_variable(file: Path, text: str) -> None:
    """S0-32: from the environment and from the file."""
    loaded = read(file, text, **({} if text else {"MAX_THINKING_TOKENS": "abc"}))
    [warning] = loaded.warnings
    assert warning.startswith("MAX_THINKING_TOKENS='abc' is not a number: no thinking is asked for")
    assert [each.is_bad for each in loaded.variables] == ([] if text else [True])


@proves("req:S0-23")
@pytest.mark.parametrize(
    ("environ", "rules"),
    [
        ({"DISABLE_PROMPT_CACHING": "1"}, CacheRules(ttl="1h", off=True, off_for=("haiku",))),
        ({"DISABLE_PROMPT_CACHING": "TRUE "}, CacheRules(ttl="1h", off=True, off_for=("haiku",))),
        ({"DISABLE_PROMPT_CACHING": "0"}, CacheRules(ttl="1h", off_for=("haiku",))),
        ({"DISABLE_PROMPT_CACHING_OPUS": "yes"}, CacheRules(ttl="1h", off_for=("haiku", "opus"))),
    ],
)
def test_marks_are_switched_off_by_variables(file: Path, environ: dict[str, str], rules: CacheRules) -> None:
    """S0-23: beside what the file switches off."""
    loaded = read(file, '[build.cache]\nttl = "1h"\noff_for = ["haiku"]', **environ)
    assert loaded.settings.build.cache == rules
    assert [each.name for each in loaded.variables] == [name for name, value in environ.items() if value != "0"]


def test_without_rules_for_marks_there_is_nothing_to_switch_off(file: Path) -> None:
    loaded = read(file, "", DISABLE_PROMPT_CACHING="1", DISABLE_PROMPT_CACHING_HAIKU="1")
    assert loaded.settings.build.cache is None
    assert [each.says for each in loaded.variables] == [
        "DISABLE_PROMPT_CACHING=1: no cache marks are added",
        "DISABLE_PROMPT_CACHING_HAIKU=1: no cache marks are added for haiku models",
    ]
