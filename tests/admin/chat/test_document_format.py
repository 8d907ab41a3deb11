"""The eight steps of document 004 over HTTP, by a client that keeps messages in the document's own format."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clew.testing import Simulator
from tests.admin.chat.served import ChatServer, configured, parts_of, read_until
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

TOOL = {
    "name": "nansenFlowIntelligence",
    "input_schema": {"type": "object", "properties": {"token_address": {"type": "string"}}},
}
HOWTO = Path(__file__).parents[3] / "docs/howto/look-into-the-store.md"
EXAMPLE = """
turn:
  text: Let me fetch flow intelligence data for you
  think: I need to use the nansenFlowIntelligence tool.
  call: nansenFlowIntelligence {"token_address": "3S8q"}

turn:
  think: Based on the flow data.
  text: Here's the analysis: {{result}}
"""


def text(words: str) -> Any:
    return {"type": "text", "text": words}


def reasoning(words: str) -> Any:
    return {"type": "reasoning", "text": words}


def call(id: str) -> Any:
    return {"type": "tool-call", "toolCallId": id, "toolName": TOOL["name"], "args": {"token_address": "3S8q"}}


def result(id: str) -> Any:
    return {"type": "tool-result", "toolCallId": id, "toolName": TOOL["name"], "result": {"data": "inflow"}}


def said(id: str, role: str, *parts: Any) -> Any:
    return {"id": id, "role": role, "parts": list(parts)}


QUESTION = said("u1", "user", text("Analyze MOTHER token"))


@pytest.fixture
def analyst(tmp_path: Path) -> Iterator[Simulator]:
    """A Claude that plays the document's example."""
    script = tmp_path / "example.scenario"
    script.write_text(EXAMPLE)
    with Simulator(scenario=str(script)) as simulator:
        yield simulator


@pytest.fixture
def server(analyst: Simulator, tmp_path: Path) -> Iterator[ChatServer]:
    with ChatServer(configured(tmp_path / "h", {"claude": analyst})) as server:
        yield server


def sent_to(simulator: Simulator) -> list[Any]:
    """The messages of the last request."""
    return json.loads(simulator.body(simulator.journal()[-1]["n"]))["messages"]


def by_hand(thread: str, file: Path) -> dict[str, list[Any]]:
    """What the how-to's own queries find with a plain sqlite3, by column."""
    found: dict[str, list[Any]] = {}
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        database.text_factory = lambda raw: raw.decode(errors="replace")
        for query in re.findall(r"```sql\n(.*?)```", HOWTO.read_text(), re.DOTALL):
            cursor = database.execute(query, {"thread": thread} if ":thread" in query else {})
            rows = cursor.fetchall()
            assert rows or "changes" in query
            found |= {name[0]: [row[at] for row in rows] for at, name in enumerate(cursor.description)}
    return found


def kinds(message: Any) -> list[str]:
    return [block["type"] for block in message["content"]]


def shown(message: Any) -> list[str]:
    """The types of its parts; the marks of steps are the AI SDK's."""
    return [part["type"] for part in message["parts"] if part["type"] != "step-start"]


def as_kept(parts: list[Any]) -> Any:
    """The answer as a client of the document keeps it."""
    deltas = [part for part in parts if part["type"] in ("text-delta", "reasoning-delta", "tool-input-available")]
    kept: list[Any] = []
    for part in deltas:
        if part["type"] == "tool-input-available":
            kept.append(
                {"type": "tool-call", "toolCallId": part["toolCallId"], "toolName": part["toolName"], "args": part["input"]}
            )
        elif kept and kept[-1].get("of") == part["id"]:
            kept[-1]["text"] += part["delta"]
        else:
            kept.append({"type": part["type"].removesuffix("-delta"), "text": part["delta"], "of": part["id"]})
    return said(parts[0]["messageId"], "assistant", *({name: each[name] for name in each if name != "of"} for each in kept))


@public("gateway")
@proves("req:S4-2", "req:S4-3", "req:S4-5", "req:S4-6", "req:S4-7", "req:S4-31", "req:S4-32")
def test_the_eight_steps_with_the_documents_own_messages(server: ChatServer, analyst: Simulator) -> None:
    """Saved before it is asked; sent transformed; streamed, saved and shown in the order in which it was generated."""
    with server.posted([QUESTION], chat="token", tools=[TOOL]) as reply:  # 1. incoming
        began = read_until(reply, "start")
        saved = server.messages("token")[0]  # 2. saved at once
        parts = [*began, *parts_of(reply.read().lstrip())]
    assert saved["parts"] == QUESTION["parts"]
    answer = as_kept(parts)  # 5, 6. streamed as generated
    assert shown(answer) == ["text", "reasoning", "tool-call"]
    first = server.messages("token")[-1]  # 7, 8. saved and shown as generated
    assert shown(first) == ["text", "reasoning", f"tool-{TOOL['name']}"]

    id = answer["parts"][-1]["toolCallId"]
    messages = [QUESTION, answer, said("u2", "user", result(id))]
    last = as_kept(server.post(messages, chat="token", tools=[TOOL]))
    assert last["parts"] == [reasoning("Based on the flow data."), text('Here\'s the analysis: {"data": "inflow"}')]
    asked, made, answered = sent_to(analyst)  # 3, 4. transformed and sent: the signed block stays in its place
    assert asked == {"role": "user", "content": "Analyze MOTHER token"}
    assert kinds(made) == ["text", "thinking", "tool_use"] and made["content"][1]["signature"]
    assert answered["content"] == [{"type": "tool_result", "tool_use_id": id, "content": '{"data": "inflow"}'}]

    [_, whole] = server.messages("token")
    [stored, *_] = by_hand("token", server.home.root / "clew.db")["answered"]  # "check the database"
    assert re.findall(r'{"type":"(text|thinking|tool_use)"', stored) == ["text", "thinking", "tool_use"]
    assert shown(whole) == [*shown(first), "reasoning", "text"]
    messages = [*messages, last, said("u3", "user", text("Thanks."))]
    server.post(messages, chat="token", tools=[TOOL])
    assert [message["role"] for message in sent_to(analyst)] == ["user", "assistant", "user", "assistant", "user"]
    assert server.messages("token")[1]["parts"] == whole["parts"]


@public("gateway")
@proves("req:S4-14", "req:S4-15", "req:S4-31", "req:S4-22")
def test_a_conversation_that_began_elsewhere_is_kept_as_it_came_and_sent_as_claude_takes_it(
    server: ChatServer, analyst: Simulator
) -> None:
    """Its reasoning has no signature: it is stored and shown, and Claude never gets it; the metadata says so."""
    history = [
        QUESTION,
        said("a1", "assistant", text("Let me fetch that"), reasoning("I need the tool."), call("c1")),
        said("u2", "user", result("c1")),
    ]
    parts = server.post(history, chat="moved", tools=[TOOL])
    assert [kinds(message) if isinstance(message["content"], list) else "text" for message in sent_to(analyst)] == [
        ["text"],
        ["text", "tool_use"],
        ["tool_result"],
    ]
    [change] = parts[-1]["messageMetadata"]["thinking"]["changes"]
    assert (change["path"], change["what"]) == ("messages.1.content.1", "left out")
    seen = by_hand("moved", server.home.root / "clew.db")
    assert (seen["path"], seen["what"]) == ([change["path"]], ["left out"])
    assert '"thinking":"I need the tool."' in seen["asked"][0]
    [asked, brought, *_] = server.messages("moved")
    assert asked["parts"] == QUESTION["parts"]
    assert shown(brought) == ["text", "reasoning", f"tool-{TOOL['name']}"]


@public("gateway")
@proves("req:S4-14", "req:S4-15", "req:S4-17", "req:S4-18")
@pytest.mark.parametrize(
    ("parts", "follows", "sent"),
    [
        (["a", "call 1", "result 1", "b"], ["And?"], ["text tool_use", "tool_result", "text", "text"]),
        (["call 1", "a", "result 1"], [], ["tool_use text", "tool_result"]),
        (["call 1", "a", "result 1"], ["And?"], ["tool_use text", "tool_result", "text"]),
        (
            ["call 1", "result 1", "a", "call 2", "result 2"],
            [],
            ["tool_use", "tool_result", "text", "tool_use", "tool_result"],
        ),
    ],
    ids=["three-messages", "no-tail", "no-tail-and-asked-on", "five-messages"],
)
def test_calls_and_results_in_one_answer_reach_the_model_in_messages_of_their_own(
    server: ChatServer, analyst: Simulator, parts: list[str], follows: list[str], sent: list[str]
) -> None:
    """S4-14, S4-15, S4-18: no result is lost, and the strict simulator takes the request."""
    made = {"call": call, "result": result}
    given = [made[part.split()[0]](part.split()[1]) if " " in part else text(part) for part in parts]
    history = [QUESTION, said("a1", "assistant", *given), *(said("u2", "user", text(words)) for words in follows)]
    server.post(history, chat="one", tools=[TOOL])
    _, *answers = sent_to(analyst)
    assert [" ".join(kinds(each)) for each in answers] == sent
    results = [block for message in answers for block in message["content"] if block["type"] == "tool_result"]
    assert {block["content"] for block in results} == {'{"data": "inflow"}'}


@public("gateway")
@proves("req:S4-25", "req:S4-29", "req:S4-30", "req:S4-31", "req:S4-32")
@pytest.mark.parametrize("claude", [True, False], ids=["claude", "takes-unsigned"])
def test_reorder_mode_sends_thinking_first_to_a_backend_that_takes_it_and_shows_what_came(
    tmp_path: Path, claude: bool
) -> None:
    """S4-31: stored and shown [text, reasoning, tool-call], sent [thinking, text, tool-call]; Claude gets no such thinking."""
    history = [
        QUESTION,
        said("a1", "assistant", text("Let me fetch that"), reasoning("I need the tool."), call("c1")),
        said("u2", "user", result("c1")),
    ]
    vendor = "anthropic" if claude else "kimi"
    with Simulator(kind=vendor) as backend:
        row = f'preset = "{vendor}"\nurl = "{backend.url}"\nkey = "{backend.key}"'
        root = configured(tmp_path / "h", {}, f'[backends.one]\n{row}\n[chat]\nthinking_first = "reorder"')
        with ChatServer(root) as server:
            parts = server.post(history, chat="moved", tools=[TOOL])
            sent, changes = sent_to(backend)[1], parts[-1]["messageMetadata"]["thinking"]["changes"]
            server.post([said("u3", "user", text("And?"))], chat="moved", tools=[TOOL])
            assert sent_to(backend)[1] == sent
            brought = server.messages("moved")[1]
    assert kinds(sent) == (["text", "tool_use"] if claude else ["thinking", "text", "tool_use"])
    moved = [each["what"] for each in changes if each["path"] == "messages.1.content.1"]
    assert moved == ["left out" if claude else "moved"]
    assert shown(brought) == ["text", "reasoning", f"tool-{TOOL['name']}"]


@public("page")
@proves("req:S4-4", "req:S4-16", "req:S4-19")
def test_the_structure_is_made_before_thinking_is_put_first(tmp_path: Path) -> None:
    """S4-4: else the thought would lead the first call. S4-16, S4-19: a message of calls alone and one without parts stay."""
    history = [
        QUESTION,
        said("a1", "assistant", call("c1"), result("c1"), call("c2"), reasoning("Both."), result("c2")),
        said("a2", "assistant", call("c3"), call("c4")),
        said("u2", "user", result("c3"), result("c4")),
        said("a3", "assistant"),
        said("u3", "user", text("And?")),
    ]
    with Simulator(kind="kimi") as backend:
        row = f'preset = "kimi"\nurl = "{backend.url}"\nkey = "{backend.key}"'
        root = configured(tmp_path / "h", {}, f'[backends.one]\n{row}\n[chat]\nthinking_first = "reorder"')
        with ChatServer(root) as server:
            server.post(history, chat="order", tools=[TOOL])
            _, *sent, last = sent_to(backend)
    said_by_model = [[block.get("thinking") or block["id"] for block in each["content"]] for each in sent[::2]]
    blank = " "  # this vendor wants a thought before each call
    assert said_by_model == [[blank, "c1"], ["Both.", "c2"], [blank, "c3", "c4"]]
    assert [[block["tool_use_id"] for block in each["content"]] for each in sent[1::2]] == [["c1"], ["c2"], ["c3", "c4"]]
    assert last["content"] == [text("And?")]


@public("gateway")
@proves("req:S4-4", "req:S4-16", "req:S4-18")
def test_an_answer_is_split_before_its_thinking_is_moved(tmp_path: Path) -> None:
    """S4-4: tool structure, reasoning to thinking, thinking first. In another order the thought would lead the first call."""
    parts = [text("Look."), call("1"), result("1"), text("So."), reasoning("Once more."), call("2"), result("2")]
    with Simulator(kind="kimi") as backend:
        row = f'preset = "kimi"\nurl = "{backend.url}"\nkey = "{backend.key}"'
        root = configured(tmp_path / "h", {}, f'[backends.one]\n{row}\n[chat]\nthinking_first = "reorder"')
        with ChatServer(root) as server:
            server.post([QUESTION, said("a1", "assistant", *parts)], chat="order", tools=[TOOL])
        _, *answers = sent_to(backend)
    made = [each["content"] for each in answers if each["role"] == "assistant"]
    [(at, leading)] = [(at, blocks) for at, blocks in enumerate(made) if blocks[0].get("thinking") == "Once more."]
    assert (at, [block["type"] for block in leading]) == (2, ["thinking", "tool_use"])


@public("gateway")
@pytest.mark.parametrize(
    ("message", "words"),
    [
        (said("u2", "user", call("c1")), "a user message has a tool call"),
        (said("u2", "user", {"type": "tool-result", "result": 1}), "needs a `toolCallId`"),
        (said("u2", "narrator", text("Once.")), "the role 'narrator'"),
    ],
)
def test_what_cannot_be_read_gets_an_error_that_names_it(server: ChatServer, message: Any, words: str) -> None:
    with server.posted([QUESTION, said("a1", "assistant", text("Hm.")), message], chat="bad") as reply:
        assert reply.status == 400
        assert words in reply.read().decode()
