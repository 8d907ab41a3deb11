"""Backends in another dialect: what a file may say of them, what their vendor's row says, and which of the two counts."""

from pathlib import Path
from typing import Any

import pytest

from clew.backends.presets import presets
from clew.backends.row import Backend, Manner, Quirks, chat_options_of, manner_of, model_for
from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatRequestOptions
from clew.exchange.backend_dialect import backend_dialect
from clew.settings.load import faults_of, load
from clew.settings.values import ThinkingSettings
from tests.manifest import proves


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "clew.toml"


def made(file: Path, text: str) -> Backend:
    file.write_text(f"[backends.x]\n{text}\n")
    return load(file, {"K": "sk-x"}).settings.backends["x"]


KEY = 'key = "${K}"\n'
CHAT = 'dialect = "openai-chat"\n'
RESPONSES = 'dialect = "openai-responses"\n'


# ── which endpoint


@pytest.mark.parametrize(
    ("text", "dialect", "url", "auth", "realm"),
    [
        ('preset = "zai"\n', "anthropic", "https://api.z.ai/api/anthropic", "bearer", "zai"),
        (f'preset = "zai"\n{CHAT}', "openai-chat", "https://api.z.ai/api/paas/v4", "bearer", "zai"),
        (f'preset = "deepseek"\n{CHAT}', "openai-chat", "https://api.deepseek.com", "bearer", "deepseek"),
        ('preset = "groq"\n', "openai-chat", "https://api.groq.com/openai/v1", "bearer", "groq"),
        ('preset = "azure"\nurl = "https://me.openai.azure.com/openai/v1"\n', "openai-responses", "", "api-key", "azure"),
        ('preset = "openai"\n', "openai-responses", "https://api.openai.com/v1", "bearer", "openai"),
        (f'preset = "openai"\n{CHAT}', "openai-chat", "https://api.openai.com/v1", "bearer", "openai"),
        (f'preset = "vllm"\n{RESPONSES}', "openai-responses", "http://127.0.0.1:8000/v1", "bearer", "vllm"),
        (f'url = "https://openrouter.ai/api/v1"\n{CHAT}', "openai-chat", "", "bearer", "openrouter"),
        (f'url = "https://own.example/v1"\n{CHAT}', "openai-chat", "", "bearer", "x"),
        ('url = "https://own.example"\n', "anthropic", "", "key", "x"),
    ],
)
def test_the_dialect_picks_the_vendors_endpoint_and_how_a_key_is_shown(
    file: Path, text: str, dialect: str, url: str, auth: str, realm: str
) -> None:
    """The realm stays the vendor's: its models are the same ones."""
    row = made(file, text + KEY)
    assert (row.dialect, row.auth, row.realm) == (dialect, auth, realm)
    assert not url or row.url == url


def test_a_server_on_this_machine_needs_no_key_and_may_have_one(file: Path) -> None:
    bare, keyed = made(file, 'preset = "ollama"\n'), made(file, f'preset = "ollama"\n{KEY}')
    assert (bare.auth, bare.keys, keyed.auth, len(keyed.keys)) == ("none", (), "bearer", 1)


def test_a_path_of_ones_own_may_have_a_query(file: Path) -> None:
    text = 'preset = "azure"\nurl = "https://me.openai.azure.com/openai/deployments/d"\n'
    row = made(file, f'{text}path = "/chat/completions?api-version=2025-01-01"\n{KEY}')
    assert backend_dialect(row, "m").own_path == "/chat/completions?api-version=2025-01-01"


# ── whose word counts


def test_a_backend_that_nobody_knows_has_the_usual_manner(file: Path) -> None:
    row = made(file, f'url = "https://own.example/v1"\n{CHAT}{KEY}')
    assert (row.quirks, row.wire, row.speech, row.by_model) == (Quirks(), ChatRequestOptions(), ChatAnswerOptions(), {})


def test_a_known_host_brings_its_manner_without_a_preset(file: Path) -> None:
    row, preset = made(file, f'url = "https://openrouter.ai/api/v1"\n{CHAT}{KEY}'), presets()["openrouter"]
    assert (row.wire, row.speech, row.by_model) == (preset.wire, preset.speech, preset.by_model)
    assert (
        made(file, f'url = "https://openrouter.ai/api"\n{KEY}').wire == ChatRequestOptions()
    )  # the same host's other dialect


def test_what_the_file_names_outranks_the_row_also_by_model_and_the_rest_stays(file: Path) -> None:
    """A default that nobody wrote must not undo a row."""
    row = made(file, f'preset = "openrouter"\n{KEY}wire = {{ user = "", stops = 2 }}\nspeech = {{ tags = "never" }}\n')
    for model in ("any", "deepseek/deepseek-v4"):
        assert (
            chat_options_of(row, model).request.user,
            chat_options_of(row, model).request.stops,
            chat_options_of(row, model).answer.tags,
        ) == ("", 2, "never")
    deepseek = manner_of(row, "deepseek/deepseek-v4")
    assert (deepseek.quirks.missing, deepseek.wire.empty, deepseek.speech.empty_counts) == (
        "empty",
        {"reasoning_details": []},
        True,
    )


def test_rules_of_the_file_for_some_models_come_before_the_rows(file: Path) -> None:
    """On top of the row's rule of the same pattern, else of the backend as a whole; capitals do not matter."""
    rules = (
        '[backends.x.by_model."DeepSeek/*"]\nwire = { stops = 3 }\n'
        '[backends.x.by_model."new/*"]\nquirks = { missing = "space" }\n'
    )
    row = made(file, f'preset = "openrouter"\n{KEY}wire = {{ user = "" }}\n{rules}')
    assert list(row.by_model)[:2] == ["deepseek/*", "new/*"]
    deepseek, new = (manner_of(row, model) for model in ("deepseek/deepseek-r1", "new/model"))
    assert (deepseek.wire.stops, deepseek.wire.user, deepseek.quirks.missing) == (3, "", "empty")
    assert new == Manner(quirks=Quirks(missing="space"), wire=row.wire, speech=row.speech)


# ── mistakes


FAULTS: list[tuple[str, tuple[int, str], str]] = [
    (f'url = "https://h.example"\n{KEY}wire = {{ stops = 1 }}', (4, "backends.x.wire"), "it is of dialect openai-chat"),
    (f'url = "https://h.example"\n{KEY}path = "/x"', (4, "backends.x.path"), "it is of dialect openai-chat, and this"),
    (f'preset = "groq"\n{KEY}path = "x"', (4, "backends.x.path"), "it begins with /"),
    (f'preset = "groq"\n{KEY}wire = {{ stop = 1 }}', (4, "backends.x.wire.stop"), "there is no such key; did you mean"),
    (f'preset = "groq"\n{KEY}wire = {{ knob = "gpt-oss" }}', (4, "backends.x.wire.knob"), "there is no such knob; did you"),
    (
        f'preset = "groq"\n{KEY}speech = {{ text_calls = "gwen" }}',
        (4, "backends.x.speech.text_calls"),
        "there is no such text_calls; did you mean 'qwen'? (known: by model, never, grok, ",
    ),
    (
        f'preset = "groq"\n{KEY}wire = {{ validator = "gemni" }}',
        (4, "backends.x.wire.validator"),
        "there is no such validator; did you",
    ),
    (
        f'preset = "groq"\n{KEY}wire = {{ between = ["<think>"] }}',
        (4, "backends.x.wire.between"),
        "expected two tags, got 1",
    ),
    (f'preset = "groq"\n{KEY}wire = {{ stops = -1 }}', (4, "backends.x.wire.stops"), "expected 0 or more, got -1"),
    (
        f'url = "https://h.example/v1/chat/completions"\n{KEY}dialect = "openai-chat"',
        (2, "backends.x.url"),
        "it is the base, to which /chat/completions is appended: leave that off",
    ),
    (f'url = "https://h.example/v1/messages/"\n{KEY}', (2, "backends.x.url"), "it is the base, to which /v1/messages is"),
    (f'preset = "groq"\n{KEY}wire = {{ missing = "off" }}', (4, "backends.x.wire.missing"), "say it as quirks.missing"),
    (f'preset = "groq"\n{KEY}speech = {{ tags = "some" }}', (4, "backends.x.speech.tags"), "expected one of leading,"),
    (
        f'preset = "groq"\n{KEY}[backends.x.by_model."q*"]\nwire = {{ knob = "q" }}',
        (5, 'backends.x.by_model."q*".wire.knob'),
        "there is no such knob",
    ),
    (
        f'preset = "groq"\n{KEY}[backends.x.by_model."q*"]\nwired = 1',
        (5, 'backends.x.by_model."q*".wired'),
        "there is no such key; did you mean 'wire'?",
    ),
    ('preset = "groq"\ndialect = "anthropic"', (3, "backends.x.dialect"), "nothing is known of such an endpoint of Groq"),
    (
        f'preset = "openai"\n{KEY}wire = {{ knob = "" }}',
        (4, "backends.x.wire"),
        'it is of dialect openai-chat, and this backend speaks openai-responses: say dialect = "openai-chat" to keep it',
    ),
    (
        f'preset = "groq"\n{KEY}responses = {{ summary = "auto" }}',
        (4, "backends.x.responses"),
        "it is of dialect openai-responses, and this backend speaks openai-chat",
    ),
    ('preset = "azure"\nkey = "k"', (1, "backends.x"), "it needs a url: that of Azure OpenAI is another for each"),
    ('preset = "groq"', (1, "backends.x"), "it needs a key"),
]


@proves("req:S1-52")
@pytest.mark.parametrize(("text", "where", "says"), FAULTS)
def test_a_mistake_names_its_line_and_key(file: Path, text: str, where: tuple[int, str], says: str) -> None:
    """S1-52."""
    file.write_text(f"[backends.x]\n{text}\n")
    [fault] = faults_of(file, {"K": "sk-x"})
    assert ((fault.line, fault.key), fault.says[: len(says)]) == (where, says)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (
            'preset = "openai"',
            {"gpt-5.5": "gpt-5.5", "o3": "o3", "claude-opus-5-5": "gpt-5.6", "claude-haiku-4-5": "gpt-5.4-mini"},
        ),
        ('preset = "openai"\nmodel = "gpt-5.4"', {"gpt-5.5": "gpt-5.4", "claude-haiku-4-5": "gpt-5.4"}),
        ('preset = "openai"\nmodels = { "gpt-5.5" = "gpt-5.4" }', {"gpt-5.5": "gpt-5.4", "gpt-5.3": "gpt-5.3"}),
        ('preset = "xai"', {"grok-4": "grok-4", "gpt-5.5": "grok-4.3"}),
    ],
)
def test_a_vendor_is_asked_for_its_own_models_by_name_unless_the_file_says_otherwise(
    file: Path, text: str, asked: dict[str, str]
) -> None:
    file.write_text(f"[backends.x]\n{text}\n{KEY}")
    row = load(file, {"K": "sk-x"}).settings.backends["x"]
    assert {name: model_for(row, name) for name in asked} == asked


# ── settings of translated answers


@pytest.mark.parametrize(
    ("said", "field", "value"),
    [
        ('stream_start = "eager"', "stream_start", "eager"),
        ('signature = "empty"', "signature", "empty"),
        ('foreign = "native"', "foreign", "native"),
    ],
)
def test_what_becomes_of_reasoning_in_another_dialect_is_a_choice(file: Path, said: str, field: str, value: Any) -> None:
    file.write_text(f"[thinking]\n{said}\n")
    assert load(file, {}).settings.thinking == ThinkingSettings(**{field: value})
    assert (ThinkingSettings().stream_start, ThinkingSettings().signature) == ("lazy", "seal")


# ── found without a file


def test_vendors_variables_make_backends_and_one_that_lacks_an_address_makes_none(tmp_path: Path) -> None:
    keys = dict.fromkeys(("OPENROUTER_API_KEY", "GOOGLE_API_KEY", "AZURE_OPENAI_API_KEY", "ZAI_API_KEY"), "sk-x")
    found = load(None, {"CLEW_HOME": str(tmp_path), **keys})
    rows = {name: row.dialect for name, row in found.settings.backends.items()}
    assert rows == {"claude": "anthropic", "glm": "anthropic", "openrouter": "openai-chat", "gemini": "openai-chat"}
