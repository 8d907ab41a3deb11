"""Clients of OpenAI's dialects through the gateway: a tool loop each, in which the maker changes and the gateway dies."""

from pathlib import Path

import pytest

from tests.clients.makers import LOOP, makers
from tests.clients.openai_clients import CLIENTS
from tests.counts import SOAK
from tests.manifest import public

pytestmark = pytest.mark.slow

ALL = [(name, api) for name, client in CLIENTS.items() for api in client.apis]
FEW = [
    ("openai-python", "chat"),
    ("openai-js", "responses"),
    ("ai-sdk", "stored"),
    ("agents", "responses"),
    ("langchain", "chat"),
    ("pydantic-ai", "responses"),
    ("llm", "responses"),
]
"""Each client, and the ways of speaking that clients differ in; the soak has all."""

PROMPTS = [*(["First.", "Second."] if SOAK else ["First."]), "[[scenario:thinking]] And now?"]
COUNTS = {"openai": 7, "claude": 2, "deepseek": 4} if SOAK else {"openai": 4, "claude": 1, "deepseek": 2}


@pytest.mark.parametrize(("name", "api"), ALL if SOAK else FEW, ids=lambda value: value)
@public("gateway")
def test_each_maker_gets_its_own_back_and_nothing_else(name: str, api: str, tmp_path: Path) -> None:
    """OpenAI → Claude → DeepSeek → OpenAI within one loop, with the gateway killed in it; and asked again with all of it."""
    with makers(LOOP, tmp_path) as stage:
        heard = CLIENTS[name].converse(stage.gateway, api, PROMPTS, tmp_path / "home", deaths=len(PROMPTS) - 1)

        assert [answer.endswith("Done.") for answer in heard.answers[:-1]] == [True] * (len(PROMPTS) - 1)
        assert stage.counts() == COUNTS
        assert stage.is_well()
        assert stage.says_nothing_aloud()
