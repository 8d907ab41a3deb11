"""Clients of OpenAI's dialects through the gateway: a tool loop each, in which the maker changes and the gateway dies."""

from pathlib import Path

import pytest

from tests.clients.makers import LOOP, makers
from tests.clients.openai_clients import CLIENTS
from tests.counts import SOAK
from tests.manifest import public

pytestmark = pytest.mark.slow

ALL = [(name, api) for name, client in CLIENTS.items() for api in client.apis]
FEW = [("openai-python", "chat"), ("openai-js", "chat"), ("ai-sdk", "chat"), ("langchain", "chat")]


@pytest.mark.parametrize(("name", "api"), ALL if SOAK else FEW, ids=lambda value: value)
@public("gateway")
def test_each_maker_gets_its_own_back_and_nothing_else(name: str, api: str, tmp_path: Path) -> None:
    """Vendor → Claude → DeepSeek → vendor within one loop, with the gateway killed in it; and again with that as history."""
    with makers("kimi-chat", 'preset = "kimi"', LOOP, tmp_path) as stage:
        heard = CLIENTS[name].converse(stage.gateway, api, ["First.", "Second."], tmp_path / "home", deaths=2)

        assert [answer.endswith("Done.") for answer in heard.answers] == [True, True]
        assert stage.counts() == {"vendor": 6, "claude": 2, "deepseek": 4}
        assert stage.is_well()
        assert stage.says_nothing_aloud()
