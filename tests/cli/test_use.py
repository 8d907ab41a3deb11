"""`clew use`: the switch goes into the store, says what was before, and refuses names that are none."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.settings.home import Home as Place
from clew.settings.processes import RegisteredGateway, register, unregister
from tests.cli.gateways import gateway_of
from tests.cli.homes import THREAD, Home, talk, yesterday
from tests.cli.invoking import Clew


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.environ["A_KEY_THAT_NOBODY_SET"] = "set here"
    return home


@pytest.fixture
def gateway(home: Home) -> Iterator[str]:
    with gateway_of(home) as entered:
        yield entered.name


def settings(home: Home, scope: str = "") -> dict[str, str]:
    with home.store() as store:
        return store.settings(scope)


def test_without_a_name_the_backends_are_listed_and_the_active_one_is_marked(home: Home) -> None:
    assert home.lines("use") == [
        "     backend  model     realm      url",
        "  →  claude   as asked  anthropic  https://api.anthropic.com",
        "     glm      glm-5.3   glm        https://api.z.ai/api/anthropic",
        "",
        f"claude is active ({home.config}:2).",
        "Switch with `clew use NAME`; running conversations continue.",
    ]
    assert not home.file.exists()


def test_a_switch_is_written_to_the_store_and_says_what_was_before(home: Home) -> None:
    """Design §6: it overrides the file."""
    assert home.lines("use", "glm") == [
        "glm is active (clew use); before: claude.",
        "No gateway is running. The next one starts with this choice: `clew serve`, or `clew run -- claude`.",
    ]
    assert settings(home) == {"active": "glm"}
    assert home.lines("use", "glm")[0] == "glm is active (clew use); as before."
    assert [row["name"] for row in home.json("use")["backends"] if row["active"]] == ["glm"]


def test_reset_lets_the_file_decide_again(home: Home) -> None:
    home.lines("use", "glm")
    assert home.lines("use", "--reset")[0] == f"claude is active ({home.config}:2); before: glm."
    assert settings(home) == {}


def test_a_gateway_that_runs_can_have_a_choice_of_its_own(home: Home, gateway: str) -> None:
    home.lines("use", "glm")
    assert home.lines("use", "claude", "--gateway", gateway) == [
        "claude is active for gateway g1 (clew use --gateway); before: glm.",
        "1 running gateway has applied it.",
    ]
    assert (settings(home), settings(home, gateway)) == ({"active": "glm"}, {"active": "claude"})
    assert home.lines("use", "--reset", "--gateway", gateway)[0] == (
        "glm is active for gateway g1 (clew use); before: claude."
    )


def test_who_was_told_something_for_itself_is_said_not_to_follow(home: Home, gateway: str) -> None:
    """By `clew run --backend`, or by `--gateway`."""
    with gateway_of(home, "run-1", choice="claude"):
        stays = "Gateway run-1 stays with claude (clew run --backend): `clew use NAME --gateway run-1` switches it."
        assert home.lines("use", "glm")[1:] == ["1 running gateway has applied it.", stays]
        home.lines("use", "glm", "--gateway", "run-1")
        stays = "Gateway run-1 stays with glm (clew use --gateway): `clew use NAME --gateway run-1` switches it."
        assert home.lines("use", "claude")[1:] == ["1 running gateway has applied it.", stays]
        assert home.lines("use", "--reset", "--gateway", "run-1")[0] == (
            "claude is active for gateway run-1 (clew run --backend); before: glm."
        )


def test_a_gateway_with_a_file_of_its_own_is_switched_among_its_own_backends(home: Home, tmp_path: Path) -> None:
    """`clew serve --config F`, and in another shell `clew use glm`. Where several differ, nobody is guessed."""
    other = tmp_path / "other.toml"
    other.write_text('[backends.mine]\npreset = "zai"\nkey = "k"\n[backends.yours]\npreset = "zai"\nkey = "k"\n')
    with gateway_of(home, config=other):
        assert home.lines("use", "yours")[0].startswith("yours is active (clew use)")
        with gateway_of(home, "g2"):
            assert home.refused("use", "yours") == (2, "Error: There is no backend 'yours'. There are: claude, glm.")


def test_a_gateway_that_does_not_have_the_backend_is_named_with_what_it_has(
    home: Home, tmp_path: Path, gateway: str
) -> None:
    """It goes by another file. What it answers then is a 503: nothing goes to a backend that nobody chose."""
    other = tmp_path / "other.toml"
    other.write_text('[backends.mine]\npreset = "zai"\nkey = "k"\n')
    with gateway_of(home, "g2", config=other):
        done = home.clew("use", "glm")
        assert (done.exit_code, done.stdout.splitlines()) == (
            1,
            ["glm is chosen (clew use); before: claude.", "1 running gateway has applied it."],
        )
        assert done.stderr.splitlines() == [
            f"Gateway g2 (pid {os.getpid()}) has not applied it: it does not know the backend glm: there is none of this name in "
            f"{other}.",
            f"  To fix it: add the backend to {other}, or choose one that this gateway has: mine.",
        ]
        assert json.loads(home.clew("use", "glm", "--json").stdout)["followed"]["behind"][0]["gateway"] == "g2"
        assert home.clew("use", "glm", "--gateway", gateway).exit_code == 0
        assert [home.clew("use", *part).exit_code for part in (("glm", "--agents"), ("glm", "--family", "haiku"))] == [1, 1]
        assert [home.clew("use", "--reset", *part).exit_code for part in (("--agents",), ("--family", "haiku"))] == [0, 0]


def test_a_gateway_that_reports_nothing_is_named(home: Home) -> None:
    """One of an older clew: whether it follows cannot be known."""
    begun = RegisteredGateway(pid=os.getpid(), url="http://127.0.0.1:2539", started=time.time(), name="old")
    entered = register(Place(home.root), begun)
    done = home.clew("use", "glm")
    unregister(Place(home.root), entered)
    assert (done.exit_code, "0 running gateways have applied it." in done.stdout) == (1, True)
    assert f"Gateway old (pid {os.getpid()}) has not applied it: it does not report which settings" in done.stderr


def test_threads_that_stay_with_a_backend_are_listed_with_the_command_that_lets_them_go(home: Home) -> None:
    """By anyone who lists or switches backends, and by the status: what is active is not what such a thread gets."""
    home.keep(*talk(yesterday()))
    home.environ["A_KEY_THAT_NOBODY_SET"] = "a-key"
    assert (home.json("use")["pins"], home.json("status")["pins"]) == ([], [])
    home.clew("use", "glm", "--thread", THREAD)
    pinned = [{"thread": THREAD, "title": home.json("show")[0]["title"], "backend": "glm"}]
    assert (home.json("use")["pins"], home.json("status")["pins"]) == (pinned, pinned)
    said = f"stays with glm: `clew use --reset --thread {THREAD}` removes the pin."
    for command in (["use"], ["use", "claude"], ["status"]):
        [line] = [line for line in home.lines(*command) if "stays with" in line]
        assert line.endswith(said), command
    home.clew("use", "--reset", "--thread", THREAD)
    assert [line for line in home.lines("status") if "stays with" in line] == []


def test_a_gateway_that_does_not_run_is_refused_with_those_that_do(home: Home, gateway: str) -> None:
    assert home.refused("use", "glm", "--gateway", "g2") == (2, "Error: No gateway 'g2' is running. Running: g1.")


def test_a_thread_is_pinned_and_let_go_by_the_beginning_of_its_id(home: Home) -> None:
    home.keep(*talk(yesterday()))
    back = f"`clew use --reset --thread {THREAD}` removes the pin."
    assert home.lines("use", "glm", "--thread", THREAD[:5]) == [f"thread {THREAD} stays with glm. {back}"]
    assert home.lines("use", "claude", "--thread", "last") == [f"thread {THREAD} stays with claude; before: glm. {back}"]
    assert home.lines("use", "--thread", "last")[-2] == f"thread {THREAD} stays with claude."
    assert settings(home) == {}
    reset = f"thread {THREAD} follows the active backend again; before: claude."
    assert home.lines("use", "--reset", "--thread", "last") == [reset]
    assert home.lines("use", "--thread", "last")[-2] == f"thread {THREAD} follows the active backend."


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nobody",), "Error: There is no backend 'nobody'. There are: claude, glm."),
        (("clude",), "Error: There is no backend 'clude'. There are: claude, glm. Did you mean 'claude'?"),
        (("grok",), "Error: There is no backend 'grok'. There are: claude, glm."),
        (("xai",), "Error: There is no backend 'xai'. There are: claude, glm. `clew backends add xai` adds it."),
        (("glm", "--reset"), "Error: --reset undoes a choice: use it without NAME."),
        (
            ("glm", "--thread", "x", "--gateway", "y"),
            "Error: --thread and --gateway are different choices: use one of them.",
        ),
        (("glm", "--thread", "0"), "Error: There is no thread '0': `clew show` lists the threads."),
        (("--thread", "last"), "Error: No conversation was recorded yet, so there is no last one."),
        (("glm", "--gateway", "g"), "Error: No gateway 'g' is running. Start one with `clew serve`."),
        (("--gateway", "g"), "Error: No gateway 'g' is running. Start one with `clew serve`."),
    ],
)
def test_what_is_not_there_is_said_with_what_is(arguments: tuple[str, ...], says: str, home: Home) -> None:
    assert home.refused("use", *arguments) == (2, says)


def test_json_says_the_same(home: Home) -> None:
    assert home.json("use", "glm") == {
        "active": "glm",
        "before": "claude",
        "source": "clew use",
        "thread": "",
        "gateway": "",
        "family": "",
        "agents": False,
        "pins": [],
        "followed": {"gateways": 0, "behind": []},
        "disabled": "",
    }
    listed = home.json("use")
    assert listed["active"] == {"backend": "glm", "source": "clew use", "is_unknown": False, "requested": ""}
    assert listed["backends"][1] == {
        "name": "glm",
        "active": True,
        "realm": "glm",
        "dialect": "anthropic",
        "model": "glm-5.3",
        "auth": "bearer",
        "url": "https://api.z.ai/api/anthropic",
        "disabled": "",
    }


def test_a_choice_that_left_the_settings_is_said(home: Home) -> None:
    """No other backend takes its place."""
    home.lines("use", "glm")
    home.config.write_text('[backends.claude]\npreset = "anthropic"\n')
    assert home.lines("use")[-3:] == [
        "glm is active (clew use).",
        "glm is not in the settings, so requests get a 503: `clew use NAME` chooses another.",
        "Switch with `clew use NAME`; running conversations continue.",
    ]


def test_a_config_that_cannot_be_used_ends_with_5_and_its_line(home: Home) -> None:
    home.config.write_text("active = \n")
    for arguments in (("use",), ("use", "glm")):
        done = home.clew(*arguments)
        assert (done.exit_code, done.stdout) == (5, "")
        assert done.stderr.startswith(f"Error: {home.config}:1: not TOML")
    assert not home.file.exists()


def test_without_a_store_nothing_can_be_chosen(tmp_path: Path) -> None:
    home = Home(tmp_path / "off", '[store]\nurl = "off"\n')
    assert home.refused("use", "claude") == (
        5,
        'Error: nothing is kept, because the settings say `url = "off"` under [store]: remove that line',
    )
    assert home.lines("use")[-2] == "claude is active (default)."


def test_a_store_that_others_can_read_is_refused(home: Home) -> None:
    home.lines("use", "glm")
    home.file.chmod(0o644)
    code, says = home.refused("use", "claude")
    assert (code, f"run `chmod 600 {home.file}`" in says) == (1, True)


def test_the_store_may_be_elsewhere(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "kept.db"
    home = Home(tmp_path / "home", f'[store]\nurl = "sqlite:{elsewhere}"\n')
    home.lines("use", "claude")
    assert (elsewhere.exists(), home.file.exists()) == (True, False)


def test_a_part_can_go_elsewhere_and_comes_back(home: Home) -> None:
    """A family of models, or all sub-agents; what all others do is not touched."""
    home.environ["A_KEY_THAT_NOBODY_SET"] = "somebody did"
    assert home.lines("use", "glm", "--agents")[0] == "sub-agents go to glm."
    assert home.lines("use", "glm", "--family", "haiku")[0] == "requests for haiku go to glm."
    assert settings(home) == {"active.agents": "glm", "active.family.haiku": "glm"}
    assert home.lines("use")[-4:-1] == [
        f"claude is active ({home.config}:2).",
        "sub-agents go to glm (clew use --agents).",
        "requests for haiku go to glm (clew use --family).",
    ]
    assert home.lines("status")[:3] == [
        f"active    claude ({home.config}:2)",
        "          sub-agents go to glm (clew use --agents)",
        "          requests for haiku go to glm (clew use --family)",
    ]
    for command in ("use", "status"):
        chosen = home.json(command)["chosen"]
        assert [(rule["agent"], rule["family"], rule["backend"]) for rule in chosen] == [
            ("*", "", "glm"),
            ("", "haiku", "glm"),
        ]
    said = home.lines("use", "--reset", "--family", "haiku")[0]
    assert said == "requests for haiku go to the active backend, or where the rules of the config send them; before: glm."
    assert home.refused("use", "glm", "--agents", "--family", "haiku")[0] == 2


@pytest.mark.parametrize(("part", "whose"), [(("--family", "haiku"), "requests for haiku"), (("--agents",), "sub-agents")])
def test_a_part_without_a_name_says_where_it_goes(home: Home, part: tuple[str, ...], whose: str) -> None:
    """As a thread does, or a gateway: the option is never read for nothing."""
    home.environ["A_KEY_THAT_NOBODY_SET"] = "somebody did"
    usual = f"{whose} go to the active backend, or where the rules of the config send them."
    assert home.lines("use", *part)[-2] == usual
    home.lines("use", "glm", "--family", "opus")
    assert home.lines("use", *part)[-2] == usual
    assert home.json("use", *part)["chosen"] == []
    home.lines("use", "glm", *part)
    assert home.lines("use", *part)[-2] == f"{whose} go to glm (clew use {part[0]})."
    assert [rule["backend"] for rule in home.json("use", *part)["chosen"]] == ["glm"]
    assert len(home.json("use")["chosen"]) == 2


def test_a_backend_that_lacks_its_variable_is_listed_with_the_reason(tmp_path: Path) -> None:
    home = tmp_path / "home"
    clew = Clew(home)
    clew.write('[backends.claude]\npreset = "anthropic"\n[backends.glm]\npreset = "zai"\nkey = "${NONE}"\n')
    said = f"glm is disabled: the variable NONE is not set (backends.glm.key, {clew.config}:5)"
    assert [row["disabled"] for row in json.loads(clew("use", "--json").stdout)["backends"]] == ["", said]
    assert f"Here, {said}." in clew("use").stdout.splitlines()
    assert f"Here, {said}." in clew("models", "--no-discover").stdout.splitlines()
    chosen = clew("use", "glm")
    assert (chosen.exit_code, chosen.output.splitlines()[-1]) == (
        0,
        f"Here, {said}: a gateway that starts here answers 503 {UNTIL}",
    )
    assert json.loads(clew("use", "glm", "--json").stdout)["disabled"] == said
    assert "disabled" not in clew("use", "claude").output


UNTIL = "for this backend, until it is set."


def test_a_backend_that_has_no_address_here_can_be_chosen_and_is_said_to_be_disabled(tmp_path: Path) -> None:
    """A gateway of another shell may have what is not set here."""
    clew = Clew(tmp_path / "home")
    clew.write(
        'active = "claude"\n[backends.claude]\npreset = "anthropic"\n[backends.glm]\npreset = "zai"\nurl = "${NONE}"\n'
    )
    chosen = clew("use", "glm")
    said = "Here, glm is disabled: the variable NONE is not set"
    assert (chosen.exit_code, said in chosen.output, said in clew("use").output) == (0, True, True), chosen.output
