"""`clew forget`: a conversation is deleted after a question, and none of its words is left in any file."""

from pathlib import Path

import pytest

from tests.cli.homes import THREAD, Home, talk, turn, yesterday
from tests.manifest import proves
from tests.store.turns import recorded


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.keep(*talk(yesterday()))
    made.keep(turn(recorded("z", thread="ff00ff", words="kept"), at=yesterday() - 60))
    return made


def raw(home: Home) -> bytes:
    return b"".join(file.read_bytes() for file in home.root.rglob("*") if file.is_file())


@proves("fault:X16")
def test_a_conversation_is_deleted_and_nothing_of_it_is_left(home: Home) -> None:
    assert len(home.json("show", "--search", "answer")) > 0
    assert home.lines("forget", "01a2", "--yes") == [f"{THREAD} is deleted."]
    assert [word for word in (b"Evil", b"Thought r0", b"input of r1") if word in raw(home)] == []
    assert [each["id"] for each in home.json("show")] == ["ff00ff"]


def test_nothing_is_deleted_without_a_yes(home: Home) -> None:
    """Nobody can be asked where there is no terminal."""
    code, said = home.refused("forget", "last")
    assert (code, said) == (1, "Error: nothing was deleted: there is no terminal to ask for confirmation; add --yes")
    assert home.refused("forget", "last", "--json")[0] == 2
    assert len(home.json("show")) == 2


@pytest.mark.parametrize(("answer", "left"), [("y\n", ["ff00ff"]), ("n\n", [THREAD, "ff00ff"]), ("\n", [THREAD, "ff00ff"])])
def test_anyone_who_is_asked_decides(home: Home, monkeypatch: pytest.MonkeyPatch, answer: str, left: list[str]) -> None:
    monkeypatch.setattr("clew.cli.forget._has_person", lambda: True)
    done = home.clew("forget", "last", input=answer)
    assert done.exit_code == (0 if answer == "y\n" else 1)
    assert f"{THREAD}: 4 turns, last used" in done.stderr
    assert [each["id"] for each in home.json("show")] == left


def test_sub_agents_go_with_it_where_that_is_wanted(home: Home) -> None:
    for name, thread, agent in (("m", "main", ""), ("s", "scout", "a1")):
        home.keep(turn(recorded(name, thread=thread, session="s", agent=agent), at=yesterday() + 100))
    assert home.json("forget", "main", "--agents", "--yes") == {"forgotten": ["main", "scout"]}
    assert home.json("forget", "last", "--yes") == {"forgotten": [THREAD]}


def test_a_name_that_nobody_has_is_said(home: Home) -> None:
    assert home.refused("forget", "nothing", "--yes") == (
        2,
        "Error: There is no thread 'nothing': `clew show` lists the threads.",
    )


def test_a_whole_id_names_its_thread_though_another_begins_with_it(home: Home) -> None:
    for number in range(7):
        home.keep(turn(recorded(f"n{number}", thread=f"ff00ff{number}"), at=yesterday() + number))
    code, said = home.refused("forget", "ff00", "--yes")
    assert code == 2
    assert "is the beginning of several threads" in said
    assert home.json("forget", "ff00ff", "--yes") == {"forgotten": ["ff00ff"]}


def test_an_empty_name_is_no_thread_though_there_is_only_one(home: Home) -> None:
    """`clew forget "$THREAD" --yes`, where that variable is not set."""
    assert home.json("forget", "ff00ff", "--yes") == {"forgotten": ["ff00ff"]}
    empty = (2, "Error: The name of the thread is empty: `clew show` lists the threads.")
    assert home.refused("forget", "", "--yes") == empty
    for command in (["show", ""], ["export", ""], ["log", "--thread", ""], ["use", "claude", "--thread", ""]):
        assert home.refused(*command) == empty
    assert [each["id"] for each in home.json("show")] == [THREAD]


def test_without_a_store_there_is_nothing_to_forget(tmp_path: Path) -> None:
    empty = Home(tmp_path / "empty")
    assert empty.refused("forget", "last", "--yes")[0] == 2
    assert not empty.file.exists()
