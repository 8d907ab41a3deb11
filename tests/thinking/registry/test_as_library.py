"""The registry of document 001 as a program uses it: by `clew.ThinkingRegistry` and what that returns."""

import json
from typing import Any

import pytest

from clew import ThinkingRegistry, fast_hash
from tests.growth.work import check_growth
from tests.manifest import proves, public
from tests.thinking.registry.builders import HELLO, A, B, answer, assistant, confirmed, on, redacted, request, text, thinking


@public("library")
@proves("req:S1-2")
def test_each_change_of_the_name_begins_a_session_and_says_from_where_to_where() -> None:
    registry = ThinkingRegistry()
    switches = [registry.notify_backend(name) for name in ("anthropic", "anthropic", "glm", "anthropic")]
    told = [each and (each.old_backend, each.new_backend, each.old_session, each.new_session) for each in switches]
    assert told == [("", "anthropic", 0, 1), None, ("anthropic", "glm", 1, 2), ("glm", "anthropic", 2, 3)]
    assert (registry.session, registry.backend) == (3, "anthropic")


@public("library")
@proves("req:S1-4", "req:S1-5")
def test_the_blocks_of_a_whole_answer_are_registered_unconfirmed_now_and_here() -> None:
    registry = ThinkingRegistry()
    registry.notify_backend("anthropic")
    [first, second] = registry.register_response(answer(A, redacted("ZW5j"), text("ok")), 7.0).blocks
    assert (first.preview, second.preview) == ("First A.", "ZW5j")
    entries = registry.entries
    assert entries.keys() == {first.key, second.key}
    assert {(each.session, each.registered_at, each.confirmed) for each in entries.values()} == {(1, 7.0, False)}


@public("library")
@proves("req:S1-10")
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"{}", b'{"content": null}', b'{"content": "words"}'])
def test_an_answer_that_cannot_be_read_registers_nothing_and_says_why(body: bytes) -> None:
    registry = ThinkingRegistry()
    registration = registry.register_response(body, 0.0)
    assert (registration.blocks, registry.entries) == ((), {})
    assert registration.note.startswith("the answer")


@public("library")
@proves("req:S1-13", "req:S1-15", "req:S1-16", "req:S1-19")
def test_a_request_is_read_then_confirms_then_cleans_up_then_is_filtered() -> None:
    """Expired but sent: confirmed before the cleanup. Of an old session and sent: cleaned up before the filter."""
    registry = on("anthropic", A)
    registry.notify_backend("glm")
    registry.register_response(answer(B), 0.0)
    filtered = registry.filter_request(request(A, B), 10_000.0)
    assert (filtered.confirmed, filtered.cleanup_old_session, filtered.cleanup_orphaned, filtered.removed) == (1, 1, 0, 1)
    assert [(each.path, each.kept, each.why) for each in filtered.decisions] == [
        ("messages.1.content.0", False, "not made in this session"),
        ("messages.3.content.0", True, "made in this session"),
    ]
    turns = [HELLO, assistant(text("ok")), HELLO, assistant(B, text("ok")), HELLO]
    assert filtered.body == {"model": "m", "messages": turns}


@public("library")
@proves("req:S1-21", "req:S1-22")
@pytest.mark.parametrize(
    "body",
    [
        None,
        7,
        {},
        {"messages": None},
        {"messages": ["words", None, {"role": "assistant", "content": "words"}, {"role": "assistant", "content": None}]},
        {"messages": [{"role": "assistant", "content": [{"type": "new_block", "thinking": "x"}, None, {"type": 3}]}]},
    ],
)
def test_a_body_without_thinking_passes_as_it_is_and_a_malformed_block_is_removed_and_counted(body: Any) -> None:
    registry = on("anthropic", A)
    filtered = registry.filter_request(body, 1.0)
    assert (filtered.body is body, filtered.removed) == (True, 0)
    malformed = request({"type": "thinking"}, {"type": "redacted_thinking", "thinking": "no data"})
    filtered = registry.filter_request(malformed, 1.0)
    assert (filtered.removed, "thinking" in json.dumps(filtered.body)) == (2, False)


@public("library")
@proves("req:S1-23", "req:S1-24", "req:S1-30")
def test_a_request_that_says_nothing_of_thinking_forgets_nothing_of_this_session() -> None:
    """S1-23: no answer in it. S1-24: answers without thinking. S1-30: the conversation then goes on with all it had."""
    registry = confirmed(A, B)
    for aside in ({"messages": [HELLO]}, {"messages": [HELLO, assistant(text("a title")), HELLO]}):
        filtered = registry.filter_request(aside, 9_999.0)
        assert (filtered.body is aside, filtered.cache_size_after) == (True, 2)
    body = request(A, B)
    filtered = registry.filter_request(body, 9_999.0)
    assert (filtered.body is body, filtered.removed, [each.kept for each in filtered.decisions]) == (True, 0, [True, True])
    stats = registry.cache_stats()
    assert (stats.total, stats.confirmed, stats.current_session) == (2, 2, 2)


@public("library")
@proves("req:S1-28", "req:S1-29")
@pytest.mark.parametrize(("one", "other"), [("é", "Ж"), ("€", "한"), ("😀", "🙈")])
def test_a_character_across_the_border_of_the_hash_is_part_of_neither_end(one: str, other: str) -> None:
    """S1-28: 256 bytes from each end, whole characters only. Inside the border it counts."""
    for inside in range(1, len(one.encode())):
        for before, after in ((256 - inside, 512), (512, 256 - inside)):
            texts = ["a" * before + each + "b" * after for each in (one, other)]
            assert fast_hash(texts[0]) == fast_hash(texts[1])
    whole = 256 - len(one.encode())
    assert fast_hash("a" * whole + one + "b" * 512) != fast_hash("a" * whole + other + "b" * 512)
    assert fast_hash("a" * whole + one) != fast_hash("a" * whole + other)


@public("library")
@proves("req:S1-47")
@pytest.mark.slow
def test_looking_a_block_up_costs_the_same_in_a_large_table() -> None:
    """S1-47: n blocks and one request of n blocks cost n times as much, not n times n."""

    def filter_all(blocks: list[Any]) -> None:
        registry = ThinkingRegistry()
        registry.register_blocks(blocks, now=0.0)
        assert registry.filter_request(request(*blocks), 1.0).confirmed == len(blocks)

    check_growth(lambda n: [thinking(f"Thought {number}.") for number in range(n)], filter_all, 64)
