"""What a request does to the registry, and the registry to it: four steps, three rules."""

import json
from copy import deepcopy
from typing import Any

import pytest

from clew import RegistryEntry, ThinkingRegistry, exact_block_key
from clew.thinking.registry.table import BackendSwitch, CleanedEntry, Decision, Filtered
from tests.manifest import proves, public
from tests.thinking.registry.builders import (
    HELLO,
    A,
    B,
    C,
    answer,
    assistant,
    confirmed,
    key,
    on,
    redacted,
    request,
    text,
    thinking,
)


def made_here(path: str, block: dict[str, Any]) -> Decision:
    return Decision(path, key(block), True, "made in this session")


def not_made_here(path: str, block: dict[str, Any]) -> Decision:
    return Decision(path, key(block), False, "not made in this session")


@proves("req:S1-13")
def test_the_steps_are_extract_confirm_cleanup_filter() -> None:
    """Expired but sent: confirmed before the cleanup. Old but sent: cleaned up before the filter."""
    registry = on("anthropic", A, now=0.0)
    registry.notify_backend("glm")
    registry.register_response(answer(B), 0.0)

    filtered = registry.filter_request(request(A, B), 10_000.0)

    assert filtered == Filtered(
        body={"model": "m", "messages": [HELLO, assistant(text("ok")), HELLO, assistant(B, text("ok")), HELLO]},
        session=2,
        removed=1,
        confirmed=1,
        cleanup_old_session=1,
        cleanup_confirmed_unused=0,
        cleanup_orphaned=0,
        cache_size_after=1,
        confirmations=(key(B),),
        cleanups=(CleanedEntry(key(A), RegistryEntry(1, 0.0), "old session"),),
        decisions=(not_made_here("messages.1.content.0", A), made_here("messages.3.content.0", B)),
    )


@public("library")
@proves("req:S1-14")
def test_a_block_that_comes_back_in_its_session_is_confirmed_once() -> None:
    """Document 001, step 2; the count is of those newly confirmed."""
    registry = on("anthropic", A)

    counts = [registry.filter_request(request(A), now).confirmed for now in (5.0, 6.0)]

    assert counts == [1, 0]
    assert registry.entries == {key(A): RegistryEntry(1, 0.0, confirmed=True)}


@public("library")
@proves("req:S1-15", "req:S1-16")
@pytest.mark.parametrize("registry", [on("anthropic", A), confirmed(A)], ids=["unconfirmed", "confirmed"])
def test_a_block_of_an_older_session_leaves_the_table_and_the_body_although_it_was_sent(registry: ThinkingRegistry) -> None:
    """Rule 1: old session, always invalid."""
    registry.notify_backend("glm")

    filtered = registry.filter_request(request(A), 5.0)

    assert (filtered.confirmed, filtered.cleanup_old_session, filtered.removed) == (0, 1, 1)
    assert filtered.body == {"model": "m", "messages": [HELLO, assistant(text("ok")), HELLO]}
    assert registry.entries == {}


@public("library")
@proves("req:S1-17")
def test_a_confirmed_block_that_is_no_longer_sent_is_forgotten() -> None:
    """Rule 2."""
    registry = confirmed(A, B)

    filtered = registry.filter_request(request(B), 2.0)

    assert filtered.cleanup_confirmed_unused == 1
    assert registry.entries == {key(B): RegistryEntry(1, 0.0, confirmed=True)}


@public("library")
@proves("req:S1-18")
@pytest.mark.parametrize(("now", "orphaned"), [(299.0, 0), (300.0, 0), (300.5, 1), (1e9, 1)])
def test_a_block_that_never_came_back_is_forgotten_only_after_the_threshold(now: float, orphaned: int) -> None:
    """Rule 3: age > threshold, not ≥."""
    registry = on("anthropic", A, B)
    registry.filter_request(request(B), 1.0)

    filtered = registry.filter_request(request(B), now)

    assert filtered.cleanup_orphaned == orphaned
    assert (key(A) in registry.entries) is not bool(orphaned)


@public("library")
@proves("req:S1-18", "req:S1-1")
def test_a_custom_threshold_is_the_one_that_counts() -> None:
    """Rule 3 with ten seconds."""
    registry = ThinkingRegistry(10.0)
    registry.register_response(answer(A, B), 0.0)

    assert registry.filter_request(request(B), 10.5).cleanup_orphaned == 1


@public("library")
@proves("req:S1-19")
def test_a_block_that_comes_back_late_is_confirmed_and_kept() -> None:
    """Age alone forgets nothing that is in the request."""
    registry = on("anthropic", A)

    filtered = registry.filter_request(request(A), 100_000.0)

    assert (filtered.confirmed, filtered.cleanup_orphaned, filtered.removed) == (1, 0, 0)
    assert registry.entries == {key(A): RegistryEntry(1, 0.0, confirmed=True)}


@proves("req:S1-20")
def test_only_unknown_thinking_leaves_the_body_and_the_clients_object_is_not_touched() -> None:
    """Other blocks are the very same objects; `removed` counts; the decisions say which and why."""
    tool = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    stranger = thinking("Not ours.")
    body = {
        "model": "m",
        "messages": [HELLO, assistant(A, text("x"), stranger, tool, redacted("zzz")), HELLO],
        "stream": True,
    }
    before = deepcopy(body)

    filtered = on("anthropic", A).filter_request(body, 1.0)

    assert filtered.body == {**before, "messages": [HELLO, assistant(A, text("x"), tool), HELLO]}
    assert filtered.removed == 2
    assert filtered.decisions == (
        made_here("messages.1.content.0", A),
        not_made_here("messages.1.content.2", stranger),
        not_made_here("messages.1.content.4", redacted("zzz")),
    )
    assert body == before


@public("library")
@proves("req:S1-20")
def test_a_request_that_loses_nothing_is_the_very_same_object() -> None:
    """Smallest edit (law 5)."""
    body = request(A)

    assert on("anthropic", A).filter_request(body, 1.0).body is body


@proves("req:S1-21")
@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        7,
        {},
        {"messages": None},
        {"messages": "text"},
        {"messages": [None, 3, "x", HELLO]},
        {"messages": [{"role": "assistant"}]},
        {"messages": [{"role": "assistant", "content": None}]},
        {"messages": [{"role": "assistant", "content": "thinking"}]},
        {"messages": [{"role": "assistant", "content": []}]},
        {"messages": [assistant({"type": "mcp_tool_use"}, {"thinking": "no type"}, {"type": None}, {"type": {}})]},
        {"messages": [assistant({"type": "text", "": "x"})]},
    ],
    ids=json.dumps,
)
def test_a_body_without_thinking_of_any_shape_passes_unchanged(body: Any) -> None:
    """Nothing removed, no exception, and nothing in the table is lost."""
    registry = confirmed(A)

    assert registry.filter_request(body, 9_999.0) == Filtered(body=body, session=1, cache_size_after=1)


@proves("req:S1-22")
@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking"},
        {"type": "thinking", "signature": "EqQB"},
        {"type": "thinking", "thinking": None, "signature": "EqQB"},
        {"type": "thinking", "thinking": ["x"]},
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking", "thinking": ""},
        {"type": "redacted_thinking"},
        {"type": "redacted_thinking", "data": 3},
        {"type": "redacted_thinking", "data": ""},
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("key_of", [None, exact_block_key], ids=["documented", "product"])
def test_a_malformed_thinking_block_is_removed_and_counted(block: dict[str, Any], key_of: Any) -> None:
    """Without the field that names it, it can never have been registered, and every vendor refuses it."""
    registry = ThinkingRegistry(**({"key_of": key_of} if key_of else {}))
    registry.register_response(answer(block), 0.0)

    filtered = registry.filter_request({"messages": [assistant(block, text("x"))]}, 1.0)

    assert filtered.body == {"messages": [assistant(text("x"))]}
    assert filtered.removed == 1
    assert filtered.decisions == (Decision("messages.0.content.0", None, False, "malformed: nothing names it"),)


@proves("req:S1-23")
def test_a_request_without_an_answer_forgets_only_old_sessions() -> None:
    """A first turn or a token count says nothing about what is still in use."""
    registry = on("anthropic", A)
    registry.notify_backend("glm")
    registry.register_response(answer(B, C), 0.0)
    registry.filter_request(request(B), 1.0)
    registry.register_response(answer(A), 0.0, session=1)

    filtered = registry.filter_request({"messages": [HELLO]}, 9_999.0)

    cleaned = (CleanedEntry(key(A), RegistryEntry(1, 0.0), "old session"),)
    assert filtered == Filtered(
        body={"messages": [HELLO]}, session=2, cleanup_old_session=1, cache_size_after=2, cleanups=cleaned
    )
    assert registry.entries == {key(B): RegistryEntry(2, 0.0, confirmed=True), key(C): RegistryEntry(2, 0.0)}


@public("library")
@proves("req:S1-23")
def test_thinking_outside_an_answer_does_not_make_a_history() -> None:
    """Without an assistant message only old sessions are forgotten, whatever the user message holds."""
    registry = confirmed(A, B)

    filtered = registry.filter_request({"messages": [{"role": "user", "content": [A, text("x")]}]}, 9_999.0)

    assert (filtered.cleanup_confirmed_unused, filtered.cache_size_after) == (0, 2)


@proves("req:S1-24")
def test_a_side_request_whose_history_has_no_thinking_leaves_confirmed_blocks_valid() -> None:
    """A title or summary by a small model; the next main request keeps its thinking."""
    registry = confirmed(A, B)
    side = {"messages": [HELLO, assistant(text("ok")), HELLO]}

    assert registry.filter_request(side, 9_999.0) == Filtered(body=side, session=1, cache_size_after=2)
    assert registry.filter_request(request(A, B), 9_999.0).removed == 0


@public("library")
@proves("req:S1-25")
@pytest.mark.parametrize("role", ["assistant", "user"])
def test_a_message_that_would_be_empty_gets_the_filler(role: str) -> None:
    """Never `content: []`; the constant filler keeps the prefix stable (C13)."""
    body = {"messages": [HELLO, {"role": role, "content": [A, redacted("zzz")]}, HELLO]}

    filtered = ThinkingRegistry().filter_request(body, 1.0)

    filler = {"type": "text", "text": "[No message content]", "citations": []}
    assert filtered.body == {"messages": [HELLO, {"role": role, "content": [filler]}, HELLO]}
    assert filtered.removed == 2


@proves("req:S1-13", "req:S1-41")
def test_naming_the_backend_and_filtering_for_it_are_one_step() -> None:
    """Else a request could be filtered for the backend of another one that came between the two."""
    registry = on("anthropic", A)

    same = registry.filter_request(request(A), 1.0, backend="anthropic")
    other = registry.filter_request(request(A), 2.0, backend="glm")

    assert (same.switch, same.removed, same.confirmations) == (None, 0, (key(A),))
    assert other.switch == BackendSwitch("anthropic", "glm", 1, 2)
    assert (other.session, other.removed, other.cleanup_old_session) == (2, 1, 1)
    assert other.cleanups == (CleanedEntry(key(A), RegistryEntry(1, 0.0, confirmed=True), "old session"),)
