"""Sealed summaries: what a client holds in place of a history."""

import pytest

from clew.errors import SealInvalid
from clew.thinking.seal import LONGEST_SUMMARY, Seal, Sealer, is_seal, open_summary, seal_summary
from tests.build import GLM

SEALER = Sealer({"k": b"s" * 32}, "k")


def test_a_summary_comes_back_as_it_was_with_a_word_about_what_it_is() -> None:
    token = seal_summary(SEALER, "They want a parser. \ud83d", principal="local", origin=GLM, exchange="1a")
    assert is_seal(token)
    opened = open_summary(SEALER, token, principal="local")
    assert opened.endswith("They want a parser. \ud83d")
    assert opened.startswith("Summary of the conversation so far")


def test_it_opens_for_its_own_principal_alone_and_with_every_byte_as_it_was() -> None:
    token = seal_summary(SEALER, "They want a parser.", principal="local", origin=GLM, exchange="1a")
    with pytest.raises(SealInvalid, match="another principal"):
        open_summary(SEALER, token, principal="other")
    with pytest.raises(SealInvalid, match="a byte was changed"):
        open_summary(SEALER, token[:80] + ("A" if token[80] != "A" else "B") + token[81:], principal="local")


def test_the_seal_of_a_thought_is_no_summary() -> None:
    thought = SEALER.mint(Seal("local", GLM, "1a", 0, b"payload"), "Hm.")
    with pytest.raises(SealInvalid):
        open_summary(SEALER, thought, principal="local")


def test_a_summary_that_no_seal_can_take_is_refused() -> None:
    with pytest.raises(SealInvalid, match=f"longer than the {LONGEST_SUMMARY}"):
        seal_summary(SEALER, "x" * (LONGEST_SUMMARY + 1), principal="local", origin=GLM, exchange="1a")
    assert open_summary(
        SEALER, seal_summary(SEALER, "x" * LONGEST_SUMMARY, principal="p", origin=GLM, exchange="1"), principal="p"
    )
