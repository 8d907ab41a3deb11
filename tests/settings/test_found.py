"""Backends that need no config."""

import pytest

from clew.settings.load import load
from tests.manifest import proves

NOWHERE = {"CLEW_HOME": "/nowhere"}


def found(**environ: str) -> dict[str, tuple[str, str, str, str]]:
    """Name → realm, URL, auth, key."""
    settings = load(None, NOWHERE | environ).settings
    return {
        name: (row.realm, row.url, row.auth, ",".join(key.reveal() for key in row.keys))
        for name, row in settings.backends.items()
    }


CLAUDE = ("anthropic", "https://api.anthropic.com", "passthrough", "")


def test_with_nothing_at_all_there_is_claude_with_the_clients_own_credential() -> None:
    assert found() == {"claude": CLAUDE}
    assert load(None, NOWHERE).settings.active == "claude"


@proves("req:S1-48")
@pytest.mark.parametrize(
    ("variable", "name", "row"),
    [
        ("ANTHROPIC_API_KEY", "claude", ("anthropic", "https://api.anthropic.com", "key", "k")),
        ("ANTHROPIC_AUTH_TOKEN", "claude", ("anthropic", "https://api.anthropic.com", "bearer", "k")),
        ("ZAI_API_KEY", "glm", ("zai", "https://api.z.ai/api/anthropic", "bearer", "k")),
        ("ZHIPU_API_KEY", "zai-cn", ("zai", "https://open.bigmodel.cn/api/anthropic", "bearer", "k")),
        ("MOONSHOT_API_KEY", "kimi", ("kimi", "https://api.moonshot.ai/anthropic", "bearer", "k")),
        ("KIMI_API_KEY", "kimi-coding", ("kimi", "https://api.kimi.com/coding", "bearer", "k")),
        ("DEEPSEEK_API_KEY", "deepseek", ("deepseek", "https://api.deepseek.com/anthropic", "key", "k")),
        ("MINIMAX_API_KEY", "minimax", ("minimax", "https://api.minimax.io/anthropic", "key", "k")),
        ("DASHSCOPE_API_KEY", "qwen", ("qwen", "https://dashscope-intl.aliyuncs.com/apps/anthropic", "key", "k")),
    ],
)
def test_a_vendors_variable_makes_a_backend(variable: str, name: str, row: object) -> None:
    assert found(**{variable: "k"}) == {"claude": CLAUDE} | {name: row}


def test_a_key_outranks_a_token_as_it_does_in_the_clients() -> None:
    assert found(ANTHROPIC_API_KEY="k", ANTHROPIC_AUTH_TOKEN="t")["claude"][2:] == ("key", "k")


def test_an_empty_variable_is_as_unset() -> None:
    assert found(ANTHROPIC_API_KEY=" ", ZAI_API_KEY="") == {"claude": CLAUDE}


def test_another_vendors_key_in_the_anthropic_variables_never_goes_to_anthropic() -> None:
    """Many people point Claude Code at another vendor by these two variables."""
    rows = found(ANTHROPIC_BASE_URL="https://api.z.ai/api/anthropic/", ANTHROPIC_AUTH_TOKEN="sk-zai")
    assert rows == {"claude": CLAUDE, "glm": ("zai", "https://api.z.ai/api/anthropic", "bearer", "sk-zai")}
    rows = found(ANTHROPIC_BASE_URL="https://llm.corp.example", ANTHROPIC_API_KEY="sk-corp")
    assert rows == {"claude": CLAUDE, "default": ("default", "https://llm.corp.example", "key", "sk-corp")}


def test_of_two_keys_for_one_backend_the_one_with_the_url_is_taken() -> None:
    url = "https://api.z.ai/api/anthropic"
    rows = found(ANTHROPIC_BASE_URL=url, ANTHROPIC_AUTH_TOKEN="sk-one", ZAI_API_KEY="sk-two")
    assert rows == {"claude": CLAUDE, "glm": ("zai", url, "bearer", "sk-one")}


def test_anthropics_own_base_url_changes_nothing() -> None:
    assert found(ANTHROPIC_BASE_URL="https://api.anthropic.com", ANTHROPIC_API_KEY="k")["claude"][2:] == ("key", "k")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:2539", "names this machine and may be this gateway: neither it nor the key beside it is used"),
        ("http://localhost:2539", "names this machine"),
        ("http://me:pw@host", "is not used, nor the key beside it: a URL must not contain credentials"),
    ],
)
def test_a_base_url_that_may_be_the_gateway_itself_is_left_alone_with_its_key(url: str, why: str) -> None:
    loaded = load(None, NOWHERE | {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k"})
    assert [row.auth for row in loaded.settings.backends.values()] == ["passthrough"]
    [warning] = loaded.warnings
    assert why in warning and "pw" not in warning


def test_the_origin_of_a_found_backend_is_its_variable() -> None:
    origins = load(None, NOWHERE | {"ZAI_API_KEY": "k"}).origins
    assert (origins["backends.glm"], origins.get("backends.claude")) == ("environment: ZAI_API_KEY", None)
