"""`clew store move`: what a person sees of it, and what it refuses."""

import os
from pathlib import Path

import pytest

from clew.settings.home import home_of
from clew.settings.processes import RegisteredGateway, register
from clew.store import moving
from clew.store.moving import MovedTable
from clew.store.rows import Row
from clew.store.spool import Spool
from tests.cli.homes import THREAD, Home, talk, turn, yesterday
from tests.postgres import shared_server
from tests.store.turns import recorded


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.keep(*talk(yesterday()))
    return made


def test_a_store_is_moved_to_postgresql_and_back(home: Home, tmp_path: Path) -> None:
    url, back = shared_server().create(), tmp_path / "back.db"
    told = home.json("store", "move", "--from", "sqlite", "--to", url)
    assert told["resumed"] is False
    assert {each["table"]: each["rows"] for each in told["tables"]}["exchanges"] == 4
    lines = home.lines("store", "move", "--from", url, "--to", f"sqlite:{back}")
    assert lines[0].endswith(f"was moved to {back} and checked.")
    home.root.joinpath("clew.toml").write_text(f'[store]\nurl = "sqlite:{back}"\n')
    home.root.joinpath("clew.toml").chmod(0o600)
    assert [each["id"] for each in home.json("show")] == [THREAD]


@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_ctrl_c_says_how_to_go_on_and_the_same_command_does(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    target = shared_server().create() if kind == "postgresql" else f"sqlite:{tmp_path}/new.db"
    command = ("store", "move", "--from", "sqlite", "--to", target)
    steps: list[str] = []

    def interrupt(table: MovedTable, row: Row) -> Row:
        steps.append(table.name)
        if steps.count("recordings") == 2:
            raise KeyboardInterrupt
        return key_of(table, row)

    key_of = MovedTable.key_of
    with monkeypatch.context() as patch:
        patch.setattr(moving, "_BATCH", 1)
        patch.setattr(MovedTable, "key_of", interrupt)
        done = home.clew(*command)
    assert done.exit_code == 130
    assert done.stdout == ""
    assert done.stderr.strip() == (
        "Interrupted. Run the same command again: it continues where it stopped. Nothing was changed in the old store."
    )
    told = home.json(*command)
    assert told["resumed"] is True
    assert {each["table"]: each["rows"] for each in told["tables"]}["recordings"] == 3


def test_what_cannot_be_moved_is_said_with_what_to_do(home: Home, tmp_path: Path) -> None:
    code, said = home.refused("store", "move", "--from", "sqlite", "--to", "sqlite")
    assert (code, said.splitlines()[-1]) == (2, "Error: --from and --to are the same store.")
    code, said = home.refused("store", "move", "--from", "mysql://x", "--to", "sqlite")
    assert code == 2
    assert "--from: a store is one of sqlite, sqlite:PATH, postgresql://USER@HOST/DATABASE" in said
    missing = tmp_path / "no.db"
    assert home.refused("store", "move", "--from", f"sqlite:{missing}", "--to", f"sqlite:{tmp_path}/new.db") == (
        1,
        f"Error: there is no store at {missing}",
    )
    assert not missing.exists()
    assert not (tmp_path / "new.db").exists()


def test_a_running_gateway_must_end_first(home: Home, tmp_path: Path) -> None:
    register(home_of({"CLEW_HOME": str(home.root)}), RegisteredGateway(pid=os.getpid(), url="http://127.0.0.1:1", started=0))
    code, said = home.refused("store", "move", "--from", "sqlite", "--to", f"sqlite:{tmp_path}/new.db")
    assert (code, said) == (
        1,
        f"Error: a gateway runs here (pid {os.getpid()}) and may write to the store: end it first, then run this again",
    )


def test_turns_that_postgresql_has_not_got_yet_are_not_left_behind(home: Home, tmp_path: Path) -> None:
    Spool(home.root / "spool").keep(turn(recorded("late")), readable=True)
    code, said = home.refused("store", "move", "--from", "sqlite", "--to", f"sqlite:{tmp_path}/new.db")
    assert code == 1
    assert said.startswith("Error: 1 turn of this machine could not be sent to the database yet")
