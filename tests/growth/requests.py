"""All that a client can repeat in a request, by name: the body with n of it."""

import json
from collections.abc import Callable
from typing import Any

from tests.build import Json, assistant, raw, redacted, system, text, thinking, tool_result, tool_use, user

MARK = {"cache_control": {"type": "ephemeral"}}


def _in_an_answer(*blocks: Json) -> Callable[[int], bytes]:
    """In one assistant message."""
    return lambda n: raw(user("Hi"), assistant(*blocks * n, text("So.")), user("And?"))


def _in_a_question(*blocks: Json) -> Callable[[int], bytes]:
    return lambda n: raw(user("Hi"), assistant("Yes?"), user(*blocks * n, text("So?")))


def _messages(*messages: Json) -> Callable[[int], bytes]:
    return lambda n: raw(user("Hi"), *messages * n, user("And?"))


def _calls(n: int, id: Callable[[int], str]) -> list[Json]:
    return [tool_use(id(i), path="a") for i in range(n)]


def _results(n: int, id: Callable[[int], str]) -> list[Json]:
    return [tool_result(id(i)) for i in range(n)]


def _own(i: int) -> str:
    return f"toolu_{i}"


def _same(_: int) -> str:
    return "toolu_0"


def _rounds(n: int, id: Callable[[int], str]) -> bytes:
    rounds = [each for i in range(n) for each in (assistant(tool_use(id(i))), user(tool_result(id(i))))]
    return raw(user("Hi"), *rounds)


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": [value]}
    return value


def _tool(i: int) -> Json:
    return {"name": f"tool_{i}", "description": "Does it.", "input_schema": {"type": "object", "properties": {}}, **MARK}


def _document(source: Json) -> Json:
    return {"type": "document", "source": source}


IMAGE: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}

REQUESTS: dict[str, Callable[[int], bytes]] = {
    "questions": _messages(user("Hm?")),
    "answers": _messages(assistant("Yes.")),
    "rounds": _messages(assistant("Yes."), user("And?")),
    "thoughts in rounds": _messages(assistant(thinking("Hm."), "Yes."), user("And?")),
    "system messages": _messages(system("Be brief.")),
    "system messages between rounds": _messages(assistant("Yes."), system("Be brief."), user("And?")),
    "empty messages": _messages(user(), assistant()),
    "blank messages": _messages(user(" "), assistant(text(" "))),
    **{
        f"{name} in an answer": _in_an_answer(*blocks)
        for name, blocks in {
            "texts": [text("a")],
            "empty texts": [text("")],
            "blank texts": [text(" ")],
            "thoughts": [thinking("Hm.")],
            "unsigned thoughts": [thinking("Hm.", None)],
            "marked thoughts": [thinking("Hm.") | MARK],
            "redacted thoughts": [redacted("abc")],
            "thoughts and empty texts": [thinking("Hm."), text("")],
            "results": [tool_result("toolu_0")],
            "texts and results": [text("a"), tool_result("toolu_0")],
            "server calls without results": [
                {"type": "server_tool_use", "id": "srvtoolu_0", "name": "web_search", "input": {}}
            ],
            "server calls of others": [{"type": "server_tool_use", "id": "ws_0", "name": "web_search", "input": {}}],
            "thoughts and server calls of others": [
                thinking("Hm."),
                {"type": "server_tool_use", "id": "ws_0", "name": "web_search", "input": {}},
            ],
            "blocks of a new type": [{"type": "hologram"}],
        }.items()
    },
    **{
        f"{name} in a question": _in_a_question(*blocks)
        for name, blocks in {
            "texts": [text("a")],
            "empty texts": [text("")],
            "marked texts": [text("a") | MARK],
            "images": [IMAGE],
            "documents": [_document({"type": "text", "media_type": "text/plain", "data": "abc"})],
            "results without a call": [tool_result("toolu_0")],
            "results without a call and texts": [tool_result("toolu_0"), text("a")],
            "results with blocks": [tool_result("toolu_0", [text("a"), text("b")])],
        }.items()
    },
    "results without a call in messages": _messages(user(tool_result("toolu_0"))),
    "blocks in a result": lambda n: raw(
        user("Hi"), assistant(tool_use("toolu_0")), user(tool_result("toolu_0", [text("a"), IMAGE] * n))
    ),
    "calls in one answer": lambda n: raw(user("Hi"), assistant(*_calls(n, _own)), user(*_results(n, _own))),
    "calls in one answer, answered backwards": lambda n: raw(
        user("Hi"), assistant(*_calls(n, _own)), user(*reversed(_results(n, _own)))
    ),
    "calls without results": lambda n: raw(user("Hi"), assistant(*_calls(n, _own)), user("And?")),
    "calls with one id in one answer": lambda n: raw(user("Hi"), assistant(*_calls(n, _same)), user(*_results(n, _same))),
    "calls with one id in rounds": lambda n: _rounds(n, _same),
    "calls in rounds": lambda n: _rounds(n, _own),
    "results that come late": lambda n: raw(user("Hi"), assistant(*_calls(n, _own)), user("a", *_results(n, _own))),
    "results that come twice": lambda n: raw(
        user("Hi"), assistant(*_calls(n, _own)), user(*_results(n, _own), *_results(n, _own))
    ),
    "results in messages of their own": lambda n: raw(
        user("Hi"), assistant(*_calls(n, _own)), *(user(each) for each in _results(n, _own))
    ),
    "tools": lambda n: raw(user("Hi"), tools=[_tool(i) for i in range(n)]),
    "tools with one name": lambda n: raw(user("Hi"), tools=[_tool(0)] * n),
    "system blocks": lambda n: raw(user("Hi"), system=[text("Be brief.") | MARK] * n),
    "empty system blocks": lambda n: raw(user("Hi"), system=[text("")] * n),
    "stop sequences": lambda n: raw(user("Hi"), stop_sequences=[str(i) for i in range(n)]),
    "context edits": lambda n: raw(user("Hi"), context_management={"edits": [{"type": "clear_tool_uses_20250919"}] * n}),
    "unknown keys": lambda n: raw(user("Hi"), **{f"key_{i}": i for i in range(n)}),
    "keys of a tool's input": lambda n: raw(
        user("Hi"),
        assistant(tool_use("toolu_0", **{f"key_{i}": i for i in range(n)})),
        user(tool_result("toolu_0")),
    ),
    "the key messages, doubled": lambda n: b"{%b}" % b",".join([b'"messages":[]'] * n + [raw(user("Hi"))[1:-1]]),
    "the key messages, doubled behind the first": lambda n: raw(user("Hi"))[:-1] + b',"messages":[]' * n + b"}",
    "the key messages inside": lambda n: raw(
        user("Hi"), assistant(tool_use("toolu_0", list=[{"messages": []}] * n)), user(tool_result("toolu_0"))
    ),
    "the key messages inside, before it": lambda n: json.dumps(
        {"metadata": {"list": [{"messages": []}] * n}, **json.loads(raw(user("Hi"), assistant(text("")), user("And?")))}
    ).encode(),
    "the key content, doubled": lambda n: raw(user("Hi"), {"role": "assistant", "content": "X"}, user("And?")).replace(
        b'"content": "X"', b",".join([b'"content": [{"type":"text","text":""}]'] * n)
    ),
    "levels": lambda n: raw(user("Hi"), assistant(tool_use("toolu_0", deep=_nested(n // 4))), user(tool_result("toolu_0"))),
    "backslashes": lambda n: raw(user("\\" * 50 * n), assistant(""), user("And?")),
    "line ends": lambda n: raw(user("\n" * 50 * n), assistant(""), user("And?")),
    "spaces": lambda n: raw(user(text(" " * 50 * n)), assistant(text(" " * 50 * n)), user("And?")),
    "quotes": lambda n: raw(user('"' * 50 * n), assistant(""), user("And?")),
    "escapes of letters": lambda n: raw(user("ä" * 50 * n), assistant(""), user("And?")),
    "braces in a text": lambda n: raw(user('{"role":' * 10 * n), assistant(""), user("And?")),
}
"""Those with something to repair are repaired, so that what writes them again is counted too."""
