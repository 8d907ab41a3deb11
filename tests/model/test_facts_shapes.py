"""The tables of betas, fields and blocks: consistent with the rules, and with the official package's types."""

from __future__ import annotations

import re
from typing import Any, get_args, get_origin

import anthropic.types.beta as sdk
import typing_extensions
from anthropic.types import AnthropicBetaParam
from anthropic.types.beta.beta_tool_result_block_param import Content
from anthropic.types.beta.message_count_tokens_params import MessageCountTokensParams
from anthropic.types.beta.message_create_params import MessageCreateParamsBase

from clew.model.facts import BlockFacts, Field, Shape, betas, blocks, fields, rules, shapes


def every_field() -> list[tuple[str, Field]]:
    shapes: list[Shape | BlockFacts] = [*fields().shapes.values(), *blocks().values()]
    return [(f"{shape.name}.{name}", row) for shape in shapes for name, row in shape.fields.items()]


def test_every_rule_that_a_field_names_exists_and_is_of_the_schema_phase() -> None:
    """The tables refer to each other by id."""
    shapes: list[Shape | BlockFacts] = [*fields().shapes.values(), *blocks().values()]
    named = {rule for shape in shapes for rule in (shape.unknown, *shape.forbidden.values())}
    named |= {shape.gate for shape in fields().shapes.values()} | {union.unknown for union in fields().unions.values()}
    for _, row in every_field():
        named |= {row.missing, row.wrong, row.value, row.range, row.gate, row.value_gate, row.version_gate, row.mismatch}
    assert {rules()[name].phase for name in named - {""}} == {"schema"}


def test_every_shape_union_and_beta_that_a_field_names_exists() -> None:
    """No reference leads nowhere."""
    places = {*fields().shapes, *fields().unions, "block", "nested_block", "string", "object", ""}
    for name, row in every_field():
        assert row.object in places, name
        assert row.items in places, name
        assert {*row.beta, *row.gated_values.values()} <= set(betas()), name
        assert set(row.gated_values) <= set(row.values), name
    members = {shape for union in fields().unions.values() for shape in union.members.values()}
    assert members <= set(fields().shapes)
    assert {beta for shape in fields().shapes.values() for beta in shape.beta} <= set(betas())
    assert {beta for block in blocks().values() for beta in block.beta} <= set(betas())


def test_every_shape_is_used() -> None:
    """A shape that nothing names is a leftover."""
    used = {"request"} | {shape for union in fields().unions.values() for shape in union.members.values()}
    for _, row in every_field():
        used |= {row.object, row.items}
    assert set(fields().shapes) - used == set()
    assert set(fields().unions) - used == set()


def test_the_dated_names_that_code_speaks_of_are_in_the_tables() -> None:
    names = {getattr(shapes, name) for name in shapes.__all__ if name.isupper()}
    assert names - set(betas()) - set(fields().unions["edit"].members) == set()


def test_patterns_have_a_rule_and_compile() -> None:
    """R24, R59."""
    for name, row in every_field():
        assert bool(row.pattern) == bool(row.mismatch), name
        re.compile(row.pattern)


def test_a_servers_result_names_the_block_that_calls() -> None:
    """R29."""
    answers = {name: block.answers for name, block in blocks().items() if block.answers}
    assert {name for name in blocks() if name.endswith("_tool_result")} == set(answers)
    assert set(answers.values()) == {"server_tool_use", "mcp_tool_use"}


def test_thinking_is_never_cacheable() -> None:
    """R33, R58."""
    assert {name for name, block in blocks().items() if not block.cacheable} == {
        "thinking",
        "redacted_thinking",
        "mcp_tool_listing",
        "fallback",
    }


def test_the_packages_betas_are_known() -> None:
    """R3: the values of the official package's type."""
    literal = next(member for member in get_args(AnthropicBetaParam) if get_args(member))
    assert {name for name, beta in betas().items() if "sdk" in beta.seen} == set(get_args(literal))


def params(union: Any, *, required: bool = False) -> dict[str, set[str]]:
    """The keys (or only those required) of each member of one of the package's unions, by its `type`."""
    found: dict[str, set[str]] = {}
    for member in filter(typing_extensions.is_typeddict, get_args(union)):
        kind = typing_extensions.get_type_hints(member)["type"]
        hints = typing_extensions.get_type_hints(member, include_extras=True)
        keys = {name for name, hint in hints.items() if not required or get_origin(hint) is typing_extensions.Required}
        found |= {tag: keys | (member.__required_keys__ & {"from"}) for tag in tags(kind)}
    return found


def tags(hint: Any) -> list[str]:
    inner = [tag for member in get_args(hint) for tag in (tags(member) if get_args(member) else [member])]
    return [tag for tag in inner if isinstance(tag, str)]


def test_blocks_have_the_packages_keys() -> None:
    """R23, R33: an independent reading, from the official package's types."""
    theirs = params(sdk.BetaContentBlockParam)
    ours = {name: set(block.fields) for name, block in blocks().items() if block.roles}
    assert ours == theirs


def test_blocks_require_what_the_package_requires() -> None:
    """R28, R33: a key that must be there."""
    theirs = params(sdk.BetaContentBlockParam, required=True)
    ours = {
        name: {key for key, row in block.fields.items() if row.required} for name, block in blocks().items() if block.roles
    }
    assert ours == theirs


def test_nested_blocks_are_the_packages() -> None:
    """What a tool_result may hold."""
    theirs = params(Content)
    ours = {name: set(block.fields) for name, block in blocks().items() if block.nested}
    assert set(ours) == set(theirs)
    assert all(ours[name] <= theirs[name] for name in ours)


def test_tool_types_are_the_packages() -> None:
    """R59, R61."""
    theirs = params(sdk.BetaToolUnionParam)
    assert set(fields().unions["tool"].members) == set(theirs)
    assert set(fields().shapes["tool.custom"].fields) == theirs["custom"]


def test_the_packages_request_fields_are_known() -> None:
    """R4, R17; `betas` and `workspace_id` are headers."""
    theirs = set(typing_extensions.get_type_hints(MessageCreateParamsBase)) - {"betas", "workspace_id"}
    ours = set(fields().shapes["request"].fields)
    assert theirs <= ours
    assert ours - theirs == {"temperature", "top_p", "top_k", "stream", "output_format", "safeguards"}


def test_count_tokens_takes_what_the_package_gives_it() -> None:
    """R74."""
    theirs = set(typing_extensions.get_type_hints(MessageCountTokensParams)) - {"betas", "workspace_id"}
    assert {name for name, row in fields().shapes["request"].fields.items() if row.count} == theirs


def test_what_clients_were_seen_to_send_is_legal() -> None:
    """clients.md 1.2: betas of Claude Code, the AI SDK and opencode; its fields beside the package's."""
    sent = """claude-code-20250219 interleaved-thinking-2025-05-14 context-management-2025-06-27
        per-turn-control-2026-07-01 mid-conversation-tool-changes-2026-07-01 thinking-token-count-2026-05-13
        advanced-tool-use-2025-11-20 effort-2025-11-24 thinking-display-updates-2026-08-18 dangerous-tool-use-2026-09-03
        afk-mode-2026-01-31 structured-outputs-2025-12-15 structured-outputs-2025-11-13 redact-thinking-2026-02-12
        fallback-credit-2026-06-01 mid-conversation-system-2026-04-07 context-1m-2025-08-07
        prompt-caching-scope-2026-01-05 token-counting-2024-11-01"""
    assert {name for name, beta in betas().items() if "client" in beta.seen} == set(sent.split())
    assert fields().shapes["request"].fields["safeguards"].beta == ("dangerous-tool-use-2026-09-03",)
    assert "per-turn-control-2026-07-01" in fields().shapes["message.system"].fields["output_config"].beta
