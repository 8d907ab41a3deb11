"""Every row against the simulator that stands for it: histories as clients have them, translated, are never refused.

The matrix has conversations as they should be. These are as they are: a reminder behind a tool's result, an answer that was
cut while the model thought, two messages of one role.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clew.backends.row import chat_options_of
from clew.dialects.openai_chat.requests import write_request
from clew.settings.backend_rows import backend_of, named_options
from clew.settings.document import BackendTable
from clew.simulator.openai_chat.judge.judging import judge_chat
from clew.simulator.openai_chat.memory import AnswerMemory
from clew.simulator.openai_chat.vendors import chat_vendors
from clew.simulator.server import stance
from tests.build import Json, assistant, request, system, thinking, tool_result, tool_use, user
from tests.handoff.seats import ROWS, Seat
from tests.manifest import proves

TOOLS = [{"name": "Bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}]
CALLED = (user("Hi."), assistant(tool_use("toolu_1", command="ls")))
STRICT = stance()

HISTORIES: dict[str, tuple[Json, ...]] = {
    "a result": (*CALLED, user(tool_result("toolu_1"))),
    "a result that is empty": (*CALLED, user(tool_result("toolu_1", ""))),
    "a reminder behind a result": (*CALLED, user(tool_result("toolu_1"), "Mind the tests.")),
    "a question behind a result": (*CALLED, user(tool_result("toolu_1")), user("And now?")),
    "a system message behind a result": (*CALLED, user(tool_result("toolu_1")), system("Be brief.")),
    "a system message in between": (user("Hi."), assistant("Yes?"), system("Be brief."), user("Go.")),
    "an answer that was cut while it thought": (user("Hi."), assistant(thinking("Hm")), user("Go.")),
    "two questions": (user("Hi."), user("Go.")),
    "two answers": (user("Hi."), assistant("Yes?"), assistant("Well?"), user("Go.")),
    "an answer first": (assistant("Yes?"), user("Go.")),
}


def _seats() -> Iterator[tuple[Seat, str]]:
    for seat in ROWS:
        if seat.dialect == "openai-chat":
            yield from ((seat, model) for model in chat_vendors()[seat.kind].listed)


SEATS = list(_seats())


@proves("case:66")
@pytest.mark.parametrize("history", HISTORIES.values(), ids=list(HISTORIES))
@pytest.mark.parametrize(("seat", "model"), SEATS, ids=[f"{seat.name} {model}" for seat, model in SEATS])
def test_a_history_as_clients_have_it_is_taken(seat: Seat, model: str, history: tuple[Json, ...]) -> None:
    table = BackendTable(preset=seat.preset, dialect="openai-chat", url="http://127.0.0.1:1/v1", key="k")
    row = backend_of(seat.name, table, named_options({}, seat.name), {}).backend
    assert row is not None
    asked = request(*history, model=model, system="You help.", tools=TOOLS)

    body = write_request(asked, chat_options_of(row, model)).body
    verdict = judge_chat(body, vendor=chat_vendors()[seat.kind], stance=STRICT, memory=AnswerMemory(b"secret"))

    assert verdict.violation is None
