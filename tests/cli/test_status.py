"""`clew status`: what is active and who said so, what runs, what is kept, and what is broken."""

import json
import os
import time
from pathlib import Path

import pytest

from clew.settings.home import Home as Place
from clew.settings.processes import RegisteredGateway, register, unregister
from clew.store.spool import UNREADABLE, Spool
from tests.cli.homes import Home, day, talk, turn, yesterday
from tests.manifest import proves, public
from tests.store.turns import recorded

BEGIN = "No requests yet. Begin with `clew run -- claude`, or point a client at `clew serve`."


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Nothing is wrong with it."""
    home = Home(tmp_path / "home")
    home.environ["A_KEY_THAT_NOBODY_SET"] = "somebody did"
    return home


def test_an_empty_home_says_what_to_do(tmp_path: Path) -> None:
    """And makes nothing."""
    home = Home(tmp_path / "home", config="")
    assert home.lines("status") == [
        "active    claude (default)",
        "config    none, and none is needed: `clew config init` writes one",
        f"store     {home.file}: nothing is kept yet",
        "thinking  no blocks recorded yet",
        "gateways  none is running: `clew serve`, or `clew run -- claude`",
        BEGIN,
    ]
    assert list(home.root.iterdir()) == []


def test_nothing_is_said_of_what_a_database_that_is_away_would_know(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", config='[store]\nurl = "postgresql://clew@127.0.0.1:1/clew?connect_timeout=2"\n')
    active, _, store, thinking, *_ = home.clew("status").stdout.splitlines()
    assert active.endswith(", unless `clew use` chose another)")
    assert "cannot be reached" in store
    assert thinking == "thinking  unknown, because the store cannot be read"


def test_turns_that_wait_for_a_database_are_counted(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", config='[store]\nurl = "postgresql://clew@127.0.0.1:1/clew?connect_timeout=2"\n')
    spool = Spool(home.root / "spool")
    for name in ("a", "b"):
        path = spool.keep(turn(recorded(name)), readable=True)
    waiting = "          2 turns on this machine alone; a running gateway sends what waits when the database takes it"
    assert waiting in home.clew("status").stdout.splitlines()
    assert json.loads(home.clew("status", "--json").stdout)["store"]["waiting"] == 2
    path.rename(path.with_suffix(UNREADABLE))
    said = home.clew("doctor").stdout
    assert f"turns on this machine alone: 1, in {home.root / 'spool'}" in said
    assert "set aside: 1" in said


@public("cli")
@proves("req:S1-40")
def test_it_shows_what_is_active_what_is_kept_and_how_the_last_requests_went(home: Home) -> None:
    """S1-40: five counts that add up two ways, and the two that a policy without sessions has besides."""
    home.keep(*talk(yesterday()))
    home.lines("use", "glm")
    with home.store() as store:
        store.touch("local", keys=[talk(0)[0].recording.keys[0], b"u" * 32], at=time.time()).result(120)
    lines = home.lines("status")
    assert lines[:2] == ["active    glm (clew use)", f"config    {home.config}"]
    assert lines[2].startswith(f"store     {home.file}, ")
    assert lines[2].endswith((" kB, ok", " MB, ok"))
    said = [
        "      thinking: 1 left out",
        "      left out messages.1.content.0: made by glm",
        "      tokens: 10 in, 20 out; cache 30 read, 40 written",
    ]
    assert lines[3:] == [
        "thinking  3 blocks: 1 confirmed, 2 unconfirmed",
        "          1 of the active backend, 2 of others",
        "          2 dormant, 1 unknown",
        "gateways  none is running: `clew serve`, or `clew run -- claude`",
        "last requests (`clew log` has more of them)",
        f"  {day()} 11:59:57  01a2b3c4d5e  claude-opus-5-5 → claude claude-opus-5-5  whole  2.5 s, first byte 0.50 s",
        *said,
        f"  {day()} 12:00:07  01a2b3c4d5e  claude-opus-5-5 → claude claude-opus-5-5  whole  2.5 s, first byte 0.50 s",
        *said,
        f"  {day()} 12:00:17  01a2b3c4d5e  claude-opus-5-5 → glm glm-5  whole  2.5 s, first byte 0.50 s",
        *said,
        f"  {day()} 12:00:27  01a2b3c4d5e  claude-opus-5-5 → claude claude-opus-5-5  refused (400)  2.5 s",
        "      the backend's request id: req_9",
    ]


def test_every_gateway_that_runs_is_listed_with_what_it_sends_to(home: Home) -> None:
    place, moment = Place(home.root), yesterday()
    entered = [
        register(place, RegisteredGateway(pid=os.getpid(), url=f"http://127.0.0.1:{port}", started=moment + port, name=name))
        for port, name in ((2539, "main"), (4000, "run-1"))
    ]
    with home.store() as store:
        store.set("active", "glm", scope="run-1", at=moment).result(5)
    lines = home.lines("status")
    at = lines.index("gateways")
    assert lines[at + 1 : at + 4] == [
        f"  name   pid{' ' * (len(str(os.getpid())) - 3)}  for clients            active         since",
        f"  main   {os.getpid()}  http://127.0.0.1:2539  claude         {day()} 12:42:19",
        f"  run-1  {os.getpid()}  http://127.0.0.1:4000  glm (its own)  {day()} 13:06:40",
    ]
    for each in entered:
        unregister(place, each)


@pytest.mark.parametrize("store", [True, False], ids=["kept", "nothing kept"])
def test_a_run_that_began_with_a_backend_of_its_own_is_listed_with_that(home: Home, store: bool) -> None:
    """`clew run --backend`: what all are told does not reach it."""
    if store:
        home.lines("use", "claude")
    run = RegisteredGateway(pid=os.getpid(), url="http://127.0.0.1:4000", name="run-1", choice="glm")
    entered = register(Place(home.root), run)
    found = home.json("status")
    assert (found["active"]["backend"], found["gateways"][0]["active"]) == (
        "claude",
        {"backend": "glm", "source": "clew run --backend", "is_unknown": False, "requested": ""},
    )
    assert " glm (its own) " in home.lines("status")[home.lines("status").index("gateways") + 2]
    unregister(Place(home.root), entered)


def test_a_broken_config_is_shown_whole_and_the_rest_too(home: Home) -> None:
    """P6: the exit code says it as well."""
    home.keep(*talk(yesterday()))
    home.config.write_text('active = "nobody"\n[gatway]\n')
    done = home.clew("status")
    assert done.exit_code == 5
    lines = done.stdout.splitlines()
    assert lines[0] == "active    unknown: the config cannot be used"
    assert lines[1].startswith(f"config    {home.config} has 2 mistakes")
    assert "          running gateways keep the settings that they had; `clew config check` lists the mistakes" in lines
    assert "last requests (`clew log` has more of them)" in lines


def test_a_variable_that_a_backend_waits_for_is_named(tmp_path: Path) -> None:
    """That backend alone is out of use, so the command ends well; a gateway that runs has what it was started with."""
    home = Home(tmp_path / "home")
    done = home.clew("status")
    lines = done.stdout.splitlines()
    said = "          line 8: the variable A_KEY_THAT_NOBODY_SET is not set here, so glm is disabled here"
    assert (done.exit_code, lines[:3]) == (0, ["active    claude (" + f"{home.config}:2)", f"config    {home.config}", said])
    unset = [{"backend": "glm", "variable": "A_KEY_THAT_NOBODY_SET", "line": 8}]
    assert json.loads(home.clew("status", "--json").stdout)["unset"] == unset
    entered = register(Place(home.root), RegisteredGateway(pid=os.getpid(), url="http://127.0.0.1:4000", name="main"))
    assert home.lines("status")[2:4] == [said, "          a running gateway has the variables it was started with"]
    unregister(Place(home.root), entered)
    home.environ["A_KEY_THAT_NOBODY_SET"] = "set"
    assert home.json("status")["unset"] == []


def test_no_variable_is_missed_and_none_that_may_be_missing_is_named(tmp_path: Path) -> None:
    text = """
[backends.a]
url = "https://a.example"
keys = ["${A_ONE}", "${A_TWO:-}", "file:${A_PLACE}/key"]
[backends.b]
url = "https://b.example"
key = "${B_SET}"
"""
    home = Home(tmp_path / "home", text)
    home.environ["B_SET"] = "1"
    unset = json.loads(home.clew("status", "--json").stdout)["unset"]
    assert [(each["backend"], each["variable"], each["line"]) for each in unset] == [("a", "A_ONE", 4), ("a", "A_PLACE", 4)]


def test_the_doctor_names_it_too(tmp_path: Path) -> None:
    done = Home(tmp_path / "home").clew("doctor")
    assert "glm is disabled: the variable A_KEY_THAT_NOBODY_SET is not set (backends.glm.key, " in done.stdout


def test_a_choice_is_known_though_the_config_is_broken(home: Home) -> None:
    home.lines("use", "glm")
    home.config.write_text("=")
    done = home.clew("status")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (5, "active    glm (clew use)")


def test_a_store_that_cannot_be_read_is_said_and_ends_with_1(home: Home) -> None:
    home.file.write_bytes(b"no database" * 1000)
    home.file.chmod(0o600)
    done = home.clew("status")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[2].startswith(f"store     {home.file} is damaged, or no store")
    assert BEGIN not in done.stdout


def test_json_has_it_all(home: Home) -> None:
    home.keep(*talk(yesterday()))
    found = home.json("status")
    assert found["active"] == {"backend": "claude", "source": f"{home.config}:2", "is_unknown": False, "requested": ""}
    assert (found["problem"], found["gateways"], found["store"]["state"]) == ("", [], "ok")
    assert found["thinking"] == {
        "total": 3,
        "confirmed": 0,
        "unconfirmed": 3,
        "current_session": 2,
        "old_session": 1,
        "dormant": 3,
        "unknown": 0,
    }
    assert [each["id"] for each in found["last"]] == ["x-r0", "x-r1", "x-g", "x-refused"]


def test_a_store_that_is_off_is_said(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", '[store]\nurl = "off"\n')
    assert "store     off: nothing is kept" in home.lines("status")


@proves("req:S0-29", "req:S0-23", "req:S0-32")
def test_variables_that_decide_what_is_put_into_requests_are_shown(home: Home) -> None:
    """S0-29, S0-23: with what each does; S0-32: one that is no number is shown too."""
    home.environ |= {"MAX_THINKING_TOKENS": "5000", "DISABLE_PROMPT_CACHING_HAIKU": "1"}
    lines = home.lines("status")
    at = lines.index(
        "          MAX_THINKING_TOKENS=5000: a thinking budget of 5000 tokens, where a request leaves thinking open"
    )
    assert lines[at + 1] == "          DISABLE_PROMPT_CACHING_HAIKU=1: no cache marks are added for haiku models"
    names = [each["name"] for each in json.loads(home.clew("status", "--json").stdout)["variables"]]
    assert names == ["MAX_THINKING_TOKENS", "DISABLE_PROMPT_CACHING_HAIKU"]
    home.environ["MAX_THINKING_TOKENS"] = "abc"
    assert any(
        line.strip().startswith("MAX_THINKING_TOKENS=abc: not a number: no thinking") for line in home.lines("status")
    )
