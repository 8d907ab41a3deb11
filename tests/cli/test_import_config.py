"""`clew import-config`: what other tools have in their settings comes into clew.toml, and the rest is said."""

import json
import sqlite3
import tomllib
from pathlib import Path

import pytest

from tests.cli.invoking import Clew

LITELLM = """
model_list:
  - model_name: claude-opus   # what clients ask for
    litellm_params:
      model: anthropic/claude-opus-5-5
      api_key: os.environ/ANTHROPIC_API_KEY
  - model_name: fast
    litellm_params:
      model: openai/qwen3
      api_base: http://10.0.0.7:8000/v1
      api_key: "sk-secret-of-mine"
      rpm: 100
  - model_name: deep
    litellm_params: {model: deepseek/deepseek-chat, api_key: os.environ/DEEPSEEK_API_KEY}
  - model_name: cloud
    litellm_params:
      model: bedrock/anthropic.claude-v2
litellm_settings:
  drop_params: true
  callbacks: ["langfuse"]
  fallbacks:
    - claude-opus: ["deep", "fast"]
general_settings:
  master_key: sk-1234-secret
"""
ROUTER = """{
  // my providers
  "APIKEY": "secret-of-the-router",
  "Providers": [
    {"name": "openrouter", "api_base_url": "https://openrouter.ai/api/v1/chat/completions", "api_key": "$OPENROUTER_API_KEY",
     "models": ["google/gemini-2.5-pro-preview", "anthropic/claude-sonnet-4"], "transformer": {"use": ["openrouter"]}},
    {"name": "deepseek", "api_base_url": "https://api.deepseek.com/chat/completions", "api_key": "sk-secret",
     "models": ["deepseek-chat"]},
    {"name": "ollama", "api_base_url": "http://localhost:11434/v1/chat/completions", "api_key": "ollama",
     "models": ["qwen2.5-coder:latest"]},
  ],
  "Router": {"default": "openrouter,anthropic/claude-sonnet-4", "background": "ollama,qwen2.5-coder:latest",
    "think": "deepseek,deepseek-chat", "longContextThreshold": 60000}
}"""
CODEX = """
model = "gpt-6.1"
model_provider = "mine"
[model_providers.mine]
name = "Mine"
base_url = "https://llm.example.org/v1"
env_key = "MINE_KEY"
wire_api = "responses"
[model_providers.mine.http_headers]
x = "y"
[model_providers.clew]
name = "clew"
base_url = "http://127.0.0.1:2539/v1"
[profiles.deep]
model_provider = "mine"
model = "o5"
"""
OLD = '# my file\nactive = "claude"  # stays\n\n[backends.claude]\npreset = "anthropic"\nkey = "${ANTHROPIC_API_KEY}"\n'


@pytest.fixture
def clew(tmp_path: Path) -> Clew:
    return Clew(tmp_path / "home")


def source(tmp_path: Path, name: str, text: str) -> Path:
    file = tmp_path / name
    file.write_text(text)
    return file


def imported(clew: Clew, file: Path, *more: str) -> dict:
    result = clew("import-config", str(file), "--write", "--json", *more)
    assert result.exit_code == 0, result.output
    assert "secret" not in result.output
    return json.loads(result.stdout)


def test_litellm_gives_a_backend_for_each_endpoint_and_says_what_it_leaves(clew: Clew, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    clew.write(OLD)
    said = imported(clew, source(tmp_path, "config.yaml", LITELLM))
    text = clew.config.read_text()
    assert tomllib.loads(text) == {
        "active": "claude",
        "failover": ["anthropic", "deepseek", "openai-compatible"],
        "backends": {
            "claude": {"preset": "anthropic", "key": "${ANTHROPIC_API_KEY}"},
            "anthropic": {
                "preset": "anthropic",
                "key": "${ANTHROPIC_API_KEY}",
                "models": {"claude-opus": "claude-opus-5-5"},
            },
            "openai-compatible": {
                "url": "http://10.0.0.7:8000/v1",
                "dialect": "openai-chat",
                "key": "${FAST_API_KEY}",
                "models": {"fast": "qwen3"},
            },
            "deepseek": {"preset": "deepseek", "key": "${DEEPSEEK_API_KEY}", "models": {"deep": "deepseek-chat"}},
        },
    }
    assert text.startswith('# my file\nactive = "claude"  # stays\nfailover = ')
    left = {each["what"]: each["why"] for each in said["left_out"]}
    assert set(left) == {
        *("the key of fast", "rpm of fast", "model cloud", "litellm_settings.drop_params", "litellm_settings.callbacks"),
        *("general_settings.master_key", "the choice by model name"),
    }
    assert left["the key of fast"] == "keys are not copied: put it into the variable FAST_API_KEY"
    assert left["model cloud"] == "clew has no backend for bedrock"


def test_two_keys_of_one_vendor_are_two_backends(clew: Clew, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    clew.write(OLD)
    models = "".join(
        f"  - model_name: m\n    litellm_params: {{model: mistral/m, api_key: os.environ/K{number}}}\n" for number in (1, 2)
    )
    said = imported(clew, source(tmp_path, "c.yml", f"model_list:\n{models}"))
    assert said["added"] == ["mistral", "mistral-2"]
    assert said["left_out"][0] == {
        "what": "a second deployment of m",
        "why": "clew asks one backend at a time; put mistral-2 into `failover`",
    }


def test_claude_code_router_gives_its_providers_and_its_background(clew: Clew, tmp_path: Path) -> None:
    clew.write(OLD)
    said = imported(clew, source(tmp_path, "config.json", ROUTER))
    tables = tomllib.loads(clew.config.read_text())
    assert said["from"] == "claude-code-router"
    assert {name: tables["backends"][name] for name in said["added"]} == {
        "openrouter": {"preset": "openrouter", "key": "${OPENROUTER_API_KEY}", "model": "anthropic/claude-sonnet-4"},
        "deepseek": {
            "preset": "deepseek",
            "dialect": "openai-chat",
            "key": "${DEEPSEEK_API_KEY}",
            "model": "deepseek-chat",
        },
        "ollama": {
            "url": "http://localhost:11434/v1",
            "dialect": "openai-chat",
            "auth": "none",
            "model": "qwen2.5-coder:latest",
        },
    }
    assert tables["rules"] == [{"family": "haiku", "backend": "ollama", "model": "qwen2.5-coder:latest"}]
    assert said["active"] == "openrouter"
    assert {each["what"] for each in said["left_out"]} == {
        *("models google/gemini-2.5-pro-preview of openrouter", "transformer of openrouter", "the key of deepseek"),
        *("Router.think", "Router.longContextThreshold", "APIKEY"),
    }


def test_codex_gives_its_providers_and_says_how_to_do_its_profiles(clew: Clew, tmp_path: Path) -> None:
    clew.write(OLD)
    said = imported(clew, source(tmp_path, "config.toml", CODEX))
    assert tomllib.loads(clew.config.read_text())["backends"]["mine"] == {
        "url": "https://llm.example.org/v1",
        "dialect": "openai-responses",
        "key": "${MINE_KEY}",
    }
    assert {each["what"]: each["why"] for each in said["left_out"]} == {
        "http_headers of provider mine": "there is nothing like it in clew",
        "provider clew": "it is clew itself",
        "profile deep": "`clew run --backend mine --model o5 -- codex` is the same",
    }


SWITCH = [
    ("claude", "Claude Official", {"env": {}}, 0, 0),
    (
        "claude",
        "Zhipu GLM",
        {
            "env": {
                "ANTHROPIC_BASE_URL": "https://open.bigmodel.cn/api/anthropic",
                "ANTHROPIC_AUTH_TOKEN": "secret-of-glm",
                "ANTHROPIC_DEFAULT_HAIKU_MODEL": "glm-4.5-air",
                "API_TIMEOUT_MS": "3000000",
            }
        },
        1,
        1,
    ),
    ("claude", "My Relay", {"env": {"ANTHROPIC_BASE_URL": "https://relay.example", "ANTHROPIC_API_KEY": "secret"}}, 0, 1),
    ("codex", "Mine", {"auth": {"OPENAI_API_KEY": "secret"}, "config": CODEX.replace('env_key = "MINE_KEY"\n', "")}, 0, 0),
    ("gemini", "Google", {"env": {}}, 0, 0),
]
FROM_SWITCH = {
    "claude-official": {"preset": "anthropic", "auth": "passthrough"},
    "zhipu-glm": {"preset": "zai-cn", "key": "${ZHIPU_API_KEY}", "models": {"haiku": "glm-4.5-air"}},
    "my-relay": {"url": "https://relay.example", "dialect": "anthropic", "auth": "key", "key": "${MY_RELAY_API_KEY}"},
    "mine": {"url": "https://llm.example.org/v1", "dialect": "openai-responses", "key": "${MINE_API_KEY}"},
}


def test_cc_switch_gives_the_providers_of_its_database(clew: Clew, tmp_path: Path) -> None:
    file = tmp_path / "cc-switch.db"
    with sqlite3.connect(file) as database:
        database.execute(
            "CREATE TABLE providers (id TEXT, app_type TEXT, name TEXT, settings_config TEXT, sort_index INTEGER, "
            "is_current BOOLEAN, in_failover_queue BOOLEAN)"
        )
        for place, (app, name, settings, current, queue) in enumerate(SWITCH):
            row = (str(place), app, name, json.dumps(settings), place, current, queue)
            database.execute("INSERT INTO providers VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    database.close()
    clew.write(OLD)
    said = imported(clew, file)
    tables = tomllib.loads(clew.config.read_text())
    assert {name: tables["backends"][name] for name in said["added"]} == FROM_SWITCH
    assert (tables["failover"], said["active"]) == (["zhipu-glm", "my-relay"], "zhipu-glm")
    assert "Google of gemini" in {each["what"] for each in said["left_out"]}


def test_cc_switch_gives_the_providers_of_its_older_file(clew: Clew, tmp_path: Path) -> None:
    providers = {name: {"name": name, "settingsConfig": settings} for app, name, settings, _, _ in SWITCH if app == "claude"}
    clew.write(OLD)
    old = {"version": 2, "claude": {"providers": providers, "current": "My Relay"}}
    said = imported(clew, source(tmp_path, "config.json", json.dumps(old)))
    assert (said["from"], said["active"]) == ("cc-switch", "my-relay")
    tables = tomllib.loads(clew.config.read_text())["backends"]
    assert {name: tables[name] for name in said["added"]} == {
        name: table for name, table in FROM_SWITCH.items() if name != "mine"
    }


def test_a_backend_that_cannot_be_used_is_left_out_with_the_reason(clew: Clew, tmp_path: Path) -> None:
    clew.write(OLD)
    said = imported(clew, source(tmp_path, "config.json", ROUTER.replace("https://api.deepseek.com", "ftp://files.example")))
    assert said["added"] == ["openrouter", "ollama"]
    left = {each["what"]: each["why"] for each in said["left_out"]}
    assert left["backend deepseek"].startswith("backends.deepseek.url: it must begin with http:// or https://")


# What a person sees


def test_nothing_is_written_unless_it_is_said(clew: Clew, tmp_path: Path) -> None:
    clew.write(OLD)
    file = source(tmp_path, "config.json", ROUTER)
    result = clew("import-config", str(file))
    assert (result.exit_code, clew.config.read_text()) == (0, OLD)
    lines = result.stdout.splitlines()
    assert '+key = "${OPENROUTER_API_KEY}"' in lines
    assert "claude-code-router uses openrouter now; `clew use openrouter` makes it active here." in lines
    assert "  the key of deepseek: keys are not copied: put it into the variable DEEPSEEK_API_KEY" in lines
    assert lines[-1] == "Nothing was written. Use --write to write it."
    assert "secret" not in result.output


def test_importing_again_changes_nothing(clew: Clew, tmp_path: Path) -> None:
    clew.write(OLD)
    file = source(tmp_path, "config.json", ROUTER)
    imported(clew, file)
    once = clew.config.read_text()
    assert imported(clew, file)["known"] == ["openrouter", "deepseek", "ollama"]
    assert clew.config.read_text() == once
    result = clew("import-config", str(file))
    assert result.stdout.splitlines()[-1] == f"{clew.config} already has all of it."


def test_without_a_file_the_first_one_is_written_with_the_rest(clew: Clew, tmp_path: Path) -> None:
    imported(clew, source(tmp_path, "config.json", ROUTER))
    assert list(tomllib.loads(clew.config.read_text())["backends"]) == ["claude", "openrouter", "deepseek", "ollama"]
    assert clew("config", "check").exit_code == 0


def test_a_name_that_is_taken_gets_another_one(clew: Clew, tmp_path: Path) -> None:
    clew.write(OLD + '\n[backends.deepseek]\npreset = "deepseek"\nkey = "${MINE}"\n')
    said = imported(clew, source(tmp_path, "config.json", ROUTER))
    assert said["added"] == ["openrouter", "deepseek-2", "ollama"]


def test_the_usual_place_is_looked_at(clew: Clew, tmp_path: Path) -> None:
    clew.write(OLD)
    clew.environ = {"HOME": str(tmp_path)}
    assert "There is no settings file at" in clew("import-config").stderr
    (tmp_path / ".claude-code-router").mkdir()
    source(tmp_path / ".claude-code-router", "config.json", ROUTER)
    assert clew("import-config").stdout.startswith("claude-code-router, ")
    (tmp_path / ".codex").mkdir()
    source(tmp_path / ".codex", "config.toml", CODEX)
    result = clew("import-config")
    assert (result.exit_code, "choose one with --from" in result.stderr) == (2, True)
    assert clew("import-config", "--from", "codex").stdout.startswith("Codex, ")


@pytest.mark.parametrize(
    ("name", "text", "code", "says"),
    [
        ("config.json", "{", 5, "is not JSON"),
        ("config.json", "[1]", 5, "no tool is known that writes such a file; name it with --from"),
        ("config.toml", "a = ", 5, "is not TOML"),
        ("x.db", "SQLite format 3\0 and more", 5, "is not a database of cc-switch"),
        ("config.json", '{"Providers": [{"name": "x"}, 5], "Router": 7}', 1, "can be carried over"),
        ("config.json", '{"Providers": {"a": 1}}', 1, "can be carried over"),
        ("config.json", "[" * 100_000, 5, "is not JSON"),
        ("config.json", '{"claude": {"providers": {"a": {"settingsConfig": []}}}}', 0, ""),
    ],
)
def test_a_file_that_is_not_as_it_should_be_is_refused_in_words(
    clew: Clew, tmp_path: Path, name: str, text: str, code: int, says: str
) -> None:
    clew.write(OLD)
    result = clew("import-config", str(source(tmp_path, name, text)))
    assert (result.exit_code, says in result.stderr) == (code, True), result.output
    assert clew.config.read_text() == OLD


@pytest.mark.parametrize("text", ["a: [", "- 1", "model_list: 5", "model_list: [1, {litellm_params: 2}]", "? {a: 1}\n: 2"])
def test_yaml_that_is_not_litellms_is_refused_in_words(clew: Clew, tmp_path: Path, text: str) -> None:
    pytest.importorskip("yaml")
    clew.write(OLD)
    result = clew("import-config", str(source(tmp_path, "c.yaml", text)))
    assert result.exit_code in (1, 5)
    assert result.stderr.startswith("Error: ")


def test_without_the_package_for_yaml_it_says_how_to_get_it(
    clew: Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    result = clew("import-config", str(source(tmp_path, "c.yaml", LITELLM)))
    assert (result.exit_code, "a YAML file needs the package PyYAML, which is not installed" in result.stderr) == (5, True)


def test_a_settings_file_that_cannot_be_used_stays_as_it_is(clew: Clew, tmp_path: Path) -> None:
    clew.write("this is not toml")
    result = clew("import-config", str(source(tmp_path, "config.json", ROUTER)), "--write")
    assert (result.exit_code, clew.config.read_text()) == (5, "this is not toml")
