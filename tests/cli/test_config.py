"""`clew config`: making, finding, checking and showing the settings file."""

import json
import re
import stat
import tomllib
from pathlib import Path

import jsonschema
import pytest
from msgspec import structs

from clew.settings.load import load
from clew.settings.values import GatewaySettings, Settings
from tests.cli.invoking import Clew
from tests.manifest import proves, public


@pytest.fixture
def clew(tmp_path: Path) -> Clew:
    return Clew(tmp_path / "home")


# ── init


def test_the_first_file_says_what_would_be_found_without_it(clew: Clew) -> None:
    """Commented defaults change nothing; the file is private, and its schema lies beside it."""
    clew.environ = {"ZAI_API_KEY": "sk-zai", "ANTHROPIC_AUTH_TOKEN": "t"}
    before = load(None, {"CLEW_HOME": str(clew.home)} | clew.environ).settings
    result = clew("config", "init")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, f"written: {clew.config}")
    assert stat.S_IMODE(clew.config.stat().st_mode) == 0o600
    after = load(clew.config, clew.environ).settings
    assert isinstance(after, Settings) and without_key_lines(after) == without_key_lines(before)
    assert clew.config.read_text().startswith("#:schema ./clew.schema.json\n")
    jsonschema.validate(tomllib.loads(clew.config.read_text()), json.loads((clew.home / "clew.schema.json").read_text()))


def test_every_line_that_is_commented_out_can_be_taken_as_it_stands(clew: Clew) -> None:
    """Uncommented, the defaults still are the defaults: the file cannot drift from the types."""
    clew("config", "init")
    _, header, tables = clew.config.read_text().partition("[thinking]\n")
    taken = re.sub(r"^# (?=[a-z_]+ = )", "", header + tables, flags=re.MULTILINE)
    assert len(tomllib.loads(taken)["gateway"]) == len(structs.fields(GatewaySettings))
    clew.config.write_text(taken)
    assert load(clew.config, {}).settings == load(None, {"CLEW_HOME": "/nowhere"}).settings


def test_a_file_that_is_there_is_only_replaced_when_asked(clew: Clew) -> None:
    clew.write("# mine")
    result = clew("config", "init")
    assert (result.exit_code, clew.config.read_text()) == (1, "# mine")
    assert result.stderr == f"Error: {clew.config} already exists: edit it, or use --force to replace it.\n"
    assert clew("config", "init", "--force").exit_code == 0
    assert clew.config.read_text() != "# mine"


def test_a_place_that_cannot_be_written_is_said_without_a_traceback(clew: Clew, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = clew("config", "init", "--config", str(tmp_path / "file" / "clew.toml"))
    assert (result.exit_code, "Error: cannot write " in result.stderr) == (1, True)


# ── path


def test_the_path_is_printed_alone_so_that_an_editor_can_take_it(clew: Clew) -> None:
    result = clew("config", "path")
    assert (result.exit_code, result.stdout) == (0, f"{clew.config}\n")
    assert result.stderr == "There is no such file yet: `clew config init` writes one.\n"
    clew.write("")
    assert json.loads(clew("config", "path", "--json").stdout) == {"path": str(clew.config), "exists": True}
    clew.environ = {"CLEW_CONFIG": "/elsewhere"}
    assert clew("config", "path").stdout == "/elsewhere\n"


# ── check


@public("cli")
@proves("req:S1-52")
def test_a_bad_file_ends_with_5_and_every_mistake_with_its_line(clew: Clew) -> None:
    """S1-52: bad config → fail fast with file name."""
    clew.write('active = "x"\n[thinking]\nforeign = "dorp"\n')
    result = clew("config", "check")
    assert (result.exit_code, result.stdout.splitlines()) == (
        5,
        [
            f"{clew.config}: 2 mistakes; the file is not used",
            "  line 1: active: there is no backend 'x' (known: claude)",
            "  line 3: thinking.foreign: expected one of drop, text, native; did you mean 'drop'?",
        ],
    )
    said = json.loads(clew("config", "check", "--json").stdout)
    assert (said["ok"], [fault["line"] for fault in said["faults"]]) == (False, [1, 3])


def test_a_good_file_says_what_it_comes_to_and_what_to_mind(clew: Clew, tmp_path: Path) -> None:
    clew.write('[backends.glm]\npreset = "zai"\nkey = "sk-literal"\n').chmod(0o600)
    result = clew("config", "check")
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            f"{clew.config} can be used. Backends: glm; active: glm",
            "warning: backends.glm: a key stands in the file itself: better as ${VARIABLE} or file:",
        ],
    )
    assert json.loads(clew("config", "check", "--json").stdout)["ok"] is True
    other = tmp_path / "other.toml"
    assert clew("config", "check", str(other)).exit_code == 5


def test_no_file_is_no_mistake(clew: Clew) -> None:
    result = clew("config", "check")
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            f"There is no file at {clew.config}; the environment and the defaults are used.",
            "Backends: claude; active: claude",
            "`clew config init` makes one.",
        ],
    )


# ── show


def test_every_setting_is_shown_with_who_said_so_and_no_key_is(clew: Clew) -> None:
    clew.write(
        'active = "glm"\n[backends.glm]\npreset = "zai"\nkey = "${K}"\nquirks = { missing = "off" }\n'
        '[[rules]]\nfamily = "opus"\nbackend = "glm"\n[models."glm-5.3"]\ncontext = 9\n'
    )
    clew.environ = {"K": "sk-secret"}
    shown = json.loads(clew("config", "show", "--json").stdout)
    told = {entry["key"]: (entry["value"], entry["origin"]) for entry in shown["settings"]}
    file = clew.config
    assert {key: told[key] for key in told if told[key][1] != "default"} == {
        "active": ("glm", f"{file}:1"),
        "backends.glm.preset": ("zai", f"{file}:3"),
        "backends.glm.keys": (["<secret 746b4ad1>"], f"{file}:4"),
        "backends.glm.url": ("https://api.z.ai/api/anthropic", "preset zai"),
        "backends.glm.realm": ("zai", "preset zai"),
        "backends.glm.auth": ("bearer", "preset zai"),
        "backends.glm.model": ("glm-5.3", "preset zai"),
        "backends.glm.models": ({"opus": "glm-5.3", "sonnet": "glm-5.3", "haiku": "glm-4.5-air"}, "preset zai"),
        "backends.glm.quirks.adaptive": (False, "preset zai"),
        "backends.glm.quirks.missing": ("off", f"{file}:5"),
        "backends.glm.quirks.system_messages": (False, "preset zai"),
        "rules[0].family": ("opus", f"{file}:7"),
        "rules[0].backend": ("glm", f"{file}:8"),
        'models."glm-5.3"': ("…", f"{file}:9"),
        'models."glm-5.3".context': ("…", f"{file}:10"),
    }
    assert (told["thinking.foreign"], told["gateway.port"]) == (("drop", "default"), (2539, "default"))
    for options in ([], ["--origin"], ["--json"]):
        assert "sk-secret" not in clew("config", "show", *options).output


def test_what_is_shown_can_be_read_by_people(clew: Clew) -> None:
    clew.environ = {"ZAI_API_KEY": "k"}
    lines = clew("config", "show").stdout.splitlines()
    assert lines[:2] == ["# no file: the environment and the defaults", 'active = "claude"']
    origin = clew("config", "show", "--origin").stdout
    assert [line.split()[-2:] for line in origin.splitlines() if "glm.keys" in line] == [["environment:", "ZAI_API_KEY"]]


def test_a_file_that_cannot_be_used_is_not_shown(clew: Clew) -> None:
    clew.write("nonsense = 1\n")
    result = clew("config", "show")
    assert (result.exit_code, result.stdout, result.stderr.startswith(f"Error: {clew.config}:1: nonsense: ")) == (
        5,
        "",
        True,
    )


# ── schema


def schema_of(clew: Clew) -> dict:
    return json.loads(clew("config", "schema").stdout)


@pytest.mark.parametrize(
    "text",
    [
        'active = "x"\n[backends.x]\nurl = "http://127.0.0.1:1"\nauth = "none"\n',
        '[backends.x]\npreset = "zai"\nkeys = ["a", "b"]\nmodels = { opus = "o" }\nquirks = { adaptive = false }\n',
        '[[rules]]\nagent = "*"\nbackend = "claude"\n[models.m]\nas = "claude-opus-5-5"\ncontext = 1\n',
        '[build]\nbudget = { default = 1 }\ncache = { ttl = "1h" }\n[timeouts]\ngap = 3\n[store]\nbodies = "last:7"\n',
    ],
)
def test_what_the_loader_takes_the_schema_takes(clew: Clew, text: str) -> None:
    jsonschema.Draft202012Validator(schema_of(clew)).validate(tomllib.loads(text))
    assert load(clew.write(text), {}, keys=False)


@pytest.mark.parametrize(
    "text",
    [
        "nonsense = 1\n",
        '[backends.x]\npreset = "zia"\n',
        "[backends.x]\nurll = 1\n",
        '[thinking]\nforeign = "dorp"\n',
        "[gateway]\nport = 99999\n",
        "[timeouts]\ngapp = 1\n",
        "[build]\ncache = { tll = '1h' }\n",
        '[[rules]]\nfamily = "opus"\n',
        "[models.m]\ncontxt = 1\n",
        '[store]\nbodies = "some"\n',
    ],
)
def test_what_the_loader_refuses_for_its_shape_the_schema_refuses(clew: Clew, text: str) -> None:
    validator = jsonschema.Draft202012Validator(schema_of(clew))
    assert not validator.is_valid(tomllib.loads(text))
    clew.write(text)
    assert clew("config", "check").exit_code == 5


def test_every_key_of_the_schema_has_its_meaning(clew: Clew) -> None:
    """An editor shows them; they are the texts below the fields."""
    schema = schema_of(clew)
    tables = {"Document": schema} | {
        name: schema["$defs"][name]
        for name in (
            "BackendTable",
            "Quirks",
            "ChatRequestOptions",
            "ChatAnswerOptions",
            "Manner",
            "RoutingRule",
            "ThinkingSettings",
            "StoreSettings",
            "GatewaySettings",
            "LogSettings",
            "BuildSettings",
            "RunSettings",
        )
    }
    silent = [
        f"{table}.{name}"
        for table, each in tables.items()
        for name, field in each["properties"].items()
        if "description" not in field and "$ref" not in field
    ]
    assert silent == []


def test_help_has_examples_and_exit_codes(clew: Clew) -> None:
    text = clew("config", "--help").stdout
    assert "clew config show --origin" in text and "5 a file that cannot be used" in text
    for command in ("init", "path", "check", "show", "schema"):
        assert "Examples:" in clew("config", command, "--help").stdout


def without_key_lines(settings: Settings) -> Settings:
    """Where a key was found differs: in a variable, or in a variable that a line names."""
    rows = {name: structs.replace(row, keys_from=()) for name, row in settings.backends.items()}
    return structs.replace(settings, backends=rows)


def test_show_has_only_what_a_file_can_say(tmp_path: Path) -> None:
    clew = Clew(tmp_path / "home", ZAI_API_KEY="sk-x")
    clew.write('[backends.glm]\npreset = "zai"\nkey = "${ZAI_API_KEY}"\n[backends.kimi]\npreset = "kimi"\nkey = "${NONE}"\n')
    lines = clew("config", "show").stdout.splitlines()
    assert [line for line in lines if line.startswith(("disabled", "backends.glm.keys_from"))] == []
    assert lines[-1].startswith("warning: kimi is disabled: the variable NONE is not set")
