"""The heads of an exchange: kept with its bodies, without any credential."""

import pytest

from clew.exchange.heads import HIDDEN, _shown
from clew.model.turn import Heads
from clew.testing import Simulator
from tests.engine.conftest import Gating
from tests.engine.gate import claude
from tests.engine.kept import eventually, store_of
from tests.engine.talk import Talk
from tests.manifest import proves


@pytest.mark.parametrize(
    "name",
    [
        "X-Api-Key",
        "authorization",
        "x-goog-api-key",
        "cookie",
        "set-cookie",
        "x-auth-token",
        "api_key",
        "cf-access-jwt-assertion",
    ],
)
def test_a_credential_is_known_by_its_name(name: str) -> None:
    assert _shown(name, "secret") == HIDDEN


@pytest.mark.parametrize("name", ["anthropic-ratelimit-tokens-remaining", "user-agent", "request-id", "x-author", "monkey"])
def test_what_is_no_credential_is_shown(name: str) -> None:
    assert _shown(name, "value") == "value"


@pytest.mark.slow
@proves("fault:X12")
def test_all_three_heads_are_kept_and_no_key_is_in_them(gating: Gating, a: Simulator) -> None:
    gate = gating(claude(a))
    answer = Talk(gate, headers={"user-agent": "a client"}, tools=[]).says("Why?")
    kept = eventually(lambda: store_of(gate).bodies("local", answer.headers["x-clew-exchange"]))
    heads = kept.heads
    assert isinstance(heads, Heads)
    assert (heads.target, heads.status) == ("POST /v1/messages", 200)
    assert dict(heads.asked)["user-agent"] == "a client" and "x-api-key" not in dict(heads.asked)
    assert dict(heads.sent)["x-api-key"] == HIDDEN and dict(heads.sent)["anthropic-version"] == "2023-06-01"
    assert "request-id" in dict(heads.answered)
