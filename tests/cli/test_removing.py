"""`clew backends remove`: the file without one backend, or the places that need it."""

import os
import time
import tomllib
from pathlib import Path

import pytest

from clew.model.turn import Exchange, TurnRecord
from clew.settings.home import Home
from clew.settings.processes import RegisteredGateway, register, unregister
from clew.store.sqlite.store import SqliteStore
from tests.cli.invoking import Clew

FILE = """\
# my own
active = "claude"

[backends.claude]  # the usual one
preset = "anthropic"

# for long texts
[backends.glm]
preset = "zai"
# my account
key = "${ZAI_API_KEY}"

[backends.glm.quirks]
adaptive = false
# behind glm

[backends.kimi]
preset = "kimi"
key = "${MOONSHOT_API_KEY}"
"""


@pytest.fixture
def clew(tmp_path: Path) -> Clew:
    clew = Clew(tmp_path / "home")
    clew.write(FILE)
    return clew


def test_its_tables_go_and_the_rest_stays_to_the_byte(clew: Clew) -> None:
    result = clew("backends", "remove", "glm")
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            f"removed from {clew.config}: glm",
            "No gateway is running. The next one starts with this choice: `clew serve`, or `clew run -- claude`.",
        ],
    )
    start, end = FILE.index("[backends.glm]"), FILE.index("# behind glm")
    assert clew.config.read_text() == FILE[:start] + FILE[end:]


@pytest.mark.parametrize(
    "text",
    [
        '[backends]\nclaude.preset = "anthropic"\nglm.preset = "zai"\nglm.key = "k"\n',
        '[backends]\nglm = { preset = "zai", key = "k" }\nclaude = { preset = "anthropic" }\n',
        'backends.glm.preset = "zai"\nbackends.glm.key = "k"\nbackends.claude.preset = "anthropic"\n',
        '[backends.glm]\npreset = "zai"\nkey = "k"\n[backends.claude]\npreset = "anthropic"\n[backends.glm.quirks]\nadaptive = false',
    ],
)
def test_every_way_to_write_a_backend_is_found(clew: Clew, text: str) -> None:
    clew.write(text)
    assert clew("backends", "remove", "glm").exit_code == 0
    assert tomllib.loads(clew.config.read_text())["backends"] == {"claude": {"preset": "anthropic"}}


def refused(clew: Clew, name: str = "glm") -> list[str]:
    """What still needs it. The file stays as it was."""
    before = clew.config.read_text()
    result = clew("backends", "remove", name)
    assert (result.exit_code, clew.config.read_text()) == (1, before)
    head, *places = result.stderr.splitlines()
    assert head == f"Error: {name} was not removed, because it is in use:"
    return places


def test_what_the_file_needs_stays(clew: Clew) -> None:
    rules = '[[rules]]\nfamily = "haiku"\nbackend = "glm"\n'
    clew.write(FILE.replace('"claude"', '"glm"', 1).replace("\n\n", '\nfailover = ["kimi", "glm"]\n', 1) + rules)
    assert refused(clew) == [
        f'  active = "glm" ({clew.config}:2): change that line',
        f"  failover ({clew.config}:3): change that line",
        f"  a rule ({clew.config}:22): change or remove it",
    ]


def test_the_backend_that_is_active_without_a_word_stays(clew: Clew) -> None:
    clew.write('[backends.glm]\npreset = "zai"\nkey = "k"\n[backends.kimi]\npreset = "kimi"\nkey = "k"\n')
    assert refused(clew) == [
        f'  it is active, because {clew.config} names no other backend: write `active = "NAME"` at its top'
    ]
    assert clew("use", "kimi").exit_code == 0
    assert clew("backends", "remove", "glm").exit_code == 0


def test_what_was_chosen_while_everything_runs_stays_and_the_command_that_frees_it_works(clew: Clew) -> None:
    clew.environ = {"ZAI_API_KEY": "k", "MOONSHOT_API_KEY": "k"}
    thread = kept_thread(clew.home)
    running = RegisteredGateway(pid=os.getpid(), url="http://127.0.0.1:1", name="main", config=str(clew.config))
    main = register(Home(clew.home), running)
    for options in ((), ("--agents",), ("--family", "haiku"), ("--thread", thread)):
        clew("use", "glm", *options)
    with SqliteStore(clew.home / "clew.db") as store:
        store.set("active", "glm", scope="main", at=time.time()).result(10)
    places = [line.rpartition(": ") for line in refused(clew)]
    assert [where.strip() for where, _, _ in places] == [
        "active for the gateway main",
        "active by `clew use`",
        "active by `clew use --agents`",
        "active by `clew use --family haiku`",
        f"the thread {thread} is pinned to it",
    ]
    for _, _, free in places:
        clew(*free.strip("`").split()[1:])
    unregister(Home(clew.home), main)
    assert clew("backends", "remove", "glm").exit_code == 0


def kept_thread(home: Path) -> str:
    now = time.time()
    exchange = Exchange(
        id="x1", principal="local", thread="t1", started=now, ended=now, asked_model="m", backend="glm", model="m"
    )
    with SqliteStore(home / "clew.db") as store:
        store.record(TurnRecord(exchange=exchange, asked=(b'{"role":"user","content":"Hi"}',), title="Hi")).result(10)
    return "t1"


@pytest.mark.parametrize(
    ("text", "name", "code", "says"),
    [
        (FILE, "gml", 2, "There is no backend 'gml' in"),
        (FILE, "gml", 2, "did you mean 'glm'?"),
        ('[backends.glm]\npreset = "zai"\nkey = "k"\n', "glm", 1, "it is active"),
        (
            'backends = { claude = { preset = "anthropic" }, glm = { preset = "zai", key = "k" } }\n',
            "glm",
            5,
            "stays as it was",
        ),
        ("=", "glm", 5, "not TOML"),
    ],
)
def test_what_cannot_be_removed_leaves_the_file_as_it_was(clew: Clew, text: str, name: str, code: int, says: str) -> None:
    clew.write(text)
    result = clew("backends", "remove", name)
    assert (result.exit_code, says in result.stderr, clew.config.read_text()) == (code, True, text), result.stderr


def test_without_a_file_there_is_nothing_to_remove(clew: Clew) -> None:
    clew.config.unlink()
    result = clew("backends", "remove", "claude")
    assert (result.exit_code, "there is no settings file" in result.stderr) == (1, True)
