"""`--backend` and `--model` of `clew run` and `clew ask`: one command, a preset or a backend, and its own name of a model."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.homes import Home
from tests.cli.test_run import ASK, home, run
from tests.engine.chatting import DONE, chunk, telling
from tests.gateway.served import CLEW
from tests.manifest import public

__all__ = ["home"]

pytestmark = [pytest.mark.slow, public("cli")]

ANSWER = chunk(reasoning="Hm.") + chunk("stop", content="Yes.") + DONE


def configure(home: Path, url: str) -> None:
    table = f'[backends.grok]\npreset = "openrouter"\nurl = "{url}/v1"\nkey = "k"\nmodel = "x-ai/grok-4"\n'
    (home / "clew.toml").write_text(table)
    (home / "clew.toml").chmod(0o600)


def test_a_run_asks_its_backend_for_the_model_that_was_named_whatever_the_client_names(home: Path) -> None:
    """The log names both."""
    with telling(ANSWER) as teller:
        configure(home, teller.url)
        told = run(home, "--backend", "grok", "--model", "x-ai/grok-code-fast-1", "--", sys.executable, "-c", ASK)
        assert told.returncode == 7, told.stderr
    assert [body["model"] for body in teller.asked] == ["x-ai/grok-code-fast-1"]
    [kept] = map(json.loads, run(home, "--", str(CLEW), "log", "--json").stdout.splitlines())
    assert (kept["asked_model"], kept["backend"], kept["model"]) == ("claude-opus-5-5", "grok", "x-ai/grok-code-fast-1")


def test_a_preset_whose_key_is_in_the_environment_needs_no_config_and_status_shows_its_model(home: Path) -> None:
    arguments = ("--backend", "openrouter", "--model", "x-ai/grok-4", "--", str(CLEW), "status", "--json")
    told = run(home, *arguments, OPENROUTER_API_KEY="k")
    [gateway] = json.loads(told.stdout)["gateways"]
    active = gateway["active"]
    assert (active["backend"], active["is_unknown"], gateway["model"]) == ("openrouter", False, "x-ai/grok-4")


def test_a_preset_without_its_key_says_which_variable_is_wanted(home: Path) -> None:
    told = run(home, "--backend", "openrouter", "--", "true")
    assert (told.returncode, "set OPENROUTER_API_KEY" in told.stderr) == (5, True)


def test_a_model_without_a_backend_is_no_name_of_anything(home: Path) -> None:
    told = run(home, "--model", "x", "--", "true")
    assert (told.returncode, "name that backend with --backend" in told.stderr) == (2, True)


def test_a_question_goes_to_the_backend_under_the_name_that_was_given(tmp_path: Path) -> None:
    with telling(ANSWER) as teller:
        home = Home(tmp_path / "home", "")
        configure(home.root, teller.url)
        done = home.clew("ask", "--json", "--backend", "grok", "--model", "x-ai/grok-code-fast-1", "Why?")
        assert done.exit_code == 0, done.stderr
        home.clew("ask", "--backend", "grok", "Why?")
    assert [body["model"] for body in teller.asked] == ["x-ai/grok-code-fast-1", "x-ai/grok-4"]
    assert json.loads(done.stdout)["model"] == "x-ai/grok-code-fast-1"


def test_a_question_may_go_to_a_preset_that_the_config_does_not_name(tmp_path: Path) -> None:
    """Nobody listens there: the answer fails, and says where it was asked for."""
    home = Home(tmp_path / "home", '[backends.vllm-of-mine]\npreset = "vllm"\n')
    done = home.clew("ask", "--json", "--backend", "sglang", "--model", "qwen3", "Why?")
    assert (done.exit_code, json.loads(done.stdout)["backend"]) == (3, "sglang")
