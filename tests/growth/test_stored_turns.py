"""Histories of n and 4n stored turns: kept, found by an id, and read as the client's request."""

import json
from pathlib import Path

import msgspec
import pytest

from clew.dialects.openai_responses.requests import read_request_with, references_in
from clew.dialects.openai_responses.stored import items_of, native_turn
from clew.dialects.optional import StoredItems
from clew.model.request import ALWAYS
from clew.store.sqlite.store import SqliteStore
from tests.growth.work import check_growth
from tests.store.turns import recorded, turn

N = 32

pytestmark = pytest.mark.slow


def answer(number: int) -> bytes:
    item = {"type": "message", "id": f"msg_x{number}_0", "role": "assistant", "content": f"Answer {number}. " * 20}
    return json.dumps({"id": f"resp_x{number}", "output": [item]}).encode()


def keep(path: Path, turns: int) -> None:
    """A client that sends its whole history with every turn."""
    with SqliteStore(path) as store:
        items: list[msgspec.Raw] = []
        for number in range(turns):
            items.append(msgspec.Raw(json.dumps({"role": "user", "content": f"Question {number}. " * 20}).encode()))
            native = native_turn(items, answer(number))
            native = msgspec.structs.replace(native, follows=f"x{number - 1}")
            record = turn(recorded(f"x{number}"), exchange=f"x{number}")
            store.record(msgspec.structs.replace(record, native=native)).result(120)
            items += items_of(answer(number))


def name(path: Path, turns: int) -> None:
    """A request that names the last of them."""
    asked = json.dumps({"model": "m", "input": "And?", "previous_response_id": f"resp_x{turns - 1}"}).encode()
    assert references_in(asked) is not None
    with SqliteStore(path) as store:
        passages = store.native_history("local", f"x{turns - 1}")
    before = [item for each in passages for item in (*map(msgspec.Raw, each.items), *items_of(each.answer))]
    read = read_request_with(asked, {}, ALWAYS, StoredItems(before=tuple(before)))
    assert len(read.messages) == 2 * turns + 1


def test_naming_a_history_costs_in_proportion_to_its_length(tmp_path: Path) -> None:
    for turns in (N, 4 * N):
        keep(tmp_path / str(turns) / "store.sqlite", turns)
    check_growth(lambda turns: turns, lambda turns: name(tmp_path / str(turns) / "store.sqlite", turns), N)


def test_a_history_that_is_sent_with_every_turn_takes_room_in_proportion_to_its_length(tmp_path: Path) -> None:
    sizes: list[int] = []
    for turns in (N, 4 * N):
        path = tmp_path / str(turns) / "store.sqlite"
        keep(path, turns)
        with SqliteStore(path) as store:
            found = store.native_history("local", f"x{turns - 1}")
        sizes.append(sum(len(item) for each in found for item in (*each.items, each.answer)))
        assert {len(each.items) for each in found} == {1}
    assert sizes[1] < 4.2 * sizes[0]
