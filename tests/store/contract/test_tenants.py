"""Every call of the interface that names a principal, asked for another one: it finds nothing, and changes nothing.

The calls are taken from the interface itself, so a new one is tried by itself. Its arguments are found by their names; one that
is new here has to be given a value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final

import pytest
from msgspec import structs

from clew.model.turn import Bodies, NativeTurn
from clew.store import Store, StoreLocation
from clew.store.values import Lookup
from tests.store.contract.opening import opened
from tests.store.turns import NOON, conversation, turn

OWNER, STRANGER = "anna", "berta"
CANARY = "quail"
ANSWERS = conversation(3, principal=OWNER, words=f"The {CANARY} answered.")
ARGUMENTS: Final[Mapping[str, Any]] = {
    "thread": "t",
    "threads": ["t"],
    "id": "t",
    "exchange": "x-r1",
    "exchanges": ["x-r0", "x-r1"],
    "session": "s",
    "agent": "",
    "backend": "glm",
    "title": "Mine now",
    "typed": CANARY,
    "position": "0 0",
    "limit": 10,
    "since": 0.0,
    "now": NOON + 10,
    "at": NOON + 10,
    "keys": [each.keys[0] for each in ANSWERS],
    "recordings": ["r0", "r1"],
    "scope": "",
}
"""By name: what belongs to the owner."""
OTHERWISE: Final[Mapping[str, Mapping[str, Any]]] = {"exchange": {"id": "x-r1"}}
"""By call: where a name means something else."""


def calls() -> list[str]:
    """Those that name a principal."""
    members = inspect.getmembers(Store, inspect.isfunction)
    return [name for name, call in members if "principal" in inspect.signature(call).parameters]


def call(store: Store, name: str, principal: str) -> Any:
    parameters = inspect.signature(getattr(Store, name)).parameters.values()
    values = ARGUMENTS | OTHERWISE.get(name, {})
    wanted = [each for each in parameters if each.name not in ("self", "principal") and _is_given(each)]
    assert {each.name for each in wanted} <= values.keys(), f"{name} has an argument that is new here"
    named = {each.name: values[each.name] for each in wanted if each.kind is each.KEYWORD_ONLY}
    plain = [values[each.name] for each in wanted if each.kind is not each.KEYWORD_ONLY]
    given = getattr(store, name)(principal, *plain, **named)
    return given.result(60) if isinstance(given, Future) else given


def _is_given(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty or parameter.name in ("keys", "recordings")


def seen(store: Store, principal: str) -> list[object]:
    """All that a principal can find."""
    threads = store.threads(principal)
    return [
        threads,
        [store.passages(principal, each.id) for each in threads],
        store.exchanges(principal),
        [store.bodies(principal, each.id) for each in store.exchanges(principal)],
        store.native_history(principal, "x-r2"),
        store.search(principal, CANARY),
        store.usage_totals(principal),
        store.settings(principal),
        {each.id for each in store.gather(Lookup(principal=principal, keys=tuple(ARGUMENTS["keys"]), links=9)).recordings},
    ]


def fill(store: Store) -> None:
    for number, answer in enumerate(ANSWERS):
        native = NativeTurn(items=(f'"{CANARY}"'.encode(),), answer=f'"{CANARY}"'.encode(), digest=b"d")
        bodies = Bodies(asked=CANARY.encode(), sent=CANARY.encode(), answered=CANARY.encode())
        record = turn(answer, at=NOON + number, session="s", bodies=bodies)
        assert store.record(structs.replace(record, native=native)).result(60)
    store.pin(OWNER, "t", "claude").result(60)


def test_the_interface_is_read() -> None:
    assert {"threads", "gather", "forget", "search"} <= {*calls(), "gather"}
    assert len(calls()) > 20


def test_what_one_principal_keeps_no_call_gives_to_another(location: StoreLocation) -> None:
    with opened(location) as store:
        before = {name: call(store, name, STRANGER) for name in calls() if not _changes(name)}
        fill(store)
        after = {name: call(store, name, STRANGER) for name in calls() if not _changes(name)}
        assert _plain(after) == _plain(before)
        assert CANARY not in repr(after)
        found = store.gather(Lookup(principal=STRANGER, keys=tuple(ARGUMENTS["keys"]), links=9))
        assert found.recordings == ()
        owners = repr([call(store, name, OWNER) for name in calls() if not _changes(name)])
        assert CANARY in owners, "and its owner has it"


@pytest.mark.parametrize(
    "name", [name for name in calls() if name in ("pin", "rename", "forget", "hide_native_turn", "touch")]
)
def test_no_call_changes_what_belongs_to_another_principal(location: StoreLocation, name: str) -> None:
    with opened(location) as store:
        fill(store)
        before = seen(store, OWNER)
        assert not call(store, name, STRANGER)
        assert seen(store, OWNER) == before


def _changes(name: str) -> bool:
    return name in ("pin", "rename", "forget", "hide_native_turn", "touch")


def _plain(given: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is an object of its own for each call, or counts what was asked for."""
    skipped: Callable[[str], bool] = lambda name: name in ("recordings", "position", "exchanges_since", "statistics")  # noqa: E731
    return {name: value for name, value in given.items() if not skipped(name)}
