"""A thread as a backend would get it: the same as a real request would show."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew import AsyncConversation
from clew.admin.threads import Projected, projected
from clew.chat.request import CUT
from clew.engine.snapshot import snapshot_of
from clew.errors import BackendBroken
from clew.model.change import Change
from clew.settings.load import load
from clew.settings.own_keys import load_keyring
from clew.store.sqlite.store import SqliteStore
from clew.testing import Simulator
from tests.build import user
from tests.engine.chatting import chat
from tests.engine.gate import KEY, Answer, Gate, claude, other
from tests.identity.front_clients import FRONT_CLIENTS
from tests.waiting import until

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
    shown = list(views["claude"].messages)
    assert views["claude"].changes == real.changes == (left_out("messages.3.content.0", "glm"),)
    assert views["claude"].model == real.model == json.loads(sent.sent)["model"]
    assert json.loads(sent.sent)["messages"][:-1] == shown
    assert shown[3]["content"] == history[3]["content"][1:]
    assert views["glm"].changes == (left_out("messages.1.content.0", "claude"),)


@pytest.mark.parametrize("client", ["responses, Codex", "chat, returns details"])
@pytest.mark.parametrize("kind", ["compat", "deepseek-chat", "anthropic"])
def test_the_view_of_a_client_of_another_front_holds_what_that_client_holds(client: str, kind: str, tmp_path: Path) -> None:
    """Its seals bring whole blocks, its calls have ids of their own: what it brings back is no news to anybody."""
    front = FRONT_CLIENTS[client]
    headers = {"authorization": f"Bearer {KEY}", "anthropic-version": ""}

    def asks(held: list[Any]) -> Answer:
        return gate.ask({**front.body(held, ""), "model": "claude-opus-4-5"}, path=front.path, headers=headers)

    with Simulator(kind=kind) as sim:
        row = {"compat": other, "anthropic": claude}.get(kind, lambda sim: chat(sim, "deepseek"))(sim)
        with Gate(tmp_path, row) as gate:
            assert gate.store is not None
            held = front.asked("First? [[scenario:interleaved]]")
            answer = asks(held)
            [thread] = gate.store.threads("local")
            passages = gate.store.passages("local", thread.id)
            view = projected(passages, row.name, gate.current.snapshot, gate.store, "local")
            kept = front.returned(answer.json)
            assert asks([*held, *kept, *front.results(kept)]).status == 200
            [real, *_] = gate.store.exchanges("local", thread=thread.id)
    thinks = sum(block["type"] == "thinking" for block in view.asked[-1]["content"])
    said = [change.what for change in (*view.changes, *real.changes) if change.step == "thinking"]
    assert (thinks, real.kept, said) == (thinks, thinks, [])
    assert thinks
    [recording] = [passage.recording for passage in passages if passage.recording]
    assert [block["id"] for block in view.asked[-1]["content"] if block["type"] == "tool_use"] == [*recording.said.ids]


def left_out(path: str, maker: str) -> Change:
    return Change("thinking", path, "left out", f"made by {maker}")


def test_the_view_of_a_conversation_is_what_it_sends_itself(tmp_path: Path) -> None:
    """After an answer that was cut short, the model is told so. A client's thread has no such words: nobody sends them."""
    (home := tmp_path / "home").mkdir(mode=0o700)

    async def talk() -> tuple[str, Projected]:
        async with AsyncConversation.open(home=home, environ={}, model="claude-opus-5-5") as conversation:
            with pytest.raises(BackendBroken):
                await conversation.ask("Tell me something long.")
            await conversation.ask("And now?")
            return conversation.thread, await conversation.as_sent("claude")

    with Simulator() as sim:
        (home / "clew.toml").write_text(f'[backends.claude]\npreset = "anthropic"\nurl = "{sim.url}"\nkey = "{sim.key}"\n')
        sim.fault("cut after=8")
        thread, own = asyncio.run(talk())
    with SqliteStore(home / "clew.db") as store:
        passages = store.passages("local", thread)
        first = passages[0].recording
        assert first is not None
        assert (len(first.blocks), first.whole) == (1, False)
        snapshot = snapshot_of(load(None, {"CLEW_HOME": str(home)}).settings, load_keyring(home / "secret", {}).sealer())
        view = projected(passages, "claude", snapshot, store, "local")
        clients = [replace(each, recording=each.recording and replace(each.recording, session="s")) for each in passages]
        other = projected(clients, "claude", snapshot, store, "local")
    assert (view.asked, view.messages, view.changes) == (own.asked, own.messages, own.changes)
    assert CUT in str(view.messages[2])
    assert CUT not in str(other.messages[2])
