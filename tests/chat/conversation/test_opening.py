"""Opening a conversation: with backends that stand in no file, with and without a `with`."""

from __future__ import annotations

import asyncio
import gc
import inspect
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from clew import Agent, AsyncAgent, AsyncConversation, Conversation
from clew.errors import RequestInvalid, SettingsInvalid
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.engine.talk import MODEL

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Without a config."""
    tmp_path.chmod(0o700)
    return tmp_path


def opened(home: Path, **more: Any) -> Conversation:
    return Conversation.open(**{"home": home, "environ": {}, "model": MODEL, **more})


# Backends that stand in no file


def test_backends_are_given_without_a_file(home: Path, simulators: StartSimulator) -> None:
    """The first answers, and any can be named."""
    a, b = simulators(), simulators(kind="deepseek-chat")
    with opened(home, backends={"mine": a.backend, "deepseek": b.backend}) as conversation:
        conversation.ask("Hello!").message()
        conversation.use("deepseek", model="deepseek-chat")
        conversation.ask("And you?").message()
        assert [turn.backend for turn in conversation.turns] == ["mine", "deepseek"]
    assert not (home / "clew.toml").exists()


def test_an_agent_takes_them_too(home: Path, simulator: Simulator) -> None:
    result = Agent(model=MODEL).run("Hello!", home=home, environ={}, backends={"mine": simulator.backend})
    assert result.ending == "answered"


def test_given_backends_are_neither_those_of_the_file_nor_what_was_chosen_among_them(
    home: Path, simulators: StartSimulator
) -> None:
    """Also while the file changes."""
    of_file, given = simulators(), simulators()
    of_file.home(home)
    with opened(home, backends={"mine": given.backend}) as conversation:
        of_file.home(home)
        assert sorted(conversation._own.service.backends) == ["mine"]
        conversation.ask("Hello!").message()
    assert (of_file.journal(), len(given.journal())) == ([], 1)


@pytest.mark.parametrize(
    ("given", "key", "says"),
    [
        ({"backends": {"mine": {"urll": "http://x"}}}, "backends.mine.urll", "settings: backends.mine.urll: "),
        ({"backends": {"mine": {"url": 7}}}, "backends.mine.url", "settings: backends.mine.url: "),
        ({"backends": {"mine": "http://x"}}, "backends.mine", "settings: backends.mine: "),
        ({"backends": ["mine"]}, "backends", "backends are a table for each name, not a list"),
        (
            {"config": {"backends": {}}},
            "config",
            "config is a path, not a dict: give backends that are not in a file as `backends",
        ),
        ({"backends": {}, "config": "x.toml"}, "backends", "give either backends or config, not both"),
        ({"backends": {}, "url": "auto"}, "backends", "give either backends or url, not both"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(home: Path, given: dict[str, Any], key: str, says: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        opened(home, **given)
    assert caught.value.key == key
    assert says in str(caught.value)


def test_a_home_is_a_path() -> None:
    home: Any = 7
    with pytest.raises(SettingsInvalid, match="home is a path, not a int"):
        Conversation.open(home=home)


def test_a_base_url_of_this_machine_in_the_environment_is_refused_and_not_passed_over(
    home: Path, simulator: Simulator
) -> None:
    """It may be a gateway of clew, which would be asked in its own name; the error says how to say it."""
    with pytest.raises(SettingsInvalid, match="ANTHROPIC_BASE_URL is not used where it names this machine") as caught:
        opened(home, environ={"ANTHROPIC_BASE_URL": simulator.url, "ANTHROPIC_API_KEY": simulator.key})
    assert f'backends={{"claude": {{"url": "{simulator.url}"' in str(caught.value)


# With and without a `with`


def test_a_conversation_is_used_without_a_with_and_closed_twice(home: Path, simulator: Simulator) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        conversation = opened(home, backends={"claude": simulator.backend})
        assert conversation.ask("Hello!").message().role == "assistant"
        conversation.close()
        conversation.close()
        with pytest.raises(RequestInvalid, match="this is closed"):
            conversation.ask("And now?").message()
        assert len(conversation.turns) == 1
        del conversation
        gc.collect()


def test_an_asynchronous_one_too(home: Path, simulator: Simulator) -> None:
    async def talk() -> str:
        conversation = await AsyncConversation.open(
            home=home, environ={}, model=MODEL, backends={"claude": simulator.backend}
        )
        message = await conversation.ask("Hello!")
        await conversation.close()
        await conversation.close()
        with pytest.raises(RequestInvalid, match="this conversation is closed"):
            await conversation.ask("And now?")
        async with await AsyncConversation.open(conversation.thread, home=home, environ={}, backends={}) as again:
            assert len(again.turns) == 1
        return message.role

    assert asyncio.run(talk()) == "assistant"


def test_a_program_that_never_closes_one_comes_to_its_end(home: Path, simulator: Simulator) -> None:
    """As a notebook, or a script that fails. What was answered is kept."""
    script = f"""
from clew import Conversation
conversation = Conversation.open(home={str(home)!r}, environ={{}}, model={MODEL!r}, backends={{"claude": {simulator.backend!r}}})
print(conversation.ask("Hello!").message().role, conversation.thread)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    role, thread = done.stdout.split()
    assert role == "assistant"
    with opened(home, thread=thread, backends={"claude": simulator.backend}) as conversation:
        assert [turn.outcome for turn in conversation.turns] == ["whole"]


# What is shown of it


@pytest.mark.parametrize("function", [Conversation.open, AsyncConversation.open])
def test_the_signature_of_open_has_types_and_defaults(function: Any) -> None:
    shown = {name: str(each) for name, each in inspect.signature(function).parameters.items()}
    assert shown["thread"] == "thread: 'str' = ''"
    assert shown["max_tokens"] == "max_tokens: 'int' = 16000"
    assert shown["on_overflow"] == "on_overflow: 'OnOverflow' = 'error'"
    assert "wishes" not in shown


@pytest.mark.parametrize("kind", [Agent, AsyncAgent])
def test_the_signatures_of_agents_have_types_and_defaults(kind: Any) -> None:
    made = {name: str(each) for name, each in inspect.signature(kind).parameters.items()}
    assert (made["name"], made["retries"]) == ("name: 'str' = 'agent'", "retries: 'int' = 2")
    for method in (kind.open, kind.run, kind.stream, kind.resume):
        shown = {name: str(each) for name, each in inspect.signature(method).parameters.items()}
        assert shown["home"] == "home: 'str | Path | None' = None"
        assert "place" not in shown
