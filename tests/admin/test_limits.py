"""Limits and the audit over the API."""

import pytest

from tests.admin.booth import Booth

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
