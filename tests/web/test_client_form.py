"""A turn in its client's own form: items of the Responses API, messages of Chat Completions."""

from __future__ import annotations

import json
from typing import Any

from msgspec import structs

from clew.model.turn import Exchange
from clew.store.values import NativePassage, Passage
from clew.thinking.seal import Sealer, seal_summary
from clew.web.client_form import ShownItem, client_turn
from tests.build import text, thinking, tool_result, tool_use
from tests.store.turns import GLM, NOON, recorded
from tests.web.test_exchange_row import exchange

SEALER = Sealer({"k": b"s" * 32}, current="k")
EXEC = {"type": "custom", "name": "exec", "format": {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}}
READ = {"type": "function", "name": "read", "parameters": {"type": "object"}}
TOOLS = [{"type": "namespace", "name": "functions", "description": "d", "tools": [EXEC, READ]}]
BEFORE = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "First."}]},
    {"type": "custom_tool_call", "call_id": "call_0", "name": "exec", "namespace": "functions", "input": "ls"},
]
RESULT = {"type": "custom_tool_call_output", "id": "ctco_1", "call_id": "call_0", "output": "a.txt"}
ASKED = {
    "model": "gpt-5.5",
    "tools": TOOLS,
    "input": [*BEFORE, RESULT, {"type": "compaction", "encrypted_content": "x" * 90}],
}


def passage(*blocks: dict[str, Any], asked: dict[str, Any] | None = None, ids: tuple[str, ...] = ()) -> Passage:
    answer = recorded("r", blocks=tuple(json.dumps(block).encode() for block in blocks), origin=GLM)
    answer = structs.replace(answer, said=structs.replace(answer.said, ids=ids))
    question = asked or {"role": "user", "content": [tool_result("call_0", "a.txt")]}
    return Passage(exchange="x-r", at=NOON, asked=(json.dumps(question).encode(),), recording=answer)


def asked_by(dialect: str) -> Exchange:
    return exchange(dialect=dialect, stop_reason="tool_use")


ANSWER = (
    thinking("Hm.", "s"),
    text("A look."),
    tool_use("toolu_1", name="functions__exec", input="cat a.txt"),
    tool_use("toolu_2", name="functions__read", path="b"),
)


def named(items: Any) -> list[str]:
    return [each.name for each in items]


def about(item: ShownItem) -> dict[str, str]:
    return dict(item.about)


def test_what_was_new_is_shown_as_the_client_sent_it_and_the_answer_as_it_got_it() -> None:
    """A custom tool takes its text, a tool has its namespace, a summary is one; and no opaque value fills the page."""
    said = passage(*ANSWER, ids=("call_1", "call_2"))
    turn = client_turn(said, asked_by("openai-responses"), json.dumps(ASKED).encode(), None, SEALER)
    assert turn is not None
    assert (named(turn.asked), turn.is_kept) == (["custom_tool_call_output", "compaction"], True)
    assert named(turn.answered) == ["reasoning", "assistant", "custom_tool_call", "function_call"]
    thought, words, custom, function = turn.answered
    assert (thought.pieces[0].text, thought.pieces[0].sealed, words.pieces[0].text) == ("Hm.", True, "A look.")
    assert (custom.pieces[0].label, custom.pieces[0].text) == ("functions.exec", "cat a.txt")
    assert about(custom) | {"id": ""} == {"id": "", "call_id": "call_1", "namespace": "functions", "name": "exec"}
    assert (function.pieces[0].label, about(function)["call_id"]) == ("functions.read", "call_2")
    assert f"{'x' * 40}… (90 characters)" in turn.asked[1].source


def test_a_summary_of_clews_is_opened_for_its_owner_and_nobody_else() -> None:
    token = seal_summary(SEALER, "They want a parser.", principal="local", origin=GLM, exchange="x-0")
    body = json.dumps({"model": "m", "input": [{"type": "compaction", "encrypted_content": token}]}).encode()
    for principal, kind in (("local", "aside"), ("anna", "other")):
        owner = structs.replace(asked_by("openai-responses"), principal=principal)
        turn = client_turn(passage(text("So.")), owner, body, None, SEALER)
        assert turn is not None
        assert [piece.kind for piece in turn.asked[0].pieces] == [kind]
        assert ("They want a parser." in turn.asked[0].pieces[0].text) is (kind == "aside")


def test_without_the_request_its_form_is_made_from_what_was_said_and_that_is_told() -> None:
    turn = client_turn(passage(*ANSWER), asked_by("openai-responses"), b"", None, SEALER)
    assert turn is not None
    assert (named(turn.asked), turn.is_kept) == (["function_call_output"], False)
    assert named(turn.answered) == ["reasoning", "assistant", "function_call", "function_call"]
    assert turn.answered[2].pieces[0].label == "functions__exec"


def test_a_turn_that_is_kept_for_a_client_that_names_it_is_shown_from_that() -> None:
    answer = {"id": "resp_1", "output": [{"type": "message", "id": "msg_7", "role": "assistant", "content": "Kept."}]}
    native = NativePassage(exchange="x-r", items=(json.dumps(RESULT).encode(),), answer=json.dumps(answer).encode())
    turn = client_turn(passage(*ANSWER), asked_by("openai-responses"), b"", native, SEALER)
    assert turn is not None
    assert (named(turn.asked), named(turn.answered), turn.is_kept) == (["custom_tool_call_output"], ["assistant"], True)
    assert about(turn.answered[0]) == {"id": "msg_7"}


def test_a_client_of_chat_completions_has_messages() -> None:
    body = {"model": "m", "messages": [{"role": "developer", "content": "Be quick."}, {"role": "user", "content": "Why?"}]}
    said = passage(*ANSWER[:3], asked={"role": "user", "content": "Why?"}, ids=("Ab12Cd34E",))
    turn = client_turn(said, asked_by("openai-chat"), json.dumps(body).encode(), None, SEALER)
    assert turn is not None
    assert (named(turn.asked), [each.pieces[0].kind for each in turn.asked]) == (["developer", "user"], ["aside", "text"])
    [message] = turn.answered
    assert [piece.kind for piece in message.pieces] == ["thinking", "text", "call"]
    assert "Ab12Cd34E" in message.source


def test_a_request_of_mere_words_is_one_message() -> None:
    body = json.dumps({"model": "m", "input": "Why?"}).encode()
    turn = client_turn(passage(text("So.")), asked_by("openai-responses"), body, None, SEALER)
    assert turn is not None
    assert [(each.name, each.pieces[0].text) for each in turn.asked] == [("user", "Why?")]


def test_a_client_of_the_messages_api_has_no_form_besides() -> None:
    assert client_turn(passage(text("So.")), asked_by("anthropic"), b"{}", None, SEALER) is None


def test_whatever_was_kept_breaks_no_page() -> None:
    for body in (b"{", b"[]", b'{"input":7}', b'{"input":[7,{"type":"hologram"}]}', b"\xff"):
        assert client_turn(passage(text("So.")), asked_by("openai-responses"), body, None, SEALER) is not None
