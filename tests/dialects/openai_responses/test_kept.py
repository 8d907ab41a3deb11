"""Turns as clients of the Responses API said and got them, and the ids by which they name them."""

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from clew.dialects.openai_responses.stored import exchange_of, id_of, items_of, native_turn

ASKED = {"type": "message", "role": "user", "content": "What is in a.py?"}
THOUGHT = {"type": "reasoning", "id": "rs_1a_0", "summary": [], "encrypted_content": "clew1.x"}
SAID = {
    "type": "message",
    "id": "msg_1a_1",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Let me look."}],
}
CALL = {"type": "function_call", "id": "fc_1a_2", "call_id": "call_9", "name": "read", "arguments": '{"path": "a.py"}'}
RESULT = {"type": "function_call_output", "call_id": "call_9", "output": "print()"}
ANSWER = msgspec.json.encode({"id": "resp_1a", "object": "response", "output": [THOUGHT, SAID, CALL]})


def raw(*items: Any) -> list[Raw]:
    return [Raw(msgspec.json.encode(item)) for item in items]


def test_what_a_client_sends_back_whole_goes_on_from_the_stored_turn() -> None:
    first = native_turn(raw(ASKED), ANSWER)
    then = native_turn(raw(ASKED, THOUGHT, SAID, CALL, RESULT), b'{"output":[]}')
    assert (first.before, first.before_digest) == (0, b"")
    assert (then.before, then.before_digest) == (4, first.digest)
    assert then.items == tuple(bytes(item) for item in raw(ASKED, THOUGHT, SAID, CALL, RESULT))


@pytest.mark.parametrize(
    "came_back",
    [
        (SAID, CALL),  # no thought
        ({**SAID, "id": None}, {**CALL, "id": "fc_other", "arguments": '{"path":"a.py"}'}),  # ids and white space
        ({"role": "assistant", "content": "  Let me look."}, CALL),  # a plain text
        (THOUGHT, {**SAID, "phase": "commentary", "status": "completed"}, {**CALL, "namespace": "files"}),
    ],
)
def test_it_does_so_however_the_client_writes_what_was_said(came_back: Any) -> None:
    then = native_turn(raw(ASKED, *came_back, RESULT), b"{}")
    assert then.before_digest == native_turn(raw(ASKED), ANSWER).digest


@pytest.mark.parametrize(
    "history",
    [
        ({**ASKED, "content": "What is in b.py?"}, SAID, CALL),
        (ASKED, {**SAID, "content": "Let me guess."}, CALL),
        (ASKED, SAID, {**CALL, "call_id": "call_8"}),
        (ASKED, SAID),
        (ASKED, SAID, CALL, {"role": "assistant", "content": "Something else."}),
        (SAID, CALL),
    ],
)
def test_a_history_that_was_changed_does_not(history: Any) -> None:
    then = native_turn(raw(*history, RESULT), b"{}")
    assert then.before_digest != native_turn(raw(ASKED), ANSWER).digest


def test_two_answers_in_a_row_are_told_apart_from_one() -> None:
    again = {"type": "message", "role": "assistant", "content": "And more."}
    second = native_turn(raw(ASKED, SAID, CALL), msgspec.json.encode({"output": [again]}))
    assert second.before_digest == native_turn(raw(ASKED), ANSWER).digest
    assert second.digest != second.before_digest
    assert native_turn(raw(ASKED, SAID, CALL, again, RESULT), b"{}").before_digest == second.digest


def test_what_is_no_item_counts_as_the_clients_own() -> None:
    assert native_turn([Raw(b"1"), Raw(b'{"type":7}'), Raw(b'{"role":"assistant","content":[1]}')], b"{}").before == 0


def test_ids_name_their_exchange() -> None:
    ids = ["resp_1a2b", "rs_1a2b_0", "msg_1a2b_12", "fc_1a2b_3", "ctc_1a2b_4", "cmp_1a2b_0"]
    assert [exchange_of(id) for id in ids] == ["1a2b"] * 6
    assert [exchange_of(id) for id in ("", "resp_", "1a2b", "rs_1a2b_x", "rs_0_1_2", "resp_1a\n")] == [""] * 6


def test_the_items_of_an_answer_are_found_by_id() -> None:
    assert [id_of(item) for item in items_of(ANSWER)] == ["rs_1a_0", "msg_1a_1", "fc_1a_2"]
    assert id_of(raw(RESULT)[0]) == ""
