"""Claude Code and the SDKs over three gateways that share one PostgreSQL, one of which is killed in between: A → B → A, byte for
byte."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.clients.codex import Codex
from tests.clients.conversation import SDKS, Sdk
from tests.clients.gateway import KEY
from tests.clients.makers import makers
from tests.clients.scene import scene
from tests.clients.shared import SharedGateways
from tests.clients.test_claude_code import YES, Installed, client_of
from tests.clients.test_codex_wander import PROMPTS, SCRIPT, all_is_back
from tests.clients.test_sdks import LOOP
from tests.clients.test_wander import MODELS, SHAPES, Talk
from tests.counts import SOAK, examples
from tests.numbers import note

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

SOME = SDKS if SOAK else {name: SDKS[name] for name in list(SDKS)[:1]}


@pytest.mark.parametrize("seed", range(examples(1, soak=3)))
def test_claude_code_loses_nothing_between_three_gateways(claude_code: Installed, tmp_path: Path, seed: int) -> None:
    """One conversation, two models, three backends. Every request goes to any of the gateways."""
    chance, turns, gateways = random.Random(seed), examples(4, soak=12), SharedGateways
    with scene(YES, tmp_path, gateway=gateways) as stage:
        talk, active = Talk(client_of(stage, claude_code)), "a"
        with talk.stack:
            for turn in range(turns):
                if turn:
                    active = chance.choice([name for name in "abc" if name != active])
                    stage.gateway.use(active)
                if turn == turns // 2:
                    stage.gateway.kill()
                if turn == turns // 2 + 1:
                    stage.gateway.start()
                run = talk.ask(f"[[scenario:{chance.choice(SHAPES)}]] Turn {turn}.", chance.choice(MODELS))
                assert not run.failed, run
        assert (stage.refusals(), stage.foreign()) == ([], [])
        for witness in (stage.a, stage.b, stage.c):
            assert witness.given_back() == witness.due()
            note("three gateways: blocks back through Claude Code", sum(map(len, witness.due())))


@pytest.mark.parametrize("sdk", SOME.values(), ids=SOME)
def test_the_sdks_lose_nothing_between_three_gateways(sdk: Sdk, tmp_path: Path) -> None:
    with scene(LOOP.replace("%s", sdk.tool), tmp_path, gateway=SharedGateways) as stage:
        stage.gateway.leave_commands(tmp_path / "home")
        (tmp_path / "home" / "use").write_text((tmp_path / "home" / "use").read_text())
        stage.gateway.kill()  # two are left, and any of them is asked
        heard = sdk.converse(stage.gateway.url, KEY, ["First.", "Second."], tmp_path / "home")
        assert heard.answers == ["Done.", "Done."]
        assert (stage.refusals(), stage.foreign()) == ([], [])
        a, b = stage.a, stage.b
        assert a.given_back() == [a.made[:count] for count in range(4)]
        assert b.given_back() == [b.made[:count] for count in (0, 2, 3, 5)]


@pytest.mark.soak
def test_codex_loses_nothing_between_three_gateways(tmp_path: Path) -> None:
    chance, session = random.Random(7), ""
    with makers(SCRIPT, tmp_path, gateway=SharedGateways) as stage:
        client = Codex(gateway=stage.gateway, home=tmp_path / "home", model="gpt-5.5")
        for turn in range(12):
            if turn:
                stage.gateway.use(chance.choice(["openai", "claude", "deepseek"]))
            if turn == 6:
                stage.gateway.kill()
            if turn == 8:
                stage.gateway.start()
            run = client.ask(chance.choice(PROMPTS), resume=session)
            assert (run.status, run.complaints) == (0, []), run
            session = run.session
        assert all_is_back(stage)
        note("three gateways: requests of Codex", sum(stage.counts().values()))
