"""Costs: the list price of what was counted, an estimate where something is not known, and never made up."""

import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest
from anthropic.types import Usage as SdkUsage
from hypothesis import given
from hypothesis import strategies as st

from clew.backends.row import Backend
from clew.chat.prices import Cost, cost_of, total_cost
from clew.model.turn import TokenUsage
from tests.manifest import proves

SONNET = "claude-sonnet-4-5"
"""3 dollars per million in, 15 out, 0.30 from the cache, 3.75 into it, 6 into it for an hour."""
PLAIN = {"input_tokens": 1000, "output_tokens": 1000}


def row(url: str, realm: str = "", preset: str = "") -> Backend:
    return Backend(name="b", url=url, realm=realm or "b", preset=preset)


def told(**counts: Any) -> dict[str, Any]:
    return {**PLAIN, **counts}


def entries(short: int, long: int) -> dict[str, Any]:
    written = {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long}
    return {"cache_creation_input_tokens": short + long, "cache_creation": written}


@proves("req:C33")
@pytest.mark.parametrize(
    ("usage", "usd", "estimated"),
    [
        (PLAIN, "0.018", False),
        (told(cache_read_input_tokens=10_000), "0.021", False),
        (told(**entries(1000, 0)), "0.02175", False),
        (told(**entries(0, 1000)), "0.024", False),
        (told(**entries(1000, 1000)), "0.02775", False),
        (told(cache_creation_input_tokens=1000), "0.02175", True),
        (told(output_tokens_details={"thinking_tokens": 900}), "0.018", False),
        (told(server_tool_use={"web_search_requests": 2}), "0.038", False),
        ({"output_tokens": 1000}, "0.015", True),
        ({"input_tokens": 1000, "output_tokens": None}, "0.003", True),
        (TokenUsage(input=1000, output=1000), "0.018", False),
        (TokenUsage(input=1000, output=1000, cache_read=10_000), "0.021", False),
        (TokenUsage(input=1000, output=1000, estimated=True), "0.018", True),
        (SdkUsage(input_tokens=1000, output_tokens=1000), "0.018", False),
    ],
)
def test_each_kind_of_token_has_its_price(usage: Any, usd: str, estimated: bool) -> None:
    """C33: thinking is inside the output; what is not known for sure is an estimate."""
    assert cost_of(SONNET, usage, backend="anthropic") == Cost(Decimal(usd), estimated)


@proves("req:C33")
def test_an_answer_that_was_cut_costs_about_so_much() -> None:
    """C33: its last count never came."""
    assert cost_of(SONNET, PLAIN, complete=False) == Cost(Decimal("0.018"), estimated=True)


@proves("req:C33")
@pytest.mark.parametrize("model", ["nobody-knows-this", "other-model", "", "claude-sonnet-99"])
def test_a_model_without_a_price_has_no_cost(model: str) -> None:
    """C33: which is not nought."""
    for backend in (None, "anthropic", row("https://api.anthropic.com", "anthropic")):
        assert cost_of(model, PLAIN, backend=backend) is None


@proves("req:C33")
@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": None}, {"input_tokens": -1, "output_tokens": True}])
def test_without_a_count_there_is_no_cost(usage: Any) -> None:
    """C33: no number is made up."""
    assert cost_of(SONNET, usage, backend="anthropic") is None


@pytest.mark.parametrize(
    ("model", "backend", "cost"),
    [
        (SONNET, row("https://api.anthropic.com", "anthropic"), Cost(Decimal("0.018"))),
        ("claude-sonnet-4-5-20250929[1m]", row("https://api.anthropic.com", "anthropic"), Cost(Decimal("0.018"))),
        (SONNET, row("http://127.0.0.1:7000", "anthropic"), Cost(Decimal("0.018"))),
        ("glm-5.3", row("https://api.z.ai/api/anthropic", "zai"), Cost(Decimal("0.0058"))),
        ("glm-5.3", row("https://open.bigmodel.cn/api/anthropic", "zai"), Cost(Decimal("0.004965"))),
        ("glm-5.3", row("https://proxy.example", "b", "zai"), Cost(Decimal("0.0058"))),
        ("openai/gpt-oss-120b", row("https://api.groq.com/openai/v1"), Cost(Decimal("0.00075"))),
        (SONNET, row("https://proxy.example", "b"), Cost(Decimal("0.018"), estimated=True)),
        (SONNET, row("https://proxy.example", "my-openai"), Cost(Decimal("0.018"), estimated=True)),
        ("gpt-oss:120b", row("http://127.0.0.1:11434", "ollama", "ollama"), None),
        (SONNET, "ollama", None),
        (SONNET, row("https://api.groq.com/openai/v1"), None),
    ],
)
def test_the_backend_tells_whose_list_counts(model: str, backend: Any, cost: Cost | None) -> None:
    """By its address, its preset, its realm; behind a host that nobody knows it is the maker's, about."""
    assert cost_of(model, PLAIN, backend=backend) == cost


def test_a_price_is_that_of_its_day() -> None:
    """Long prompts cost more before 2026-03-13, and the same afterwards."""
    long = {"input_tokens": 400_000, "output_tokens": 0}
    assert cost_of("claude-opus-4-6", long, at=1_770_000_000.0) == Cost(Decimal(4))
    assert cost_of("claude-opus-4-6", long, at=1_780_000_000.0) == Cost(Decimal(2))


def test_costs_add_up_to_what_is_known() -> None:
    assert total_cost([Cost(Decimal(1)), Cost(Decimal(2))]) == Cost(Decimal(3))
    assert total_cost([Cost(Decimal(1)), Cost(Decimal(2), estimated=True)]) == Cost(Decimal(3), estimated=True)
    assert total_cost([Cost(Decimal(1)), None]) == Cost(Decimal(1), estimated=True)
    assert total_cost([None, None]) is None
    assert total_cost([]) is None


@pytest.mark.parametrize(
    ("usd", "shown"),
    [("0", "$0.00"), ("0.00001", "<$0.0001"), ("0.0001", "$0.0001"), ("0.12346", "$0.1235"), ("12.346", "$12.35")],
)
def test_a_cost_is_shown_as_exactly_as_one_cares(usd: str, shown: str) -> None:
    assert str(Cost(Decimal(usd))) == shown
    assert str(Cost(Decimal(usd), estimated=True)) == f"{'' if shown.startswith('<') else '≈'}{shown}"


counts = st.integers(0, 10**7)


@given(counts, counts, counts, counts)
def test_more_tokens_never_cost_less(fresh: int, read: int, written: int, output: int) -> None:
    """And no count can break it."""
    less = cost_of("claude-sonnet-5", TokenUsage(input=fresh, cache_read=read, cache_written=written, output=output))
    more = cost_of(
        "claude-sonnet-5", TokenUsage(input=fresh + 1, cache_read=read + 1, cache_written=written + 1, output=output + 1)
    )
    assert less is not None
    assert more is not None
    assert 0 <= less.usd < more.usd


@pytest.mark.slow
def test_the_price_list_is_read_when_a_cost_is_asked_for() -> None:
    """It takes a third of a second, which `clew status` does not have."""
    code = "import sys, clew.chat.prices as p; print('genai_prices' in sys.modules); p.cost_of('x', {'input_tokens': 1}); "
    code += "print('genai_prices' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert told.stdout.split() == ["False", "True"]
