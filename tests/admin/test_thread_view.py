"""A thread as a backend would get it: the same as a real request would show."""

import json
from pathlib import Path
from typing import Any

import pytest

from clew.admin.thread_view import projected
from clew.model.change import Change
from clew.testing import Simulator
from tests.admin.booth import until
from tests.build import user
from tests.engine.gate import Gate, claude, other

pytestmark = pytest.mark.slow


def ask(gate: Gate, messages: list[Any]) -> list[Any]:
    """One turn; the history with its answer."""
    body = {"model": "claude-opus-4-5", "max_tokens": 3000, "messages": messages}
    body["thinking"] = {"type": "enabled", "budget_tokens": 2000}
    answer = gate.ask(body)
    assert answer.status == 200, answer.raw
    return [*messages, {"role": "assistant", "content": answer.json["content"]}]


def test_the_view_is_what_the_next_request_would_be(tmp_path: Path) -> None:
    """Law 2 and law 6: a real third request, and the view before it, have the same messages and the same changes."""
    mapped = {"opus": "glm-5"}  # the newest answer is by a model that nobody asked for
    with (
        Simulator() as one,
        Simulator(kind="compat") as two,
        Gate(tmp_path, claude(one), other(two, models=mapped)) as gate,
    ):
        history = ask(gate, [user("First?")])
        gate.use("glm")
        history = ask(gate, [*history, user("Second?")])
        assert gate.store is not None
        [thread] = gate.store.threads("local")
        passages = gate.store.passages("local", thread.id)
        views = {name: projected(passages, name, gate.current.snapshot, gate.store, "local") for name in ("claude", "glm")}
        assert json.loads(json.dumps(views["glm"].asked)) == history

        gate.use("claude")
        ask(gate, [*history, user("Third?")])
        [real, *_] = gate.store.exchanges("local", thread=thread.id)
        store = gate.store
        sent = until(lambda: store.bodies("local", real.id))
    shown = [json.loads(bytes(raw)) for raw in views["claude"].messages]
    assert views["claude"].changes == real.changes == (left_out("messages.3.content.0", "glm"),)
    assert views["claude"].model == real.model == json.loads(sent.sent)["model"]
    assert json.loads(sent.sent)["messages"][:-1] == shown
    assert shown[3]["content"] == history[3]["content"][1:]
    assert views["glm"].changes == (left_out("messages.1.content.0", "claude"),)


def left_out(path: str, maker: str) -> Change:
    return Change("thinking", path, "left out", f"made by {maker}")
