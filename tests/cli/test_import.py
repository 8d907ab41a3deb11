"""`clew import`: conversations from files and directories, told what came of each, twice without harm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clew.chat.formats import FORMATS
from clew.cli import importing
from clew.cli.output import progress_bar
from clew.store.values import Retention
from clew.thinking.keyring import read_secret_text
from clew.thinking.keys import block_key
from clew.thinking.seal import Seal
from tests.build import GLM, text, thinking, tool_result, tool_use
from tests.chat.formats.lines import Scribbler
from tests.cli.homes import CONFIG, Home, talk, yesterday
from tests.counts import SOAK


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def transcript(session: int = 1, answers: int = 2) -> Scribbler:
    given = Scribbler(session=f"{session:08x}-0000-4000-8000-000000000000")
    for number in range(answers):
        given.user(f"question {number}")
        given.assistant(f"m{session}-{number}", thinking("hm", f"sig-{session}-{number}"), f"Answer {number}.")
    return given


def test_a_directory_of_transcripts_is_imported_and_a_second_time_adds_nothing(home: Home, tmp_path: Path) -> None:
    projects = tmp_path / "projects"
    for session in (1, 2):
        (projects / f"p{session}").mkdir(parents=True)
        (projects / f"p{session}" / "talk.jsonl").write_bytes(transcript(session).raw)
    (projects / "settings.json").write_text('{"a": 1}')
    (projects / "notes.txt").write_text("nothing")
    assert home.lines("import", str(projects)) == [
        "4 turns of 2 conversations imported",
        "skipped: file without a conversation 1",
    ]
    assert home.lines("import", str(projects))[:2] == ["0 turns of 0 conversations imported", "4 turns known already"]
    assert [each["turns"] for each in home.json("show")] == [2, 2]


def codex_lines(turns: int) -> bytes:
    """A session of Codex with the same words again and again."""
    rows: list[tuple[str, dict[str, Any]]] = [("session_meta", {"id": "0199", "session_id": "0199"})]
    for _ in range(turns):
        for role, part, words in (("user", "input_text", "Continue."), ("assistant", "output_text", "Done.")):
            rows.append(("response_item", {"type": "message", "role": role, "content": [{"type": part, "text": words}]}))
    return b"\n".join(json.dumps({"type": kind, "payload": payload}).encode() for kind, payload in rows)


@pytest.mark.parametrize("turns", [6, 300])
@pytest.mark.parametrize("kind", ["codex", "claude code"])
def test_the_same_words_said_again_and_again_are_as_many_turns(home: Home, tmp_path: Path, kind: str, turns: int) -> None:
    """More of them than a look-up by their place tells, too."""
    file = tmp_path / "talk.jsonl"
    given = Scribbler()
    for number in range(turns):
        given.user("Continue.")
        given.assistant(f"m{number}", "Done.")
    file.write_bytes(codex_lines(turns) if kind == "codex" else given.raw)
    assert home.lines("import", str(file)) == [f"{turns} turns of 1 conversation imported"]
    assert [each["turns"] for each in home.json("show")] == [turns]
    again = home.lines("import", str(file))
    assert again == ["0 turns of 0 conversations imported", f"{turns} turns known already"]


def test_a_session_of_codex_that_ends_in_something_unreadable_keeps_no_other_file_out(home: Home, tmp_path: Path) -> None:
    bad = json.dumps({"type": "response_item", "payload": {"type": "message", "role": "root", "content": "x"}}).encode()
    (tmp_path / "a.jsonl").write_bytes(codex_lines(1).replace(b"0199", b"0200") + b"\n" + bad)
    (tmp_path / "b.jsonl").write_bytes(codex_lines(2))
    done = home.clew("import", str(tmp_path))
    assert (done.exit_code, done.stdout) == (1, "3 turns of 2 conversations imported\n")
    assert done.stderr.startswith(f"{tmp_path / 'a.jsonl'} line 4: input.0.role: there is no role 'root'")


def test_an_export_comes_back_into_another_home(home: Home, tmp_path: Path) -> None:
    home.keep(*talk(yesterday()))
    file = tmp_path / "backup.clew.jsonl"
    home.lines("export", "--all", "-q", "-o", str(file))
    other = Home(tmp_path / "other")
    assert other.lines("import", str(file)) == ["4 turns of 1 conversation imported"]
    assert other.json("show", "last") == home.json("show", "last")
    assert other.json("show") == home.json("show")


def test_broken_lines_are_told_with_file_and_number_and_the_rest_is_imported(home: Home, tmp_path: Path) -> None:
    given = transcript()
    given.lines.insert(1, b'{"type":"user","mess')
    file = tmp_path / "talk.jsonl"
    file.write_bytes(given.raw)
    done = home.clew("import", str(file))
    assert (done.exit_code, done.stdout) == (1, "2 turns of 1 conversation imported\n")
    assert done.stderr == f"{file} line 2: unexpected end of data (column 21)\n"
    told = json.loads(home.clew("import", str(file), "--json").stdout)
    assert told == {
        "files": 1,
        "threads": 0,
        "turns": 0,
        "known": 2,
        "broken": 1,
        "passed": {},
        "faults": [{"file": str(file), "line": 2, "why": "unexpected end of data (column 21)"}],
    }


def test_only_so_many_broken_lines_are_told(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_bytes(transcript().raw + b"{\n" * 1200)
    done = home.clew("import", str(file))
    assert len(done.stderr.splitlines()) == 1001
    assert done.stderr.splitlines()[-1] == "and 200 more that could not be imported"


def test_a_rehearsal_says_the_same_and_keeps_nothing(home: Home, tmp_path: Path) -> None:
    """Not even the store's file; and what one file of the rehearsal has, the next one has not anew."""
    for name in ("one.jsonl", "two.jsonl"):
        (tmp_path / name).write_bytes(transcript().raw)
    files = (str(tmp_path / "one.jsonl"), str(tmp_path / "two.jsonl"))
    expected = ["2 turns of 1 conversation would be imported", "2 turns known already"]
    assert home.lines("import", "--dry-run", *files) == expected
    assert not home.file.exists()
    home.lines("import", *files)
    assert home.lines("import", "--dry-run", *files) == [
        "0 turns of 0 conversations would be imported",
        "4 turns known already",
    ]


def test_a_file_that_is_no_conversation_is_told_if_it_was_named(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    assert home.clew("import", str(file)).stderr == (
        f"{file}: this is not a conversation that clew can read; if it is one, name its --format (clew, anthropic, openai, claude-code, codex)\n"
    )
    assert home.clew("import", "/nowhere/x.jsonl").stderr == "/nowhere/x.jsonl: No such file or directory\n"


def test_standard_input_is_read_too(home: Home) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from clew.cli import main; main()", "import", "-"],
        input=transcript().raw,
        env={"PATH": "/usr/bin", **home.environ},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout.decode(), done.stderr.decode()) == ("2 turns of 1 conversation imported\n", "")


def test_where_content_is_not_kept_an_import_keeps_none_either(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", CONFIG + "[store]\ncontent = false\n")
    file = tmp_path / "talk.jsonl"
    file.write_bytes(transcript().raw)
    home.lines("import", str(file))
    assert b"question 0" not in home.file.read_bytes()
    with home.store() as store:
        assert store.recordings("local").by_key(block_key("thinking", "sig-1-0")) is not None


def test_without_a_store_in_the_settings_nothing_can_be_imported(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", CONFIG + '[store]\nurl = "off"\n')
    file = tmp_path / "talk.jsonl"
    file.write_bytes(transcript().raw)
    code, why = home.refused("import", str(file))
    assert (code, 'url = "off"' in why) == (5, True)


def test_a_seal_of_this_clew_comes_off(home: Home, tmp_path: Path) -> None:
    secret = "a secret that is long enough for seals"
    home.environ["CLEW_SECRET"] = secret
    token = read_secret_text(secret, name="CLEW_SECRET").sealer().mint(Seal("local", GLM, "e1", 0, b"glm-proof"), "hm")
    given = Scribbler()
    given.user("hello")
    given.assistant("m1", thinking("hm", token), "Hi.")
    file = tmp_path / "talk.jsonl"
    file.write_bytes(given.raw)
    home.lines("import", str(file))
    [told] = home.json("show", "last")["turns"]
    assert (told["origin"]["realm"], told["answer"]) == ("glm", [thinking("hm", "glm-proof"), text("Hi.")])


def test_old_answers_are_kept_from_the_day_of_their_import(home: Home, tmp_path: Path) -> None:
    """Retention counts from the last use, and an import is one: else it would take at once what was just brought."""
    given = transcript().raw.replace(b"2026-11-16", b"2020-01-01")
    (tmp_path / "talk.jsonl").write_bytes(given)
    home.lines("import", str(tmp_path / "talk.jsonl"))
    with home.store() as store:
        assert store.apply_retention(Retention(usage_age=None), now=yesterday()).result(120) == 0
        [thread] = store.threads("local")
        assert (thread.created < yesterday(), thread.turns) == (True, 2)


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_the_format_can_be_named(home: Home, tmp_path: Path, name: str) -> None:
    file = tmp_path / "talk"
    file.write_text('{"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "Hi."}]}')
    assert home.lines("import", "--format", name, str(file)) == ["1 turn of 1 conversation imported"]


def test_only_formats_that_can_be_read_can_be_named(home: Home) -> None:
    assert "markdown" not in importing.READABLE
    assert [name for name, each in FORMATS.items() if each.read is None] == ["markdown", "html"]
    assert home.refused("import", "--format", "html", "x")[0] == 2


def test_a_long_import_shows_a_bar_to_a_person(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []

    class Bar:
        def __init__(self, **more: Any) -> None: ...
        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *error: object) -> None: ...
        def add_task(self, name: str, total: int) -> int:
            told.append(total)
            return 1

        def advance(self, task: int, count: int) -> None:
            told.append(count)

    raw = transcript().raw
    (tmp_path / "talk.jsonl").write_bytes(raw)
    monkeypatch.setattr("rich.progress.Progress", Bar)
    with progress_bar("importing", len(raw), 1) as quiet:
        quiet(1)
    monkeypatch.setattr("clew.cli.output.sys.stderr.isatty", lambda: True, raising=False)
    with progress_bar("importing", len(raw), 1) as advance:
        advance(7)
    assert told == [len(raw), 7]


@pytest.mark.slow
def test_ctrl_c_keeps_what_came_before_it_and_says_so(home: Home, tmp_path: Path) -> None:
    """The second file is a pipe in which nothing comes: anyone who opened it has imported the first."""
    file, pipe = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    file.write_bytes(transcript(1).raw)
    os.mkfifo(pipe)
    process = home.start("import", str(file), str(pipe))
    with pipe.open("wb"):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert out.splitlines() == ["2 turns of 1 conversation imported", "stopped: run the same command again to continue"]
    assert home.lines("import", str(file))[1:] == ["2 turns known already"]


MEGABYTES = 100 if SOAK else 24
WATCHED = """
import sys
from pathlib import Path
from clew.cli import main
try:
    main()
finally:
    [most] = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    print("kilobytes", most, file=sys.stderr)
"""
"""The kernel's own mark: what `getrusage` says would begin with the memory of the test."""


def watched(home: Home, *arguments: str) -> tuple[str, int]:
    """What a command prints, and the most memory that it took, in kilobytes."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *arguments],
        env={"PATH": os.environ["PATH"], **home.environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    *told, last = done.stderr.splitlines()
    assert told == (BROKEN if "all" in arguments[-1] else []), done.stderr
    return done.stdout, int(last.split()[1])


BROKEN: list[str] = []


def long_talk(session: int, megabytes: int) -> bytes:
    """Tools with large results, and thinking in between."""
    given = Scribbler(session=f"{session:08x}-0000-4000-8000-000000000000")
    for number in range(megabytes * 32):
        given.user([tool_result(f"t{session}-{number - 1}", "x" * 16_000)] if number else "begin")
        given.assistant(
            f"m{session}-{number}",
            thinking("y" * 8_000, f"sig-{session}-{number}" * 20),
            tool_use(f"t{session}-{number}", command="z" * 6_000),
            stop="tool_use",
        )
    return given.raw


@pytest.mark.slow
def test_a_directory_of_any_size_needs_little_memory_and_only_broken_lines_are_lost(tmp_path: Path) -> None:
    few, many = tmp_path / "few", tmp_path / "all"
    few.mkdir()
    many.mkdir()
    (few / "talk.jsonl").write_bytes(long_talk(0, 1))
    sizes = [MEGABYTES // 2, MEGABYTES // 4, MEGABYTES // 4]
    for session, size in enumerate(sizes, 1):
        lines = long_talk(session, size).splitlines(keepends=True)
        lines.insert(10, b'{"type":"user","mess\n')
        (many / f"{session}.jsonl").write_bytes(b"".join(lines))
    BROKEN[:] = [f"{many}/{session}.jsonl line 11: unexpected end of data (column 21)" for session in (1, 2, 3)]
    _, base = watched(Home(tmp_path / "base"), "import", str(few))
    home = Home(tmp_path / "home")
    out, most = watched(home, "import", str(many))
    assert out.splitlines() == [f"{sum(sizes) * 32} turns of 3 conversations imported"]
    assert most - base < 12 * 1024
    with home.store() as store:
        assert len(store.passages("local", store.threads("local")[0].id)) in {size * 32 for size in sizes}
        assert store.verify() == ()


def test_a_mark_at_the_beginning_of_a_file_costs_no_line(home: Home, tmp_path: Path) -> None:
    """Some editors put one there."""
    file = tmp_path / "talk.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + transcript().raw)
    assert home.lines("import", str(file)) == ["2 turns of 1 conversation imported"]
