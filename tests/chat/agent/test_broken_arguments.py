"""A call whose arguments are no JSON in a stream that came to its end: it is not run, and the model is told why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clew import Agent, Limits, Tool
from tests.engine.chatting import DONE, Teller, chunk, telling

pytestmark = pytest.mark.slow

HALF = '{"place": "she'
LONG = '{"place": "' + "x" * 1000
CALLED = [HALF, "oops", "[1]", LONG, '{"place": "shelf"} and more']


def place_of(tmp_path: Path, backend: Teller) -> Any:
    row = f'[backends.local]\ndialect = "openai-chat"\nurl = "{backend.url}/v1"\nkey = "k"\nmodel = "m"\n'
    (tmp_path / "clew.toml").write_text(row)
    tmp_path.chmod(0o700)
    return {"home": tmp_path, "environ": {}}


def says(arguments: str, *, others: str = "") -> bytes:
    """A whole stream that calls `look` so; with `others`, a second call beside it."""
    calls = [("c1", arguments), ("c2", others)] if others else [("c1", arguments)]
    told = [{"index": at, "id": id, "function": {"name": "look", "arguments": text}} for at, (id, text) in enumerate(calls)]
    return chunk(tool_calls=told) + chunk("tool_calls") + DONE


class Looking:
    """A tool that notes where it looked."""

    def __init__(self) -> None:
        self.looked: list[str] = []

    @property
    def tool(self) -> Tool:
        def look(place: str = "everywhere") -> str:
            """Looks at a place."""
            self.looked.append(place)
            return "dust"

        return Tool.of(look)


def results(request: Any) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


@pytest.mark.parametrize("arguments", CALLED)
def test_it_is_not_run_and_the_model_reads_why(tmp_path: Path, arguments: str) -> None:
    looking = Looking()
    with telling(says(arguments)) as backend:
        result = Agent(tools=[looking.tool], limits=Limits(steps=2)).run("Look.", **place_of(tmp_path, backend))
    assert (looking.looked, result.ending) == ([], "limit")
    [told] = results(backend.asked[1])
    assert "The arguments of look are" in told
    assert "Nothing was done." in told


def test_the_call_beside_it_runs(tmp_path: Path) -> None:
    looking = Looking()
    with telling(says(HALF, others='{"place": "shelf"}')) as backend:
        Agent(tools=[looking.tool], limits=Limits(steps=2)).run("Look.", **place_of(tmp_path, backend))
    assert looking.looked == ["shelf"]


def test_a_run_that_goes_on_with_it_later_does_not_run_it_either(tmp_path: Path) -> None:
    """What was wrong with it is kept, as the call is."""
    looking = Looking()
    with telling(says(HALF)) as backend:
        place = place_of(tmp_path, backend)
        agent = Agent(tools=[looking.tool], limits=Limits(steps=1))
        begun = agent.run("Look.", **place)
        [pending] = begun.pending
        assert pending.arguments == HALF
        agent.resume(thread=begun.thread, **place).result()
    assert looking.looked == []
    assert "are not valid JSON" in results(backend.asked[1])[0]
