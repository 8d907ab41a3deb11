"""`clew usage`."""

import csv
import io
import json
import time
from pathlib import Path

import pytest
from msgspec import structs

from tests.cli.homes import Home
from tests.store.turns import recorded, turn


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    now = time.time()
    anna = turn(recorded("a"), at=now - 100, key="anna", team="web")
    ben = turn(recorded("b", thread="u"), at=now - 90, key="ben", team="web")
    old = turn(recorded("c"), at=now - 8 * 86_400, key="anna", team="web")
    home.keep(anna, ben, old)
    return home


def test_usage_is_shown_by_key_with_a_sum(home: Home) -> None:
    shown = home.clew("usage", "--by", "key", "--since", "24h").stdout.splitlines()
    assert [line.split()[:2] for line in shown[1:] if line.strip()][:3] == [["anna", "1"], ["ben", "1"], ["all", "2"]]
    assert home.clew("usage", "--by", "key", "--key", "nobody").stdout == "No calls in this time.\n"


def test_threads_are_shown_with_their_titles_and_the_own_key_by_its_name(home: Home) -> None:
    home.keep(structs.replace(turn(recorded("d", thread="v"), at=time.time() - 80), title="Plan the trip"))
    head, *lines = home.clew("usage", "--by", "thread,key", "--since", "24h").stdout.splitlines()
    assert head.split()[:3] == ["thread", "key", "title"]
    [line] = [line for line in lines if line.strip().startswith("v ")]
    assert "the gateway's own key  Plan the trip  1 " in line
    assert lines[-1].split()[:2] == ["all", "3"]


def test_usage_as_json_and_csv(home: Home) -> None:
    (anna,) = json.loads(home.clew("usage", "--by", "key,team", "--key", "anna", "--json").stdout)
    assert anna["names"] == {"key": "anna", "team": "web"}
    assert (anna["calls"], anna["input"], anna["output"]) == (2, 20, 40)
    assert anna["micro_usd"] > 0
    assert anna["usd_estimated"] is True
    head, row = csv.reader(io.StringIO(home.clew("usage", "--by", "team", "--csv").stdout))
    assert dict(zip(head, row, strict=True))["calls"] == "3"


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (("--by", "colour"), 2, "name some of key, principal"),
        (("--since", "soon"), 2, "'soon' is not a time: use 24h"),
        (("--since", "500d"), 2, "within the last year"),
        (("--csv", "--json"), 2, "Choose one of"),
    ],
)
def test_what_cannot_be_added_up_is_said_in_words(home: Home, given: tuple[str, ...], code: int, said: str) -> None:
    result = home.clew("usage", *given)
    assert result.exit_code == code
    assert said in result.stderr


def test_a_home_without_a_store_has_no_usage(tmp_path: Path) -> None:
    assert Home(tmp_path / "home").clew("usage").stdout == "No calls in this time.\n"
