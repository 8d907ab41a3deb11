"""Limits, usage and the audit over the API."""

import time

import pytest

from tests.admin.booth import Booth
from tests.store.turns import recorded, turn

pytestmark = pytest.mark.slow


def test_a_limit_is_set_shown_and_removed(booth: Booth) -> None:
    wanted = {"scope": "team:web", "amount": "5usd/1d", "hard": True}
    told = booth.ask("/api/limits", method="PUT", body=wanted)
    assert told.status == 200
    (row,) = booth.ask("/api/limits").json["limits"]
    assert {name: row[name] for name in ("scope", "amount", "cap", "hard", "used")} == {
        "scope": "team:web",
        "amount": "5usd/1d",
        "cap": 5_000_000,
        "hard": True,
        "used": 0,
    }
    assert told.json["limits"] == [row]
    assert booth.ask("/api/limits", method="DELETE", body=wanted).json["limits"] == []
    assert booth.ask("/api/limits", method="DELETE", body=wanted).status == 404
    entries = booth.ask("/api/audit").json["entries"]
    assert [(each["what"], each["before"], each["after"]) for each in entries] == [
        ("limit removed", "5usd/1d hard", ""),
        ("limit set", "", "5usd/1d hard"),
    ]
    assert entries[0]["who"].startswith("local (")


def test_what_is_no_limit_is_refused_in_words(booth: Booth) -> None:
    told = booth.ask("/api/limits", method="PUT", body={"scope": "web", "amount": "5usd/1d"})
    assert told.status == 400
    assert "key:NAME" in told.json["error"]["why"]


def test_usage_is_grouped_and_added_up_and_bounded(booth: Booth) -> None:
    assert booth.store is not None
    now = time.time()
    for id, key in (("a", "anna"), ("b", "anna"), ("c", "ben")):
        booth.store.record(turn(recorded(id), at=now - 60, key=key, team="web")).result(60)
    told = booth.ask("/api/usage?by=key&since=24h").json
    assert [(line["names"], line["calls"]) for line in told["lines"]] == [({"key": "anna"}, 2), ({"key": "ben"}, 1)]
    assert (told["total"]["calls"], told["total"]["input"], told["left_out"], told["by"]) == (3, 30, 0, ["key"])
    few = booth.ask("/api/usage?by=key&limit=1").json
    assert (len(few["lines"]), few["left_out"], few["total"]["calls"]) == (1, 1, 3)
    assert booth.ask("/api/usage?key=ben&team=web").json["total"]["calls"] == 1
    sheet = booth.ask("/api/usage?by=key,model&format=csv")
    assert sheet.headers["content-type"].startswith("text/csv")
    assert sheet.raw.decode().splitlines()[1].startswith("anna,claude-opus-5-5,2,20,")


@pytest.mark.parametrize("query", ["by=colour", "since=soon", "until=2999-01-01", "limit=0", "format=xml"])
def test_what_cannot_be_added_up_is_refused_in_words(booth: Booth, query: str) -> None:
    told = booth.ask(f"/api/usage?{query}")
    assert told.status == 400
    assert told.json["error"]["why"]
