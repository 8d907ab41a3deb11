"""The imitation as a whole: what Claude Code sends after what it was told (clients 1.4–1.6, 1.9; identity 1.1, 1.3)."""

from typing import Any

import pytest

from tests.build import Json, assistant, redacted, system, text, thinking, tool_result, tool_use, user
from tests.identity.answers import LATEST, NODE_20, STAND_IN
from tests.identity.client import ClaudeCode
from tests.identity.histories import COMPACT, INTERRUPTED, SUMMARY

OPUS, SONNET = "claude-opus-5-5", "claude-sonnet-5-5"
MARK = {"cache_control": {"type": "ephemeral"}}
VERSIONS = pytest.mark.parametrize("version", [LATEST, NODE_20])


def marked(message: Json) -> Json:
    *before, last = message["content"] if isinstance(message["content"], list) else [text(message["content"])]
    return {**message, "content": [*before, {**last, **MARK}]}


def test_a_tool_loop_comes_back_with_its_thinking() -> None:
    """As captured: strings and lists, one mark, the environment as a system message."""
    client = (
        ClaudeCode()
        .asks("go")
        .reminded("env")
        .hears([thinking("t", "s"), text("Running."), tool_use("t1", command="ls")])
        .runs()
    )

    assert client.request() == {
        "model": OPUS,
        "max_tokens": 128000,
        "messages": [
            user("go"),
            system("env"),
            assistant(thinking("t", "s"), "Running.", tool_use("t1", command="ls")),
            marked(user(tool_result("t1", is_error=False))),
        ],
        "stream": True,
    }


def test_a_remark_in_a_loop_joins_the_results() -> None:
    """Users in a row are one message."""
    client = ClaudeCode().asks("go").hears([tool_use("t1")]).runs(t1="out").asks("hurry")

    assert client.messages()[-1] == marked(user(tool_result("t1", "out", is_error=False), "hurry"))


def test_another_models_signed_thinking_leaves_and_comes_back_with_its_model() -> None:
    """Unsigned thinking goes to everybody; a client that keeps all sends all (W9)."""
    client = ClaudeCode().asks("a").hears([thinking("t", "s"), thinking("u", None), text("A")]).asks("b").switches(SONNET)
    whole = assistant(thinking("t", "s"), thinking("u", ""), "A")

    assert client.messages() == [user("a"), assistant(thinking("u", ""), "A"), marked(user("b"))]
    assert client.switches(OPUS).messages()[1] == whole
    assert ClaudeCode(keeps_others=True, model=SONNET, entries=client.entries).messages()[1] == whole


@pytest.mark.parametrize(("version", "kept_at_once"), [(LATEST, True), (NODE_20, False)])
def test_an_answer_under_another_name_loses_its_thinking_at_once_or_on_resume(version: Any, kept_at_once: bool) -> None:
    """So a gateway must echo the requested name (clients 1.6, C11)."""
    client = ClaudeCode(version=version).asks("a").hears([thinking("t", "s"), text("A")], model="qwen3-32b-local").asks("b")

    assert (client.messages()[1] == assistant(thinking("t", "s"), "A")) is kept_at_once
    assert client.resumes().messages()[1] == assistant("A")


def test_a_resumed_session_asks_for_the_name_that_claude_gave() -> None:
    """A dated name in the answer is requested from then on, and is then its own (clients 1.6)."""
    client = (
        ClaudeCode().asks("a").hears([thinking("t", "s"), text("A")], model="claude-opus-5-5-20260801").asks("b").resumes()
    )

    assert client.request()["model"] == "claude-opus-5-5-20260801"
    assert client.messages()[1] == assistant(thinking("t", "s"), "A")
    assert ClaudeCode().asks("a").resumes().model == OPUS


@pytest.mark.parametrize(("version", "again"), [(LATEST, False), (NODE_20, True)])
def test_after_a_refusal_all_thinking_is_gone_and_the_old_version_sends_it_again_on_resume(
    version: Any, again: bool
) -> None:
    """The live case of "a block put back after a removal" (identity 1.3). New thinking is kept."""
    client = ClaudeCode(version=version).asks("a").hears([thinking("t", "s"), redacted("d"), text("A")]).asks("b").refused()

    assert client.messages()[1] == assistant("A")

    client = client.hears([thinking("u", "s2"), text("B")]).asks("c")
    assert [client.messages()[i] for i in (1, 3)] == [assistant("A"), assistant(thinking("u", "s2"), "B")]

    first = client.resumes().messages()[1]
    assert first == (assistant(thinking("t", "s"), redacted("d"), "A") if again else assistant("A"))


@pytest.mark.parametrize(
    ("version", "middle"),
    [
        (LATEST, [assistant(thinking("t", "s"), "half")]),
        (NODE_20, [assistant(thinking("t", "s")), assistant("half")]),
    ],
)
def test_an_interrupted_answer_comes_back_as_far_as_it_came(version: Any, middle: list[Json]) -> None:
    """One message, or two in a row for one answer: thinking may stand alone if the other half follows (W10)."""
    client = ClaudeCode(version=version).asks("a").escapes([thinking("t", "s"), text("half")]).asks("b")

    assert client.messages() == [user("a"), *middle, marked(user(INTERRUPTED, "b"))]


def test_a_switch_takes_the_thinking_half_of_an_interrupted_answer_away() -> None:
    """No stand-in for it: its other half still speaks."""
    client = ClaudeCode(version=NODE_20).asks("a").escapes([thinking("t", "s"), text("half")]).asks("b").switches(SONNET)

    assert client.messages() == [user("a"), assistant("half"), marked(user(INTERRUPTED, "b"))]


@VERSIONS
def test_escape_during_thinking_leaves_nothing_of_it(version: Any) -> None:
    """Questions and the note are one message then."""
    client = ClaudeCode(version=version).asks("a").escapes([]).asks("b")

    assert client.messages() == [marked(user("a", INTERRUPTED, "b"))]


def test_compaction_asks_without_the_last_answer_and_keeps_it_afterwards() -> None:
    """The kept block is in every later request."""
    client = ClaudeCode().asks("a").hears([thinking("t", "s"), text("A")]).asks("b").hears([thinking("u", "s2"), text("B")])

    assert client.compaction_request()["messages"][-1]["content"][-1] == text(f"\n{COMPACT}")
    assert assistant(thinking("u", "s2"), "B") not in client.compaction_request()["messages"]
    assert client.compacts().asks("c").messages() == [
        user(SUMMARY),
        {"role": "system", "content": []},
        assistant(thinking("u", "s2"), "B"),
        marked(user("c")),
    ]


def test_a_model_without_system_messages_gets_them_in_the_first_user_message() -> None:
    """And back: nothing is forgotten."""
    client = ClaudeCode().asks("a").reminded("env").hears([text("A")]).asks("b")

    assert client.switches("claude-sonnet-4-5").messages() == [
        user("<system-reminder>\nenv\n</system-reminder>", "a"),
        assistant("A"),
        marked(user("b")),
    ]
    assert client.switches("claude-sonnet-4-5").switches(OPUS).messages() == client.messages()


def test_a_second_call_with_a_known_id_is_dropped_and_its_thinking_left_alone() -> None:
    """Why ids that may not be unique never reach a client (clients 1.9)."""
    client = (
        ClaudeCode().asks("a").hears([tool_use("call_0")]).runs().hears([thinking("t", "s"), text("x"), tool_use("call_0")])
    )

    assert client.asks("b").messages()[3] == assistant(thinking("t", "s"), "x")


def test_answers_of_nothing_are_replaced_or_removed() -> None:
    """Thinking alone: a stand-in; white space alone: gone, and the questions meet; no block at all: the filler (W10)."""

    def after(*blocks: Json) -> list[Json]:
        return ClaudeCode().asks("a").hears(list(blocks)).asks("b").messages()

    assert after(thinking("t", "s")) == [user("a"), assistant(STAND_IN), marked(user("b"))]
    assert after(text(""), thinking("t", "s")) == [user("a"), assistant(STAND_IN), marked(user("b"))]
    assert after(text(" \n")) == [marked(user("a", "b"))]
    assert after() == [user("a"), assistant("[No message content]"), marked(user("b"))]


def test_rewinds_and_forks_are_values() -> None:
    """A fork shares its past and nothing else."""
    client = ClaudeCode().asks("a").hears([text("A")]).asks("b").hears([tool_use("t1")]).runs().hears([text("B")])

    assert client.rewinds().asks("c").messages() == [user("a"), assistant("A"), marked(user("c"))]
    assert client.rewinds(2).entries == ()
    assert client.asks("d").messages()[:-1] == client.asks("e").messages()[:-1]


def test_sub_agents_share_the_session_and_nothing_else() -> None:
    """Same session id, own agent id; the main thread has none."""
    client = ClaudeCode().asks("a")
    helper = client.spawns("a1b2", "look")

    assert client.headers == {"x-claude-code-session-id": "5e551011"}
    assert helper.headers == {"x-claude-code-session-id": "5e551011", "x-claude-code-agent-id": "a1b2"}
    assert helper.messages() == [marked(user("look"))]
