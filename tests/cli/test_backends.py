"""`clew backends` and `clew models`: what can be called, whether it answers, what it may be asked for."""

import json
import os
from pathlib import Path

import pytest

from clew.backends.presets import presets
from clew.settings.home import Home
from clew.settings.processes import RegisteredGateway, register
from clew.testing.plugin import StartSimulator
from tests.cli.invoking import Clew
from tests.manifest import proves, public
from tests.ports import own_port


@pytest.fixture
def clew(tmp_path: Path) -> Clew:
    return Clew(tmp_path / "home")


# ── the list


def test_the_list_says_who_reads_signatures_how_each_is_asked_and_what_deviates(clew: Clew) -> None:
    clew.environ = {"DEEPSEEK_API_KEY": "sk-secret"}
    lines = clew("backends", "--no-discover").stdout.splitlines()
    assert [line.split()[:4] for line in lines[1:3]] == [
        ["claude", "anthropic", "anthropic", "https://api.anthropic.com"],
        ["deepseek", "anthropic", "deepseek", "https://api.deepseek.com/anthropic"],
    ]
    assert "missing=off, adaptive=false, signed=false" in lines[2] and "else deepseek-flash" in lines[2]
    assert lines[3] == "2 backends, found without a config; `clew config init` writes one"
    rows = json.loads(clew("backends", "--no-discover", "--json").stdout)["backends"]
    assert [(row["name"], row["auth"], row["quirks"]["missing"]) for row in rows] == [
        ("claude", "passthrough", "nothing"),
        ("deepseek", "key", "off"),
    ]
    assert "sk-secret" not in str(rows) + str(lines)


@pytest.mark.parametrize(("variable", "name"), [("OPENAI_API_KEY", "openai"), ("XAI_API_KEY", "xai")])
def test_reasoning_that_stays_hidden_is_said_to_be_hidden(clew: Clew, variable: str, name: str) -> None:
    """In Chat Completions alone: by default these vendors are asked in the dialect in which they tell it."""
    clew.environ = {variable: "sk-x"}
    [_, row] = json.loads(clew("backends", "--no-discover", "--json").stdout)["backends"]
    assert (row["dialect"], row["hidden"]) == ("openai-responses", "")
    clew.write(f'[backends.{name}]\npreset = "{name}"\ndialect = "openai-chat"\nkey = "${{{variable}}}"\n')
    text = clew("backends", "--no-discover").stdout.splitlines()
    [row] = json.loads(clew("backends", "--no-discover", "--json").stdout)["backends"]
    assert text[-1] == f"{name}: {row['hidden']}" and "dialect openai-responses has it" in row["hidden"]


def test_a_vendors_other_dialect_is_picked_by_a_word(clew: Clew) -> None:
    clew.write('[backends.glm]\npreset = "zai"\ndialect = "openai-chat"\nkey = "${K}"\n')
    [row] = json.loads(clew("backends", "--no-discover", "--json").stdout)["backends"]
    assert (row["dialect"], row["url"], row["realm"]) == ("openai-chat", "https://api.z.ai/api/paas/v4", "zai")
    assert (row["wire"]["knob"], row["model"], next(iter(row["by_model"]))) == ("glm", "glm-5.3", "glm-4*")


def test_the_presets_are_listed_with_where_their_keys_are_looked_for(clew: Clew) -> None:
    text = clew("backends", "presets").stdout
    assert list(dict.fromkeys(line.split()[0] for line in text.splitlines()[1:])) == list(presets())
    assert "ZAI_API_KEY" in text
    assert [row["name"] for row in json.loads(clew("backends", "presets", "--json").stdout)] == list(presets())


def test_the_backends_are_those_of_the_gateway_that_runs(clew: Clew, tmp_path: Path) -> None:
    """As `clew use` lists them. A file that is named overrides that."""
    mine, other = tmp_path / "mine.toml", tmp_path / "other.toml"
    for file in (mine, other):
        file.write_text(f'[backends.{file.stem}]\nurl = "http://127.0.0.1:9"\nauth = "none"\nmodel = "m"\n')
    register(Home(clew.home), RegisteredGateway(pid=os.getpid(), url="http://127.0.0.1:9", name="mine", config=str(mine)))
    asked = tmp_path / "request.json"
    asked.write_text('{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}')
    assert [row["name"] for row in json.loads(clew("use", "--json").stdout)["backends"]] == ["mine"]
    for named, name in (((), "mine"), (("--config", str(other)), "other")):
        rows = json.loads(clew("backends", "--no-discover", "--json", *named).stdout)["backends"]
        assert [row["name"] for row in rows] == [name]
        assert clew("models", "--no-discover", "--backend", name, *named).exit_code == 0
    mine.write_text("nonsense = 1\n")
    for command in (("backends",), ("backends", "test"), ("models",), ("check", str(asked))):
        assert (clew(*command).exit_code, f"{mine}:1: nonsense" in clew(*command).stderr) == (5, True)


def test_a_config_that_cannot_be_used_ends_with_5(clew: Clew) -> None:
    clew.write("nonsense = 1\n")
    for arguments in (["backends"], ["backends", "test"], ["models"]):
        result = clew(*arguments)
        assert (result.exit_code, result.stdout, ":1: nonsense" in result.stderr) == (5, "", True)


# ── the test


@pytest.mark.slow
@proves("req:S1-48")
def test_each_backend_goes_one_round_the_way_the_gateway_would(clew: Clew, simulators: StartSimulator) -> None:
    """Over real sockets: auth as configured, the small model, and what else the backend has."""
    one, two = simulators(), simulators(kind="compat", seed=2)
    clew.write(
        f'[backends.claude]\nurl = "{one.url}"\nrealm = "anthropic"\n'
        f'[backends.other]\nurl = "{two.url}"\nauth = "bearer"\nkey = "sim-o-1"\nmodels = {{ haiku = "tiny" }}\n'
    )
    clew.environ = {"ANTHROPIC_API_KEY": "sim-me-1"}
    result = clew("backends", "test", "--json")
    told = [
        (each["backend"], each["ok"], each["status"], each["model"], each["count_tokens"], each["models"])
        for each in json.loads(result.stdout)
    ]
    assert (result.exit_code, told) == (
        0,
        [("claude", True, 200, "claude-haiku-4-5", True, True), ("other", True, 200, "tiny", True, True)],
    )
    assert [len(each.journal()) for each in (one, two)] == [4, 4]  # models, the question, the result, the count
    text = clew("backends", "test", "other").stdout.splitlines()
    assert text[1].split()[:3] == ["other", "tiny", "ok"] and "answers as tiny" in text[1]
    assert "accepted in thinking blocks" in text[1]


ROUNDS = {
    "deepseek-chat": ("deepseek", ["reasoning_content"], "accepted", ["reasoning_content"], True),
    "deepseek-r1": ("deepseek-r1", ["reasoning_content"], "not passed back", [], True),
    "kimi-chat": ("kimi", ["reasoning_content"], "accepted", ["reasoning_content"], True),
    "openrouter": ("openrouter", ["reasoning", "reasoning_details"], "accepted", ["reasoning_details"], True),
    "tags": ("", ["tags"], "not passed back", [], False),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ROUNDS)
def test_a_round_with_a_backend_in_chat_completions_tells_where_its_reasoning_is(
    clew: Clew, simulators: StartSimulator, kind: str
) -> None:
    """Fields seen, pass-back accepted by a vendor that is strict about it, tool ids, usage with reasoning where it is told."""
    preset, *expected, counted = ROUNDS[kind]
    named = f'preset = "{preset}"\n' if preset else 'model = "m"\n'
    clew.write(f'[backends.it]\n{named}url = "{simulators(kind=kind).url}/v1"\ndialect = "openai-chat"\nkey = "sim-a-1"\n')
    result = clew("backends", "test", "it", "--json")
    [told] = json.loads(result.stdout)
    learned = told["learned"]
    assert (result.exit_code, told["ok"], told["dialect"], told["models"]) == (0, True, "openai-chat", True), told
    assert [learned["reasoning"], learned["passed_back"], learned["back_in"]] == expected
    assert (learned["called"], learned["tool_ids"]) == (True, "unique so far")
    usage = learned["usage"]
    assert usage["input"] > 0 < usage["output"] and (usage["reasoning"] is not None) is counted
    text = clew("backends", "test", "it").stdout.splitlines()[1]
    assert f"  {', '.join(learned['reasoning'])}  " in text


@pytest.mark.slow
def test_a_backend_without_a_model_is_tried_with_one_that_it_lists(clew: Clew, simulators: StartSimulator) -> None:
    sim = simulators(kind="deepseek-chat")
    clew.write(f'[backends.it]\nurl = "{sim.url}/v1"\ndialect = "openai-chat"\nkey = "sim-a-1"\n')
    [told] = json.loads(clew("backends", "test", "--json").stdout)
    assert (told["ok"], bool(told["model"])) == (True, True), told
    assert (
        "it: clients ask for Claude's names, which it does not know: set `model`, or `models`"
        in clew("backends", "--no-discover").stdout
    )


@pytest.mark.slow
def test_a_backend_that_does_not_answer_ends_with_3_and_says_why(clew: Clew, simulators: StartSimulator) -> None:
    sim, port = simulators(), own_port()
    clew.write(
        f'[backends.refused]\nurl = "{sim.url}"\nkey = "sim-invalid"\n'
        f'[backends.gone]\nurl = "http://127.0.0.1:{port}"\nkey = "sk-canary"\n'
        f'[backends.wrong]\nurl = "{sim.url}/nowhere"\nkey = "sim-x-1"\n'
        '[backends.quiet]\nurl = "http://127.0.0.1:9"\nauth = "passthrough"\n'
    )
    result = clew("backends", "test", "--json")
    told = {each["backend"]: (each["ok"], each["says"]) for each in json.loads(result.stdout)}
    assert result.exit_code == 3
    assert told["refused"] == (False, "status 401: it refuses the key")
    assert told["gone"][0] is False and f"127.0.0.1:{port}" in told["gone"][1]
    assert told["wrong"][0] is False and told["wrong"][1].endswith("; check its url and its model")
    assert told["quiet"] == (
        None,
        "it takes the client's own credential, and none is in ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN",
    )
    assert "sk-canary" not in result.output
    assert [clew("backends", "test", name).exit_code for name in ("quiet", "refused")] == [0, 4]


@public("cli")
@proves("req:S1-52")
def test_an_unknown_name_says_which_there_are(clew: Clew) -> None:
    """S1-52."""
    for arguments in (["backends", "test", "x"], ["models", "--backend", "x"]):
        result = clew(*arguments)
        assert (result.exit_code, "There is no backend 'x'. There are: claude." in result.stderr) == (2, True)


# ── models


@proves("req:S1-49")
def test_each_name_is_shown_with_the_model_that_answers_to_it(clew: Clew) -> None:
    clew.write(
        '[backends.glm]\npreset = "zai"\nkey = "${NOT_SET}"\nmodels = { haiku = "tiny" }\n'
        '[models.tiny]\ncontext = 12345\nthinking = ["enabled"]\n'
    )
    rows = {row["name"]: row for row in json.loads(clew("models", "--json").stdout)}
    assert (rows["claude-haiku-4-5"]["model"], rows["claude-opus-5-5"]["model"]) == ("tiny", "glm-5.3")
    assert rows["anthropic/glm/tiny"] == {
        "name": "anthropic/glm/tiny",
        "backend": "glm",
        "model": "tiny",
        "thinking": ["enabled"],
        "effort": ["low", "medium", "high", "xhigh", "max"],
        "context": 12345,
        "max_tokens": 0,
        "known": True,
    }
    text = clew("models").stdout.splitlines()
    assert text[0].split() == ["asked", "for", "backend", "answers", "thinking", "effort", "context", "max", "tokens"]
    assert "12,345" in next(line for line in text if "anthropic/glm/tiny" in line)
    assert text[-2].startswith("For a model without a row, the usual values are assumed")
    assert text[-1].startswith("Here, glm is disabled: the variable NOT_SET is not set")


def test_models_are_those_of_the_backend_that_clew_use_chose(clew: Clew) -> None:
    row = 'url = "http://127.0.0.1:1"\nauth = "none"\n'
    clew.write(f'active = "one"\n[backends.one]\n{row}[backends.two]\n{row}model = "second"\n')
    shown = []
    for name in (None, "two", "--reset"):
        assert name is None or clew("use", name).exit_code == 0
        shown.append(json.loads(clew("models", "--json").stdout)[0]["backend"])
    assert shown == ["one", "two", "one"]


def test_retired_models_are_shown_when_asked_for(clew: Clew) -> None:
    names = [[row["name"] for row in json.loads(clew("models", "--json", *more).stdout)] for more in ([], ["--all"])]
    assert set(names[0]) < set(names[1])
    assert all(name.startswith("claude") for name in names[0])
