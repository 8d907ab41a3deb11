"""The table of presets: complete rows, two dialects of one vendor, what a new row costs."""

from collections.abc import Iterator

import pytest

from clew.backends.address import is_local
from clew.backends.presets import Preset, preset_of_host, presets, read_presets
from clew.backends.row import Manner, Quirks
from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatRequestOptions
from clew.errors import SettingsInvalid
from clew.model.facts.chat_backends import knobs, validators
from clew.simulator.server import kinds, speaks_chat, speaks_responses
from tests.manifest import proves

NAMES = (
    *("anthropic", "zai", "kimi", "deepseek", "deepseek-r1", "minimax", "qwen", "openrouter", "litellm", "openai", "azure"),
    *("xai", "gemini", "mistral", "groq", "cerebras", "together", "fireworks", "vllm", "sglang", "llamacpp", "ollama"),
    "lmstudio",
)


ENDPOINTS = [endpoint for row in presets().values() for endpoint in (row, *row.others.values())]
each_endpoint = pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: f"{row.name}-{row.dialect}")


def manners(row: Preset) -> Iterator[Manner]:
    yield Manner(quirks=row.quirks, wire=row.wire, speech=row.speech)
    yield from row.by_model.values()


def test_every_vendor_has_a_row_under_its_plain_name() -> None:
    assert [name for name in NAMES if name not in presets()] == []


@each_endpoint
def test_every_row_is_complete(row: Preset) -> None:
    """Documented, dated, with a realm, and an address that is the vendor's, a port of this machine, or each customer's own."""
    assert row.source and row.date in ("2026-11-15", "2026-11-17") and row.realm and row.title
    assert row.simulator in kinds() and speaks_chat(row.simulator) is (row.dialect == "openai-chat")
    assert speaks_responses(row.simulator) is (row.dialect == "openai-responses")
    assert row.keyless is is_local(row.url)
    assert row.keyless or row.url.startswith("https://") or row.name == "azure"
    assert not row.port or row.url == f"http://127.0.0.1:{row.port}/v1"
    assert row.quirks.unique_tool_ids is (row.realm == "anthropic")


@proves("req:S3-42")
@each_endpoint
def test_every_rule_of_a_row_asks_by_a_knob_that_there_is(row: Preset) -> None:
    for manner in manners(row):
        assert manner.wire.knob in ("", *knobs()) and manner.wire.validator in ("", *validators())
        assert manner.responses.knob in ("", *knobs()) and manner.responses.validator in ("", *validators())
        assert manner.wire.missing == manner.responses.missing == "nothing", "said by the quirk alone"
        assert row.vision != "no" or manner.wire.images != "take"


@each_endpoint
def test_a_projection_for_another_dialect_leaves_asking_to_its_wire(row: Preset) -> None:
    """Thinking and effort are turned into a backend's words once, by its knob."""
    if row.dialect != "anthropic":
        for manner in manners(row):
            own = manner.quirks
            assert own == Quirks(missing=own.missing, realm_per_account=own.realm_per_account)
    else:
        assert (row.wire, row.speech, row.by_model, row.path) == (ChatRequestOptions(), ChatAnswerOptions(), {}, "")


@each_endpoint
def test_patterns_of_models_are_in_small_letters(row: Preset) -> None:
    """Hosts differ in capitals, so names are compared without."""
    assert [pattern for pattern in row.by_model if pattern != pattern.lower()] == []


def test_no_two_presets_share_a_host_or_a_variable() -> None:
    rows = presets().values()
    for shared in ([host for row in rows for host in row.hosts], [each.name for row in rows for each in row.variables]):
        assert len(shared) == len(set(shared))


def test_a_row_that_is_as_another_shares_its_realm_and_models() -> None:
    cn, world = presets()["zai-cn"], presets()["zai"]
    assert (cn.realm, cn.models, cn.quirks, cn.auth) == (world.realm, world.models, world.quirks, world.auth)
    assert (cn.backend, cn.url != world.url) == ("zai-cn", True)


# ── two dialects of one vendor


@pytest.mark.parametrize("name", ["zai", "kimi", "deepseek", "minimax", "qwen"])
def test_a_vendor_with_two_dialects_speaks_anthropic_by_default_and_is_one_realm(name: str) -> None:
    row = presets()[name]
    other = row.speaking("openai-chat")
    assert other is not None and row.dialect == "anthropic" and row.speaking("") is row.speaking("anthropic") is row
    assert (other.name, other.realm, other.models, other.variables) == (name, row.realm, row.models, row.variables)
    assert other.url != row.url and other.dialect == "openai-chat"


HOSTS = ("openrouter", "litellm", "fireworks", "vllm", "sglang", "llamacpp", "ollama", "lmstudio")


@pytest.mark.parametrize("name", HOSTS)
def test_hosts_aggregators_and_local_servers_speak_openai_chat_by_default(name: str) -> None:
    row, other = presets()[name], presets()[name].speaking("anthropic")
    assert other is not None and row.dialect == "openai-chat" and row.keyless is other.keyless
    assert row.url.startswith(other.url), "Anthropic's base has no version in it"


def test_who_has_one_dialect_has_one() -> None:
    single = {name: row.dialect for name, row in presets().items() if not row.others}
    assert single.pop("anthropic") == "anthropic" and set(single.values()) == {"openai-chat"}


def test_another_regions_row_has_the_other_dialect_only_where_it_gives_its_address() -> None:
    text = """
    [a]
    title = "A"
    url = "https://a.example"
    auth = "key"
    realm = "a"
    simulator = "compat"
    source = "s"
    date = "d"
    [a.openai-chat]
    url = "https://a.example/v1"
    simulator = "openai-chat"
    wire = { knob = "glm" }
    source = "s"
    date = "d"
    [b]
    as = "a"
    title = "B"
    url = "https://b.example"
    source = "s"
    date = "d"
    [c]
    as = "a"
    title = "C"
    url = "https://c.example"
    source = "s"
    date = "d"
    [c.openai-chat]
    url = "https://c.example/v1"
    """
    rows = read_presets(text)
    assert rows["b"].others == {}
    [other] = rows["c"].others.values()
    assert (other.url, other.wire, other.title, other.realm) == (
        "https://c.example/v1",
        ChatRequestOptions(knob="glm"),
        "C",
        "a",
    )


def test_a_known_host_is_its_vendor_however_the_config_is_written() -> None:
    found = {url: preset_of_host(url) for url in ("https://openrouter.ai/api", "https://me.openai.azure.com/openai/v1")}
    assert [row.name if row else "" for row in found.values()] == ["openrouter", "azure"]
    assert preset_of_host("https://unknown.example") is None


# ── what a row costs


ROW = """
[newhost]
title = "New Host"
dialect = "openai-chat"
url = "https://api.newhost.example/v1"
auth = "bearer"
realm = "newhost"
simulator = "openai-chat"
source = "its documentation"
date = "2026-11-15"
wire = { reasoning = "reasoning", knob = "reasoning_effort" }
by_model."*/big-*" = { quirks = { missing = "space" }, wire = { knob = "gpt_oss" } }
"""


def test_an_openai_style_backend_costs_one_row() -> None:
    """A rule for some models is complete: what it leaves out is as in the row."""
    [row] = read_presets(ROW).values()
    assert (row.wire, row.speech) == (
        ChatRequestOptions(reasoning="reasoning", knob="reasoning_effort"),
        ChatAnswerOptions(),
    )
    assert row.by_model == {
        "*/big-*": Manner(
            quirks=Quirks(missing="space"),
            wire=ChatRequestOptions(reasoning="reasoning", knob="gpt_oss"),
            speech=ChatAnswerOptions(),
        )
    }


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ('wire = { raisoning = "x" }', "newhost.wire.raisoning"),
        ("speech = { tags = true }", "newhost.speech.tags"),
        ('by_model."*" = { wired = {} }', "newhost.by_model"),
        ('dialect = "openai"', "newhost.dialect"),
    ],
)
def test_a_misspelt_fact_names_its_key(wrong: str, key: str) -> None:
    """A fact that is silently ignored is worse than none."""
    left = [line for line in ROW.splitlines() if not line.startswith((wrong.split(" ")[0], "by_model"))]
    with pytest.raises(SettingsInvalid) as caught:
        read_presets("\n".join([*left, wrong]))
    assert caught.value.key.startswith(key)
