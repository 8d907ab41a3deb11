"""opencode through the gateway, on Responses and on Chat Completions: its tool loop on three makers, and resumed."""

from pathlib import Path

import pytest

from tests.clients.makers import LOOP, makers
from tests.clients.opencode import Opencode
from tests.counts import SOAK
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

SCRIPT = LOOP.replace("call: run {", 'call: bash {"description": "a command", ')


@pytest.mark.parametrize("api", ["responses", "chat"] if SOAK else ["responses"])
@public("gateway", "cli")
@proves("case:111")
def test_each_maker_gets_its_own_back_and_nothing_else(api: str, tmp_path: Path) -> None:
    """OpenAI → Claude → DeepSeek, where the gateway dies → OpenAI; the soak resumes it in a new process."""
    with makers(SCRIPT, tmp_path) as stage:
        client = Opencode(gateway=stage.gateway, home=tmp_path / "home", api=api)
        first = client.ask("Have a look.", deaths=1)
        assert (first.answer, first.status) == ("Done.", 0)
        if SOAK:
            second = client.ask("[[scenario:thinking]] And now?", resume=first.session)
            assert (second.status, second.session) == (0, first.session)
        assert stage.counts() == {"openai": 3 + SOAK, "claude": 1, "deepseek": 2}
        assert stage.is_well()
        assert stage.says_nothing_aloud()
