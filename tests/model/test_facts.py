"""The tables of rules and stances: complete, well formed, consistent; and tables are read strictly."""

from __future__ import annotations

import re
import string

import pytest

from clew.errors import SettingsInvalid
from clew.model.facts import PHASES, Beta, Rule, Shape, default_stances, path_order, rules, stances
from clew.model.facts.failures import thinking_refusals
from clew.model.facts.tables import to_row, to_rows
from tests.manifest import proves

ORDER = {phase: n for n, phase in enumerate(PHASES)}
NAMES_OF_PATHS = {"i", "j", "k", "mode", "tag"}


def placeholders(template: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]


# ── rules


def test_rules_stand_in_the_order_of_their_phases() -> None:
    """R63: JSON, schema, model, parameters, structure, layout, signature, modified, bindings, length."""
    phases = [ORDER[rule.phase] for rule in rules().values()]
    assert phases == sorted(phases)
    assert {rule.phase for rule in rules().values()} == set(PHASES)


def test_a_rules_order_is_its_row() -> None:
    """Two judges sort by it."""
    assert [rule.order for rule in rules().values()] == list(range(len(rules())))


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.id)
def test_a_rule_says_all_that_a_judge_needs(rule: Rule) -> None:
    """Id of the book, meaning, source; the words can be put together from named placeholders."""
    assert re.fullmatch(r"R\d+\.[a-z0-9-]+", rule.id)
    assert rule.means.endswith((".", ")"))
    assert rule.text
    assert rule.source
    assert bool(rule.right) == rule.static
    assert 400 <= rule.status < 500
    assert rule.type == {401: "authentication_error", 404: "not_found_error", 413: "request_too_large"}.get(
        rule.status, "invalid_request_error"
    )
    names = {name for template in (rule.text, *rule.variants.values()) for name in placeholders(template)}
    assert all(name.isidentifier() for name in names)
    assert set(placeholders(rule.path)) <= NAMES_OF_PATHS
    assert "{" not in rule.words(**dict.fromkeys(names, "x")).replace("{1,128}", "").replace("{1,64}", "")


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.id)
def test_every_name_in_a_rules_words_is_explained(rule: Rule) -> None:
    """Implementers must agree on what to put in."""
    explained = {"path", *placeholders(rule.path), *re.findall(r"\{(\w+)\}", rule.means)}
    inherited = {"tag", "tags", "level", "limit", "name", "id", "where", "suggested"}
    unexplained = {name for name in placeholders(rule.text) if name not in explained}
    assert unexplained <= inherited
    assert not unexplained or "as above" in rule.means


def test_every_rule_of_the_book_that_a_request_can_break_has_a_row() -> None:
    """R1–R64 but R55–R57 (another part), and those that say what is accepted, or what an answer holds; and of the list of
    models (R75) what may be asked of it."""
    accepting = {6, 39, 40, 41, 42, 45, 46, 47, 48, 50, 53}
    numbers = {int(rule.id[1:].partition(".")[0]) for rule in rules().values()}
    assert numbers == (set(range(1, 65)) | {75}) - {55, 56, 57} - accepting


def test_a_disputed_rule_names_a_stance_and_values_that_it_has() -> None:
    """A rule with `when` values that do not exist would never be in force, or always."""
    disputed = [rule for rule in rules().values() if rule.stance or rule.when]
    assert disputed
    for rule in disputed:
        assert rule.when
        assert set(rule.when) < set(stances()[rule.stance].values)


def test_a_disputed_rule_is_in_force_by_its_stance_alone() -> None:
    """C-7: off by the suggested stance, on when told so; a rule without a stance always is."""
    trailing = rules()["R37.mid-history"]
    assert not trailing.in_force(default_stances())
    assert trailing.in_force({**default_stances(), "C-7": "reject"})
    assert rules()["R22.empty-text"].in_force(default_stances())


def test_words_are_the_vendors_to_the_letter() -> None:
    """R35 with its misspelling, R59 with its braces, R44 with the sentence that follows."""
    assert rules()["R35.tool-loop"].words(path="messages.11.content.0.type", found="text") == (
        "messages.11.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is "
        "enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of "
        "`tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid "
        "this requirement, disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
    )
    assert rules()["R59.name-pattern"].words(path="tools.0.custom.name") == (
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
    )
    assert rules()["R44.conversation"].words("content-missing", where="messages.0.content.0") == (
        " Content that preceded this block when it was created is missing from this request, starting at "
        "`messages.0.content.0`."
    )


def test_only_what_nobody_saw_is_called_unverified() -> None:
    """Words that are ours must say so: the open points of the book among them."""
    unverified = {rule.id for rule in rules().values() if not rule.verified}
    assert {
        "R2.document-in-assistant",
        "R2.citations-in-user",
        "R32.follows-wrong-turn",
        "R51.edits-order",
        "R7.zero-with-stream",
        "R13.top-p-with-thinking",
        "R2.version-missing",
        "R9.between-tools-extra",
        "R10.between-tools-effort",
        "R18.no-messages",
    } <= unverified
    assert not {"R26.unanswered", "R33.empty-signature", "R20.prefill", "R10.enabled-unsupported"} & unverified


def test_paths_sort_by_number() -> None:
    """Natural order: message 2 before message 10, and a path before what is below it."""
    paths = ["messages.10", "messages.2.content.0", "tools.0", "messages.2", "", "messages"]
    assert sorted(paths, key=path_order) == ["", "messages", "messages.2", "messages.2.content.0", "messages.10", "tools.0"]


# ── stances


@proves(*(f"conflict:C-{n}" for n in range(1, 18)))
def test_every_conflict_has_a_stance_and_the_books_default() -> None:
    """Section 12 of the book: the suggested stance of each conflict."""
    assert dict(default_stances()) == {
        "C-1": "x-api-key",
        "C-2": "accept",
        "C-3": "accept",
        "C-4": "anthropic",
        "C-5": "run",
        "C-6": "reject",
        "C-7": "accept",
        "C-8": "profile",
        "C-9": "drop",
        "C-10": "docs",
        "C-11": "empty_delta",
        "C-12": "both",
        "C-13": "accept",
        "C-14": "reject",
        "C-15": "off",
        "C-16": "accept",
        "C-17": "128",
    }


def test_a_stance_has_another_value_than_its_default_and_a_switch_of_its_own() -> None:
    """A switch that cannot be switched is none."""
    assert all(conflict.default in conflict.values and len(conflict.values) > 1 for conflict in stances().values())
    assert len({conflict.switch for conflict in stances().values()}) == len(stances())


# ── strictness


def test_a_key_that_no_column_has_is_named_with_its_file() -> None:
    """A misspelt fact must not be ignored."""
    with pytest.raises(SettingsInvalid, match=r"betas\.toml: beta-1: .*unlock") as caught:
        to_rows(Beta, {"beta-1": {"seen": [], "unlock": []}}, file="betas.toml")
    assert (caught.value.file, caught.value.key) == ("betas.toml", "beta-1.unlock")


def test_a_wrong_value_deep_in_a_row_is_named_by_its_path() -> None:
    """The key leads to the value."""
    row = {"name": "s", "fields": {"effort": {"kinds": ["strng"]}}}
    with pytest.raises(SettingsInvalid) as caught:
        to_row(Shape, row, file="fields.toml", key="s")
    assert caught.value.key.startswith("s.fields")


def test_a_missing_column_is_named() -> None:
    """A rule without its words is none."""
    with pytest.raises(SettingsInvalid) as caught:
        to_row(Rule, {"id": "R1.x", "grade": "A", "phase": "json", "means": "", "path": ""}, file="r", key="R1.x")
    assert caught.value.key == "R1.x.text"


def test_a_table_that_is_none_is_refused() -> None:
    """A scalar where rows should be."""
    with pytest.raises(SettingsInvalid, match="expected a table of tables"):
        to_rows(Shape, [], file="fields.toml")


def test_the_words_of_a_refusal_name_a_rule_of_the_table_and_their_source() -> None:
    known = {rule.split(".")[0] for rule in rules()}
    assert all(row.rule in known and row.words and row.sources for row in thinking_refusals())
