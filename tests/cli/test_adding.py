"""`clew backends add`: one line puts a backend into the settings file, or leaves the file alone."""

import stat
import tomllib
from pathlib import Path

import pytest

from tests.cli.invoking import Clew


@pytest.fixture
def clew(tmp_path: Path) -> Clew:
    return Clew(tmp_path / "home")


def test_a_known_backend_takes_its_name_and_where_its_vendor_keeps_the_key(clew: Clew) -> None:
    before = '# mine\nactive = "claude"\n[backends.claude]\npreset = "anthropic"\n'
    clew.write(before)
    clew.environ = {"DEEPSEEK_API_KEY": "sk-x"}
    result = clew("backends", "add", "deepseek", "--dialect", "openai-chat")
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            f"added to {clew.config}: deepseek",
            "`clew backends test deepseek` tries it.",
            "No gateway is running. The next one starts with this choice: `clew serve`, or `clew run -- claude`.",
        ],
    )
    text = clew.config.read_text()
    assert text == before + (
        '\n[backends.deepseek]\npreset = "deepseek"\ndialect = "openai-chat"\nkey = "${DEEPSEEK_API_KEY}"\n'
    )
    assert stat.S_IMODE(clew.config.stat().st_mode) == 0o600


def test_a_backend_without_its_key_is_added_and_what_it_lacks_is_said(clew: Clew) -> None:
    """The rest of the file goes on working, so there is no harm in it; but nobody should take it for done."""
    clew.write('[backends.claude]\npreset = "anthropic"\n')
    result = clew("backends", "add", "kimi")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (1, f"added to {clew.config}: kimi")
    assert result.stderr == (
        f"Error: kimi is disabled: the variable MOONSHOT_API_KEY is not set (backends.kimi.key, {clew.config}:6). Set it "
        "where the gateway is started, and restart the gateway; or name a file or a keyring in that line: "
        'key = "file:/path". Until then, requests for kimi get a 503; the other backends work.\n'
    )
    assert clew("config", "check").exit_code == 0


def test_a_backend_with_its_key_is_added_and_nothing_more_is_said(clew: Clew) -> None:
    clew.write('[backends.claude]\npreset = "anthropic"\n')
    clew.environ = {"MOONSHOT_API_KEY": "sk-x"}
    result = clew("backends", "add", "kimi")
    assert (result.exit_code, result.stderr) == (0, "")


def test_an_empty_file_is_filled_as_if_it_were_not_there(clew: Clew) -> None:
    clew.write("\n")
    assert clew("backends", "add", "ollama", "--model", "qwen3:32b").exit_code == 0
    assert list(tomllib.loads(clew.config.read_text())["backends"]) == ["claude", "ollama"]


def test_a_local_server_needs_no_key(clew: Clew) -> None:
    clew.write('[backends.claude]\npreset = "anthropic"\n')
    assert clew("backends", "add", "ollama", "--model", "qwen3:32b").exit_code == 0
    assert tomllib.loads(clew.config.read_text())["backends"]["ollama"] == {"preset": "ollama", "model": "qwen3:32b"}
    assert clew("config", "check").exit_code == 0


def test_without_a_file_what_was_found_stays(clew: Clew) -> None:
    """A file is the whole list: those that the environment gave must be in it."""
    clew.environ = {"ZAI_API_KEY": "sk-x", "MINE": "x"}
    arguments = ("--name", "mine", "--url", "http://10.0.0.7:8000/v1", "--dialect", "openai-chat", "--key", "${MINE}")
    assert clew("backends", "add", *arguments).exit_code == 0
    assert list(tomllib.loads(clew.config.read_text())["backends"]) == ["claude", "glm", "mine"]


def test_what_was_found_without_a_file_is_not_said_to_stand_in_one(clew: Clew) -> None:
    result = clew("backends", "add", "--name", "claude", "--url", "http://10.0.0.7:8000")
    assert (result.exit_code, clew.config.exists()) == (1, False)
    assert "there is a backend 'claude' already, without a file" in result.stderr
    assert "`clew config init`" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "It needs a PRESET, or a --name and a --url."),
        (("anthropic",), 1, "has a backend 'claude' already: give another --name, or edit the file."),
        (("olama",), 5, "backends.olama.preset: there is no such preset; did you mean 'ollama'?"),
        (("azure",), 5, "backends.azure: it needs a url: that of Azure OpenAI is another for each customer"),
        (("xai", "--dialect", "anthropic"), 5, "backends.xai.dialect: nothing is known of such an endpoint of xAI (Grok)"),
        (("--name", "x", "--url", "ftp://x"), 5, "backends.x.url: it must begin with http:// or https://"),
    ],
)
def test_what_cannot_be_used_leaves_the_file_as_it_was(clew: Clew, arguments: tuple[str, ...], code: int, says: str) -> None:
    before = '[backends.claude]\npreset = "anthropic"\n'
    clew.write(before)
    result = clew("backends", "add", *arguments)
    assert (result.exit_code, says in result.stderr, clew.config.read_text()) == (code, True, before), result.stderr


def test_a_file_that_cannot_be_read_is_left_alone(clew: Clew) -> None:
    clew.write("this is not toml")
    result = clew("backends", "add", "ollama")
    assert (result.exit_code, clew.config.read_text()) == (5, "this is not toml")
    assert "`clew config check` says more." in result.stderr


@pytest.mark.parametrize("before", ['backends = { claude = { preset = "anthropic" } }\n', "backends = 5\n"])
def test_backends_on_one_line_are_left_as_they_are(clew: Clew, before: str) -> None:
    clew.write(before)
    result = clew("backends", "add", "ollama")
    assert (result.exit_code, result.stderr) == (
        5,
        f"Error: {clew.config} stays as it was: its `backends` are on one line, so no table can be added: "
        "write them as [backends.NAME]\n",
    )
    assert clew.config.read_text() == before
