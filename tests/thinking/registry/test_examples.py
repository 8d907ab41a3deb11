"""The document's four example flows, step by step (session policy; what the default policy does instead is proved there)."""

from clew import RegistryEntry, ThinkingRegistry
from clew.thinking.registry.table import Filtered
from tests.manifest import proves, public
from tests.thinking.registry.builders import HELLO, A, B, C, answer, assistant, confirmed, key, on, request, text


@proves("req:S1-30")
def test_a_normal_conversation_keeps_every_block() -> None:
    """A, then A and B: both confirmed, nothing removed."""
    registry = on("anthropic", A)
    first = registry.filter_request(request(A), 1.0)
    registry.notify_backend("anthropic")
    registry.register_response(answer(B), 2.0)
    body = request(A, B)
    second = registry.filter_request(body, 3.0)

    assert (first.confirmed, first.removed) == (1, 0)
    said = {"confirmations": (key(B),), "decisions": second.decisions}
    assert second == Filtered(body=body, session=1, confirmed=1, cache_size_after=2, **said)
    assert [decision.kept for decision in second.decisions] == [True, True]
    assert registry.entries == {key(A): RegistryEntry(1, 0.0, confirmed=True), key(B): RegistryEntry(1, 2.0, confirmed=True)}


@public("library")
@proves("req:S1-31")
def test_a_truncated_context_forgets_what_it_no_longer_holds() -> None:
    """{A, B, C} confirmed, request [B, C]: the body is unchanged, the table is {B, C}."""
    registry = confirmed(A, B, C)
    body = request(B, C)

    filtered = registry.filter_request(body, 2.0)

    assert filtered.body is body
    assert filtered.cleanup_confirmed_unused == 1
    assert set(registry.entries) == {key(B), key(C)}


@public("library")
@proves("req:S1-31")
def test_a_rewind_does_not_bring_a_forgotten_block_back() -> None:
    """What the session policy loses (C2): A returns and is removed."""
    registry = confirmed(A, B, C)
    registry.filter_request(request(B, C), 2.0)

    assert registry.filter_request(request(A, B), 3.0).body == {
        "model": "m",
        "messages": [HELLO, assistant(text("ok")), HELLO, assistant(B, text("ok")), HELLO],
    }


@public("library")
@proves("req:S1-32")
def test_after_a_switch_the_request_goes_out_without_thinking_and_the_new_backend_gets_its_own() -> None:
    """A of anthropic, switch to glm, request [A]: sent without; B registered for glm, and kept there."""
    registry = confirmed(A)
    registry.notify_backend("glm")

    filtered = registry.filter_request(request(A), 2.0)
    registry.register_response(answer(B), 3.0)

    assert filtered.body == {"model": "m", "messages": [HELLO, assistant(text("ok")), HELLO]}
    assert (filtered.removed, filtered.cleanup_old_session) == (1, 1)
    assert registry.entries == {key(B): RegistryEntry(2, 3.0)}
    assert registry.filter_request(request(A, B), 4.0).body == {
        "model": "m",
        "messages": [HELLO, assistant(text("ok")), HELLO, assistant(B, text("ok")), HELLO],
    }


@public("library")
@proves("req:S1-33")
def test_a_block_that_was_never_sent_back_is_orphaned_by_the_next_request_that_thinks() -> None:
    """Age > threshold. An empty request, or one without thinking, does not trigger it (S1-23, S1-24)."""
    registry = ThinkingRegistry()
    registry.notify_backend("anthropic")
    registry.register_response(answer(A, B), 0.0)

    counts = [
        registry.filter_request(body, 301.0).cleanup_orphaned
        for body in ({}, {"messages": [HELLO]}, {"messages": [HELLO, assistant(text("ok"))]}, request(B))
    ]

    assert counts == [0, 0, 0, 1]
    assert set(registry.entries) == {key(B)}
