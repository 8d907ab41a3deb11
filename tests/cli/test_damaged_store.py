"""A store that cannot be used ends every command with one clear line: what is wrong, where, and what to do. Never a traceback."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import pytest

from tests.cli.homes import THREAD, Home, talk, yesterday
from tests.database import connected

PAGE = 4096


def truncated(share: float) -> Callable[[Path], None]:
    return lambda file: os.truncate(file, int(file.stat().st_size * share))


def overwritten(start: int, count: int, byte: int | None = None) -> Callable[[Path], None]:
    """Random bytes from a page and place on, or one byte again and again."""

    def damage(file: Path) -> None:
        filler = random.Random(start)
        with file.open("r+b") as out:
            out.seek(start)
            out.write(bytes([byte]) * count if byte is not None else filler.randbytes(count))

    return damage


def statement(text: str) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        with connected(file) as database:
            for each in text.split(";"):
                database.execute(each)

    return damage


def instead(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        file.unlink()
        make(file)
        file.chmod(0o600)

    return damage


def foreign(file: Path) -> None:
    with connected(file) as database:
        database.execute("CREATE TABLE t (a)")


DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut in half": truncated(0.5),
    "cut to a few bytes": lambda file: os.truncate(file, 50),
    "cut inside its first page": lambda file: os.truncate(file, 3000),
    "cut after its first page": lambda file: os.truncate(file, PAGE),
    "random header": overwritten(0, 100),
    "random behind the magic": overwritten(16, 84),
    "random schema": overwritten(100, 3900),
    "schema that is no text": overwritten(2000, 2096, 0xFF),
    "page of zeros": overwritten(PAGE, PAGE, 0),
    "every page but the first": overwritten(PAGE, 40 * PAGE),
    "schema that SQLite refuses": statement("PRAGMA writable_schema=ON;UPDATE sqlite_schema SET sql='CREATE nothing'"),
    "names that are no text": statement("PRAGMA writable_schema=ON;UPDATE sqlite_schema SET name=CAST(x'ff' AS TEXT)"),
    "no text": instead(lambda file: file.write_bytes(b"Not a database at all.\n" * 400)),
    "another program's": instead(foreign),
    "a newer clew's": statement("PRAGMA user_version=99"),
    "a directory": lambda file: (file.unlink(), file.mkdir(mode=0o700))[0],
    "a table is missing": statement("DROP TABLE recordings"),
    "a column is missing": statement("ALTER TABLE threads DROP COLUMN pin"),
}
COMMANDS = [
    *(["show"], ["show", THREAD], ["log"], ["status"], ["use"], ["use", "claude"], ["export", "last"], ["export", "--all"]),
    *(["forget", THREAD, "--yes"], ["ask", "Hello?", "--thread", "last"], ["show", "--search", "answer"]),
]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.environ["A_KEY_THAT_NOBODY_SET"] = "k"
    home.keep(*talk(yesterday()))
    return home


ADVICE = ("move it away", "update clew", "name another file")


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_command_ends_with_one_clear_line_or_needs_nothing_of_what_is_damaged(home: Home, damage: str) -> None:
    DAMAGES[damage](home.file)
    for command in COMMANDS:
        done = home.clew(*command)
        assert done.exception is None or isinstance(done.exception, SystemExit), (command, repr(done.exception))
        if done.exit_code == 0 or "clew.db" not in done.output:
            continue
        said = [line for line in done.output.splitlines() if "clew.db" in line]
        assert (done.exit_code, len(said)) == (1, 1), (command, done.output)
        assert any(advice in said[0] for advice in ADVICE), said[0]
        assert done.stderr.splitlines() in ([], said), "status says it among the rest"


@pytest.mark.parametrize("seed", range(20))
def test_a_row_that_holds_what_nobody_wrote_ends_no_command_with_a_traceback(home: Home, seed: int) -> None:
    """Bytes inside of rows, which SQLite takes for sound."""
    places = random.Random(seed)
    size = home.file.stat().st_size
    with home.file.open("r+b") as out:
        for _ in range(60):
            out.seek(places.randrange(PAGE, size - 4))
            out.write(places.choice([b"\xff", b"\xc3\x28", places.randbytes(3)]))
    for command in COMMANDS:
        done = home.clew(*command)
        assert done.exception is None or isinstance(done.exception, SystemExit), (command, repr(done.exception))
        assert len(done.stderr.splitlines()) <= 4, (command, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("damage", ["cut in half", "names that are no text", "a newer clew's", "a directory"])
def test_serve_greets_nobody_with_a_damaged_store(home: Home, damage: str, workers: str) -> None:
    DAMAGES[damage](home.file)
    process = home.start("serve", "--port", "0", "--workers", workers, "--no-admin")
    told, said = process.communicate(timeout=120)
    assert (process.returncode, told) == (1, ""), said
    assert "Traceback" not in said
    assert any(advice in said.splitlines()[-1] for advice in ADVICE), said


def test_doctor_finds_each_damage(home: Home) -> None:
    for name, damage in DAMAGES.items():
        if name == "a column is missing":
            continue  # pages and rows are sound: only a statement on that column finds it
        for file in home.root.glob("clew.db*"):
            rmtree(file) if file.is_dir() else file.unlink()
        home.keep(*talk(yesterday()))
        damage(home.file)
        done = home.clew("doctor", "--json")
        [store] = [check for check in json.loads(done.stdout)["checks"] if check["name"] == "store"]
        assert (done.exit_code, store["state"]) == (1, "broken"), (name, store)
