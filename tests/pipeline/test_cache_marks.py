"""Cache marks in a request: for clients that set none, or instead of theirs."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.change import Change
from clew.pipeline.cache_marks import cache_marks
from clew.pipeline.step import CacheRules, Facts, Options
from clew.wire.requests import encode
from tests.build import assistant, redacted, request, system, text, thinking, tool_result, tool_use, user
from tests.counts import examples
from tests.manifest import proves
from tests.pipeline.targets import model, run

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
T = thinking("hmm")
HISTORY = [user("a"), assistant(T, text("b")), user(text("c"), text("d"))]
REPLACE = CacheRules(replace=True)


def marked(block: dict[str, Any], mark: dict[str, Any] = MARK) -> dict[str, Any]:
    return {**block, "cache_control": mark}


def change(path: str, what: Any, why: str = "the config asks for cache marks") -> Change:
    return Change("cache_marks", path, what, why)


@proves("req:S0-15", "req:S0-16", "req:S0-18", "req:S0-20")
def test_the_last_two_messages_are_marked_at_their_end() -> None:
    body, changes = run(cache_marks, request(*HISTORY), cache=CacheRules())
    assert body["messages"] == [user("a"), assistant(T, marked(text("b"))), user(text("c"), marked(text("d")))]
    paths = ["messages.1.content.1.cache_control", "messages.2.content.1.cache_control"]
    assert changes == tuple(change(path, "set") for path in paths)


@proves("req:S0-22")
def test_a_string_in_the_window_becomes_a_block() -> None:
    body, changes = run(cache_marks, request(user("a"), system("b")), cache=CacheRules())
    assert body["messages"] == [user(marked(text("a"))), {"role": "system", "content": [marked(text("b"))]}]
    assert changes == (change("messages.0.content", "set"), change("messages.1.content", "set"))


def test_a_marked_block_keeps_its_other_bytes() -> None:
    """Law 5: the mark is spliced in at the end of the block."""
    raw_before = request(user({"type": "text", "text": "\u00e9", "citations": []}))
    after, _ = cache_marks(raw_before, model(), Facts(options=Options(cache=CacheRules())))
    assert b'{"type": "text", "text": "\\u00e9", "citations": [],"cache_control":{"type":"ephemeral"}}' in encode(after)


@pytest.mark.parametrize(
    "fields",
    [
        {"system": [marked(text("s"))]},
        {"tools": [marked({"name": "Bash", "input_schema": {}})]},
        {"cache_control": MARK},
        {"messages": [user(marked(text("x")))]},
        {"messages": [user(tool_result("t", [marked(text("x"))]))]},
    ],
    ids=["system", "tools", "automatic", "messages", "inside-a-result"],
)
def test_a_client_that_sets_marks_itself_is_left_alone(fields: dict[str, Any]) -> None:
    fields = dict(fields)
    messages = fields.pop("messages", HISTORY)
    assert run(cache_marks, request(*messages, **fields), cache=CacheRules())[1] == ()


@pytest.mark.parametrize("fields", [{"cache_control": MARK}, {"messages": [user(tool_result("t", [marked(text("x"))]))]}])
def test_marks_that_move_by_themselves_are_never_replaced(fields: dict[str, Any]) -> None:
    """R58: an automatic mark must agree with the last block's; marks inside results are the client's art."""
    fields = dict(fields)
    messages = fields.pop("messages", HISTORY)
    assert run(cache_marks, request(*messages, **fields), cache=REPLACE)[1] == ()


def test_nothing_happens_unless_the_config_asks() -> None:
    assert run(cache_marks, request(*HISTORY))[1] == ()


@proves("req:S0-24")
def test_replaced_marks_are_moved() -> None:
    """S0-24, C19."""
    given = request(user(marked(text("a"))), assistant(marked(text("b"), HOUR)), user(text("c")), assistant(text("d")))
    body, changes = run(cache_marks, given, cache=REPLACE)
    assert body["messages"] == [
        user(text("a")),
        assistant(text("b")),
        user(marked(text("c"))),
        assistant(marked(text("d"))),
    ]
    moved = "old cache marks are removed when new ones are set"
    assert changes == (
        change("messages.0.content.0.cache_control", "removed", moved),
        change("messages.1.content.0.cache_control", "removed", moved),
        change("messages.2.content.0.cache_control", "set"),
        change("messages.3.content.0.cache_control", "set"),
    )


@proves("req:S0-19", "req:S0-23")
def test_switched_off_for_the_models_family() -> None:
    """S0-23: DISABLE_PROMPT_CACHING_HAIKU and its sisters."""
    rules = CacheRules(off_for=("haiku",), replace=True)
    given = request(user(marked(text("a"))))
    assert run(cache_marks, given, "claude-haiku-4-5", cache=rules)[0]["messages"] == [user(text("a"))]
    assert run(cache_marks, given, "claude-opus-5-5", cache=rules)[1] == ()
    assert run(cache_marks, request(*HISTORY), cache=CacheRules(off=True))[1] == ()


@proves("req:S0-24")
def test_more_than_four_in_tools_and_system_lose_the_first() -> None:
    """R58: the last ones cover the most."""
    tools = [marked({"name": f"t{i}", "input_schema": {}}) for i in range(3)]
    prompt = [marked(text("s")), marked(text("t"))]
    body, changes = run(cache_marks, request(*HISTORY, tools=tools, system=prompt), cache=REPLACE)
    assert body["tools"] == [{"name": "t0", "input_schema": {}}, *tools[1:]]
    assert body["system"] == prompt
    assert body["messages"] == HISTORY
    assert changes == (change("tools.0.cache_control", "removed", "at most 4 cache marks in all (R58)"),)


@proves("req:S0-23")
@pytest.mark.parametrize(("prompt", "mark"), [(None, HOUR), (HOUR, HOUR), (MARK, MARK)])
def test_an_hour_is_asked_for_where_it_is_legal(prompt: Any, mark: dict[str, Any]) -> None:
    """R58: not after five minutes."""
    fields = {"system": [marked(text("s"), prompt)]} if prompt else {}
    rules = CacheRules(ttl="1h", replace=True)
    body, _ = run(cache_marks, request(user(text("a")), **fields), cache=rules)
    assert body["messages"] == [user(marked(text("a"), mark))]


@proves("req:S0-17", "req:S0-25")
def test_a_message_that_ends_in_thinking_is_marked_before_it_or_as_documented_not_at_all() -> None:
    messages = [user("q"), assistant(text("a"), T), user(text("r")), assistant(text("b"), redacted("x"))]
    body, _ = run(cache_marks, request(*messages), cache=CacheRules())
    assert body["messages"][2:] == [user(marked(text("r"))), assistant(marked(text("b")), redacted("x"))]
    body, _ = run(cache_marks, request(*messages), cache=CacheRules(nearest=False))
    assert body["messages"][2:] == [user(marked(text("r"))), messages[3]]


blocks = st.sampled_from([text("a"), T, redacted("x"), tool_use("t"), tool_result("t"), marked(text("m"))])
messages_of = st.lists(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant", "system"]),
        st.lists(blocks, max_size=4) | st.just("words"),
    ),
    max_size=7,
)
tools_of = st.lists(st.sampled_from([{"name": "a"}, marked({"name": "b"}), marked({"name": "c"}, HOUR)]), max_size=6)
system_of = st.lists(st.sampled_from([text("s"), marked(text("t")), marked(text("u"), HOUR)]), max_size=6)


@proves("req:S0-24")
@settings(max_examples=examples(36, soak=3000))
@given(messages_of, tools_of, system_of, st.sampled_from(["5m", "1h"]), st.booleans())
def test_a_request_never_ends_up_with_more_than_four(
    messages: list, tools: list, prompt: list, ttl: Any, nearest: bool
) -> None:
    """S0-24, R58: also not on thinking; everything but the marks is as it was."""
    rules = CacheRules(ttl=ttl, replace=True, nearest=nearest)
    given = request(*messages, tools=tools, system=prompt)
    body, _ = run(cache_marks, given, cache=rules)
    assert json.dumps(body).count('"cache_control"') <= 4
    assert _plain(body) == _plain(json.loads(encode(given)))


def _plain(value: Any) -> Any:
    """Without marks, and with strings as the blocks that they mean."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _plain(each) for key, each in value.items() if key != "cache_control"}
    return (
        plain | {"content": [text(plain["content"])]} if isinstance(plain.get("content"), str) and "role" in plain else plain
    )
