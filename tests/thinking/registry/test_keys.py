"""The document's hash, with its limit, and the product's key, without it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew import ThinkingRegistry, exact_block_key, fast_hash
from clew.thinking.registry.blocks import documented_key, prefix_of, suffix_of
from tests.counts import examples
from tests.manifest import proves, public
from tests.thinking.registry.builders import answer, redacted, request, thinking

WINDOW = 256
"""Bytes from each end that the hash looks at."""

LONG = "a" * WINDOW + "middle" + "z" * WINDOW
TWIN = "a" * WINDOW + "MIDDLE" + "z" * WINDOW


@public("library")
@proves("req:S1-26")
def test_the_hash_is_the_same_for_the_same_text_today_and_tomorrow() -> None:
    """A stable format: 64 bits, pinned, unlike the document's hasher, which differs from build to build (C4)."""
    assert fast_hash("Let me analyze...") == fast_hash("Let me analyze...") == 14326405147182174617
    assert 0 <= fast_hash("") < 2**64


@public("library")
@proves("req:S1-26")
@pytest.mark.parametrize("other", ["b" + LONG[1:], LONG[:-1] + "y", LONG[:300] + LONG[301:], LONG + "z", ""])
def test_other_ends_or_another_length_give_another_hash(other: str) -> None:
    """Prefix, suffix and length each count."""
    assert fast_hash(other) != fast_hash(LONG)


@proves("req:S1-27")
def test_equal_ends_and_equal_length_are_equal_to_the_documents_hash_only() -> None:
    """The documented limit; the product's key tells them apart."""
    assert fast_hash(LONG) == fast_hash(TWIN)
    assert documented_key(thinking(LONG)) == documented_key(thinking(TWIN))
    assert exact_block_key(thinking(LONG, "")) != exact_block_key(thinking(TWIN, ""))
    assert exact_block_key(thinking(LONG, "sig-1")) != exact_block_key(thinking(TWIN, "sig-2"))


@public("library")
@proves("req:S1-27")
@pytest.mark.parametrize(("keys", "removed"), [({}, 0), ({"key_of": exact_block_key}, 1)], ids=["documented", "exact"])
def test_a_registry_with_the_products_key_does_not_mistake_a_twin_for_its_own(keys: Any, removed: int) -> None:
    """The same registry, the other name."""
    registry = ThinkingRegistry(**keys)
    registry.register_response(answer(thinking(LONG, "")), 0.0)

    assert registry.filter_request(request(thinking(TWIN, "")), 1.0).removed == removed


@public("library")
@proves("req:S1-27")
def test_the_exact_key_is_of_text_and_signature_together() -> None:
    """The same words of two makers are two blocks; and many makers put the same few bytes where a signature would be."""
    own, foreign = thinking("Let me think.", "EqQB"), thinking("Let me think.", '{"field":"reasoning"}')
    keys = [
        exact_block_key(each)
        for each in (own, foreign, {**foreign, "thinking": "Hm."}, redacted("EqQB"), thinking("EqQB", ""))
    ]
    assert len({*keys}) == len(keys)
    assert None not in keys
    assert exact_block_key({"type": "text", "text": "x"}) is None


@proves("req:S1-28")
@pytest.mark.parametrize("character", ["é", "€", "😀"])
def test_a_character_across_the_window_is_left_out_of_both_ends(character: str) -> None:
    """The prefix is cut before it, the suffix begins after it; no exception."""
    size = len(character.encode())
    for inside in range(1, size):
        front = ("a" * (WINDOW - inside) + character + "b" * WINDOW).encode()
        back = ("b" * WINDOW + character + "a" * (WINDOW - inside)).encode()
        assert prefix_of(front) == b"a" * (WINDOW - inside)
        assert suffix_of(back) == b"a" * (WINDOW - inside)


@proves("req:S1-28")
@pytest.mark.parametrize("text", ["", "short", "é" * (WINDOW // 2), "a" * WINDOW])
def test_a_text_within_the_window_is_used_whole_for_both_ends(text: str) -> None:
    """256 bytes are still within."""
    assert prefix_of(text.encode()) == suffix_of(text.encode()) == text.encode()


@proves("req:S1-28")
@settings(max_examples=examples(19, soak=1600))
@given(st.text(st.sampled_from("aé€😀\ud800"), min_size=60, max_size=400))
def test_both_ends_are_the_longest_whole_characters_that_fit(text: str) -> None:
    """Whatever stands at the edges, lone surrogates too."""
    raw = text.encode("utf-8", "surrogatepass")
    ends = [prefix_of(raw).decode("utf-8", "surrogatepass"), suffix_of(raw).decode("utf-8", "surrogatepass")]

    assert text.startswith(ends[0])
    assert text.endswith(ends[1])
    assert all(len(raw) <= WINDOW or WINDOW - 3 <= len(end.encode("utf-8", "surrogatepass")) <= WINDOW for end in ends)
    assert isinstance(fast_hash(text), int)


@public("library")
@proves("req:S1-29")
def test_the_length_is_in_bytes() -> None:
    """Two texts with equal ends and equally many characters, but not equally many bytes."""
    ends = ("a" * WINDOW, "z" * WINDOW)

    assert len(ends[0] + "é" + ends[1]) == len(ends[0] + "e" + ends[1])
    assert fast_hash(ends[0] + "é" + ends[1]) != fast_hash(ends[0] + "e" + ends[1])
    assert fast_hash(ends[0] + "é" + ends[1]) == fast_hash(ends[0] + "ee" + ends[1])
