"""Reading clew.toml: all of its mistakes, and what comes of a file that has none."""

import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from clew.backends.credential import Secret
from clew.backends.presets import presets
from clew.backends.row import Backend, BackendTimeouts, Quirks
from clew.errors import SettingsInvalid
from clew.model.http import Timeouts
from clew.pipeline.step import CacheRules, Options
from clew.settings import key_sources
from clew.settings.load import Loaded, SettingsFault, config_file, faults_of, load
from clew.settings.values import (
    GatewaySettings,
    Retry,
    RoutingRule,
    StoreSettings,
    ThinkingSettings,
    options_of,
    timeouts_for,
    whole_timeouts_for,
)
from clew.store.kinds import URLS
from clew.thinking.budgets import BudgetRules
from tests.manifest import proves


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "clew.toml"


def read(file: Path, text: str, **environ: str) -> Loaded:
    file.write_text(text)
    file.chmod(0o600)
    return load(file, environ)


def faults(file: Path, text: str, **environ: str) -> list[tuple[int, str, str]]:
    file.write_text(text)
    return [(fault.line, fault.key, fault.says) for fault in faults_of(file, environ)]


LOCAL = '[backends.here]\nurl = "http://127.0.0.1:1"\nauth = "none"\n'


# ── a file without mistakes


def test_a_file_becomes_one_value(file: Path) -> None:
    """Every table of the design's example, and what each key becomes."""
    loaded = read(
        file,
        """
active = "glm"
failover = ["claude"]
first_content_seconds = 60
proxy = true

[backends.claude]
url = "https://api.anthropic.com/"

[backends.glm]
preset = "zai"
key = "${ZAI_API_KEY}"
timeouts = { first_byte = 300 }

[[rules]]
family = "haiku"
backend = "claude"
model = "claude-haiku-4-5"

[[rules]]
agent = "*"
backend = "glm"

[thinking]
foreign = "text"

[store]
bodies = "off"
days = 7

[gateway]
port = 0
hosts = ["box:2539"]

[retry]
retries = 5

[timeouts]
gap = 20

[build]
preserve_thinking = true
cache = { ttl = "1h" }
budget = { default = 4000 }

[models."glm-5.3"]
context = 200000
""",
        ZAI_API_KEY="sk-zai",
    )
    settings = loaded.settings
    assert settings.backends == {
        "claude": Backend(
            name="claude",
            url="https://api.anthropic.com",
            realm="anthropic",
            quirks=Quirks(unique_tool_ids=True),
        ),
        "glm": Backend(
            name="glm",
            url="https://api.z.ai/api/anthropic",
            realm="zai",
            auth="bearer",
            keys=(Secret("sk-zai"),),
            keys_from=(f"the variable ZAI_API_KEY ({file}:12)",),
            model="glm-5.3",
            models={"opus": "glm-5.3", "sonnet": "glm-5.3", "haiku": "glm-4.5-air"},
            quirks=Quirks(adaptive=False, system_messages=False),
            timeouts=BackendTimeouts(first_byte=300),
            preset="zai",
        ),
    }
    assert (settings.active, settings.failover, settings.proxy, settings.first_content_seconds) == (
        "glm",
        ("claude",),
        True,
        60,
    )
    assert settings.rules == (
        RoutingRule(family="haiku", backend="claude", model="claude-haiku-4-5"),
        RoutingRule(agent="*", backend="glm"),
    )
    assert settings.thinking == ThinkingSettings(foreign="text")
    assert settings.store == StoreSettings(bodies="off", days=7)
    assert settings.gateway == GatewaySettings(port=0, hosts=("box:2539",))
    assert settings.retry == Retry(retries=5)
    assert settings.models["glm-5.3"].context == 200_000
    assert options_of(settings) == Options(
        budget=BudgetRules(default=4000), cache=CacheRules(ttl="1h"), preserve_thinking=True
    )
    assert timeouts_for(settings, settings.backends["glm"]) == Timeouts(gap=20, first_byte=300)
    assert whole_timeouts_for(settings, settings.backends["glm"]) == Timeouts(gap=20, first_byte=300)
    assert timeouts_for(settings, settings.backends["claude"]) is settings.timeouts
    assert loaded.warnings == ()


def test_each_key_says_where_it_came_from(file: Path) -> None:
    """`config show --origin` prints these; what is missing here is a default."""
    loaded = read(
        file, 'active = "glm"\n[backends.glm]\npreset = "zai"\nkey = "${K}"\n\n[thinking]\nseal = "reference"\n', K="k"
    )
    assert loaded.origins == {
        "active": f"{file}:1",
        "backends.glm": f"{file}:2",
        "backends.glm.preset": f"{file}:3",
        "backends.glm.key": f"{file}:4",
        "backends.glm.dialect": "preset zai",
        "backends.glm.url": "preset zai",
        "backends.glm.realm": "preset zai",
        "backends.glm.auth": "preset zai",
        "backends.glm.model": "preset zai",
        "backends.glm.models": "preset zai",
        "backends.glm.quirks.adaptive": "preset zai",
        "backends.glm.quirks.system_messages": "preset zai",
        "thinking": f"{file}:6",
        "thinking.seal": f"{file}:7",
    }


@pytest.mark.parametrize(
    ("lines", "realm", "unique"),
    [
        ('url = "https://api.anthropic.com"', "anthropic", True),
        ('url = "https://eu.services.ai.azure.com/anthropic"', "anthropic", True),
        ('url = "http://127.0.0.1:9"\nrealm = "anthropic"', "anthropic", True),
        ('url = "https://api.z.ai/api/anthropic"\nkey = "${K}"', "zai", False),
        ('url = "http://127.0.0.1:9"\nkey = "${K}"', "x", False),
        ('preset = "kimi"\nrealm = "mine"\nkey = "${K}"', "mine", False),
        ('url = "https://api.anthropic.com"\nrealm = "mine"\nkey = "${K}"', "mine", False),
    ],
)
def test_who_reads_signatures_follows_from_the_host_unless_the_file_says_otherwise(
    file: Path, lines: str, realm: str, unique: bool
) -> None:
    """First-party Claude hosts share the realm `anthropic` and get its row: unique tool ids."""
    row = read(file, f"[backends.x]\n{lines}\n", K="k").settings.backends["x"]
    assert (row.realm, row.quirks.unique_tool_ids) == (realm, unique)


def test_a_quirk_of_the_file_is_put_on_the_rows_others_stay(file: Path) -> None:
    row = read(file, '[backends.d]\npreset = "deepseek"\nkey = "${K}"\nquirks = { missing = "empty" }\n', K="k")
    quirks = row.settings.backends["d"].quirks
    assert quirks == Quirks(adaptive=False, signed=False, missing="empty", betas=False, system_messages=False)


@pytest.mark.parametrize(
    ("lines", "models", "model"),
    [
        ("", {"opus": "glm-5.3", "sonnet": "glm-5.3", "haiku": "glm-4.5-air"}, "glm-5.3"),
        ('model = "glm-4.7"', {}, "glm-4.7"),
        ('models = { haiku = "tiny" }', {"opus": "glm-5.3", "sonnet": "glm-5.3", "haiku": "tiny"}, "glm-5.3"),
        ('model = "glm-4.7"\nmodels = { haiku = "tiny" }', {"haiku": "tiny"}, "glm-4.7"),
    ],
)
def test_one_model_is_meant_for_all_names_and_a_mapping_is_put_on_the_presets(
    file: Path, lines: str, models: dict[str, str], model: str
) -> None:
    row = read(file, f'[backends.glm]\npreset = "zai"\nkey = "${{K}}"\n{lines}\n', K="k").settings.backends["glm"]
    assert (row.models, row.model) == (models, model)


def test_without_an_active_one_it_is_claude_else_the_first(file: Path) -> None:
    assert read(file, LOCAL).settings.active == "here"
    assert read(file, LOCAL + '[backends.claude]\npreset = "anthropic"\n').settings.active == "claude"


def test_a_crlf_file_with_a_bom_is_read_too(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + LOCAL.replace("\n", "\r\n").encode())
    loaded = load(file, {})
    assert (set(loaded.settings.backends), loaded.origins["backends.here.auth"]) == ({"here"}, f"{file}:3")


# ── where keys come from


def test_a_key_comes_from_a_variable_a_file_or_the_keyring(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = file.with_name("key")
    secret.write_text("sk-file\n")
    secret.chmod(0o600)
    ring = SimpleNamespace(get_password=lambda service, name: f"sk-{service}-{name}")
    monkeypatch.setattr(key_sources, "import_module", lambda name: ring)
    text = f'[backends.x]\nurl = "http://127.0.0.1:1"\nkeys = ["${{K}}", "${{L:-sk-default}}", "file:{secret}", "keyring:clew/x"]\n'
    loaded = read(file, text, K="sk-variable")
    assert [key.reveal() for key in loaded.settings.backends["x"].keys] == [
        "sk-variable",
        "sk-default",
        "sk-file",
        "sk-clew-x",
    ]
    assert loaded.warnings == ()


def test_a_literal_key_works_and_is_warned_of_and_never_shown(file: Path) -> None:
    loaded = read(file, '[backends.x]\nurl = "http://127.0.0.1:1"\nkey = "sk-literal"\n')
    assert loaded.warnings == ("backends.x: a key stands in the file itself: better as ${VARIABLE} or file:",)
    assert "sk-literal" not in repr(loaded)
    file.chmod(0o644)
    assert load(file, {}).warnings[-1] == f"others can read {file}, and a key stands in it: run `chmod 600 {file}`"


def test_a_key_that_travels_unencrypted_is_warned_of(file: Path) -> None:
    loaded = read(file, '[backends.x]\nurl = "http://example.com"\nkey = "${K}"\n', K="k")
    assert loaded.warnings == ("backends.x: its key goes over the network unencrypted: use https",)


def test_a_key_file_that_others_can_read_is_warned_of(file: Path) -> None:
    secret = file.with_name("key")
    secret.write_text("k")
    secret.chmod(0o644)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o644
    loaded = read(file, f'[backends.x]\nurl = "http://127.0.0.1:1"\nkey = "file:{secret}"\n')
    assert loaded.warnings == (f"backends.x: others can read {secret}: run `chmod 600 {secret}`",)


def test_a_backend_whose_key_may_be_missing_is_left_out_with_its_rules(file: Path) -> None:
    """`${NAME:-}` says so: a file that is shared between machines."""
    text = (
        'failover = ["glm", "here"]\n' + LOCAL + '[backends.glm]\npreset = "zai"\nkey = "${NONE:-}"\n'
        '[[rules]]\nfamily = "opus"\nbackend = "glm"\n'
    )
    loaded = read(file, text)
    assert (set(loaded.settings.backends), loaded.settings.failover, loaded.settings.rules) == ({"here"}, ("here",), ())
    assert loaded.warnings == ("backends.glm: left out, since its key is empty",)


GLM = '[backends.glm]\npreset = "zai"\nkey = "${NONE}"\n'


@pytest.mark.parametrize(
    ("table", "key", "line", "why"),
    [
        (GLM, "key", 8, "the variable NONE is not set"),
        (
            GLM.replace('key = "${NONE}"', 'keys = ["${NONE}", "${NO_TWO}"]'),
            "keys[0]",
            8,
            "the variable NONE is not set; the ",
        ),
        (
            '[backends.glm]\nurl = "https://${HOST}/${PATH_}"\nkey = "${NONE}"\n',
            "url",
            7,
            "the variables HOST and PATH_ are not",
        ),
        (
            '[backends.glm]\ndialect = "${NONE}"\nurl = "https://x.example"\nauth = "none"\n',
            "dialect",
            7,
            "the variable NONE",
        ),
    ],
)
def test_a_variable_that_is_not_set_disables_one_backend(file: Path, table: str, key: str, line: int, why: str) -> None:
    """The rest of the file holds. Rules keep naming the disabled one, so that nobody else answers; a failover leaves it out."""
    head = 'failover = ["glm", "here"]\n' + LOCAL
    rules = '[[rules]]\nfamily = "opus"\nbackend = "glm"\n'
    head += "\n" * (5 - head.count("\n"))
    loaded = read(file, head + table + rules)
    settings, [disabled] = loaded.settings, loaded.settings.disabled.values()
    assert (set(settings.backends), settings.failover, [rule.backend for rule in settings.rules]) == (
        {"here"},
        ("here",),
        ["glm"],
    )
    assert (disabled.name, disabled.key, disabled.where) == ("glm", f"backends.glm.{key}", f"{file}:{line}")
    assert disabled.why.startswith(why)
    assert loaded.warnings == (f"glm is disabled: {disabled.why} ({disabled.key}, {disabled.where})",)


def test_the_active_backend_can_be_disabled_and_stays_active(file: Path) -> None:
    """Another one that answers in its place would be another vendor."""
    for text in (
        'active = "glm"\n' + LOCAL + GLM,
        GLM + LOCAL,
        GLM.replace("glm", "claude") + LOCAL,
        LOCAL + GLM.replace("glm", "claude"),
    ):
        loaded = read(file, text)
        assert loaded.settings.active in loaded.settings.disabled


def test_a_variable_that_is_not_set_elsewhere_is_a_mistake(file: Path) -> None:
    assert faults(file, 'active = "${NONE}"\n' + LOCAL) == [(1, "active", "the variable NONE is not set")]


def test_one_key_of_several_is_enough(file: Path) -> None:
    loaded = read(file, '[backends.glm]\npreset = "zai"\nkeys = ["${ONE}", "${NONE}"]\n', ONE="k")
    assert (len(loaded.settings.backends["glm"].keys), loaded.settings.disabled) == (1, {})
    assert loaded.warnings == ("backends.glm.keys[1]: the variable NONE is not set",)


def test_mistakes_of_a_disabled_backend_are_said_all_the_same(file: Path) -> None:
    [(_, key, _)] = faults(file, LOCAL + GLM + 'modle = "x"\n')
    assert key == "backends.glm.modle"


def test_commands_that_call_nobody_need_no_keys(file: Path) -> None:
    """A gateway that runs may have the variable, so the backend is there; what is missing here is said."""
    file.write_text(GLM)
    loaded = load(file, {}, keys=False)
    assert (loaded.settings.backends["glm"].keys, loaded.settings.disabled) == ((), {})
    assert loaded.disabled["glm"].says == f"glm is disabled: the variable NONE is not set (backends.glm.key, {file}:3)"


def test_an_empty_variable_is_as_unset(file: Path) -> None:
    text = '[backends.x]\nurl = "http://127.0.0.1:1"\nkey = "${K:-sk-default}"\n'
    assert [key.reveal() for key in read(file, text, K="").settings.backends["x"].keys] == ["sk-default"]
    assert list(read(file, text.replace(":-sk-default", ""), K="").settings.disabled) == ["x"]


def test_a_file_without_a_key_in_it_may_be_read_by_all(file: Path) -> None:
    read(file, '[backends.x]\nurl = "http://127.0.0.1:1"\nkey = "${K}"\n', K="sk-k")
    file.chmod(0o644)
    assert load(file, {"K": "sk-k"}).warnings == ()


# ── what the values say


@pytest.mark.parametrize(("bodies", "kept"), [("off", 0), ("last:7", 7), ("all", None)])
def test_how_many_bodies_are_kept(bodies: str, kept: int | None) -> None:
    assert StoreSettings(bodies=bodies).kept_bodies == kept


def test_retention_is_in_seconds_and_bytes_and_nothing_is_for_ever() -> None:
    assert (StoreSettings(days=2, megabytes=3).age, StoreSettings(days=2, megabytes=3).bytes) == (172_800, 3_000_000)
    assert (StoreSettings(days=0, megabytes=0).age, StoreSettings(days=0, megabytes=0).bytes) == (None, None)


def test_a_file_has_a_usual_limit_and_a_database_that_a_team_shares_has_none() -> None:
    """Half a million recordings of a team reach four gigabytes: nothing of theirs is deleted that nobody wanted deleted."""
    shared = "postgresql://clew@db/clew"
    assert (StoreSettings().bytes, StoreSettings(url="sqlite:other.db").bytes) == (4_096_000_000, 4_096_000_000)
    assert (StoreSettings(url=shared).bytes, StoreSettings(url=shared, megabytes=5).bytes) == (None, 5_000_000)


@pytest.mark.parametrize(("policy", "told"), [("origin", "origin"), ("session", "origin"), ("strip", "strip")])
def test_a_projection_is_told_to_strip_or_to_go_by_origin(file: Path, policy: str, told: str) -> None:
    assert options_of(read(file, f'[thinking]\npolicy = "{policy}"\n').settings).policy == told


# ── a file with mistakes


@proves("req:S1-52")
def test_every_mistake_is_reported_at_once_with_line_key_and_what_is_allowed(file: Path) -> None:
    """Reliability 4: a broken file is refused whole."""
    text = """active = "gml"
[backends.glm]
preset = "zai"
key = "${ZAI}"
urll = "x"

[backends.two]
preset = "zia"

[thinking]
foreign = "dorp"
restore = "yes"

[[rules]]
backend = "glm"

[[rules]]
backend = "none"
agent = "*"

[gateway]
port = 99999
"""
    assert faults(file, text) == [
        (1, "active", "there is no backend 'gml'; did you mean 'glm'? (known: glm, two)"),
        (
            5,
            "backends.glm.urll",
            "there is no such key; did you mean 'url'? (allowed: preset, dialect, url, path, realm, auth, key, keys, "
            "account, model, models, quirks, wire, speech, responses, by_model, timeouts, allow_private, max_parallel)",
        ),
        (
            8,
            "backends.two.preset",
            f"there is no such preset; did you mean 'zai'? (known: {', '.join(presets())})",
        ),
        (11, "thinking.foreign", "expected one of drop, text, native; did you mean 'drop'?"),
        (12, "thinking.restore", "expected true or false, got a text"),
        (14, "rules[0]", "exactly one of family, agent, request_class says which requests are meant"),
        (18, "rules[1].backend", "there is no backend 'none' (known: glm, two)"),
        (22, "gateway.port", "expected a whole number <= 65535"),
    ]
    with pytest.raises(SettingsInvalid) as error:
        load(file, {})
    assert str(error.value).splitlines()[:2] == [
        f"{file} has 8 mistakes; the file is not used:",
        f"{file}:1: active: there is no backend 'gml'; did you mean 'glm'? (known: glm, two)",
    ]
    assert (error.value.file, error.value.key) == (str(file), "active")


X = '[backends.x]\nurl = "http://127.0.0.1:1"\n'


@proves("req:S1-52")
@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("activ = 1\n", (1, "activ"), "there is no such key; did you mean 'active'? (allowed: active, failover,"),
        ("thinking = 3\n", (1, "thinking"), "expected a table, got a whole number"),
        ("failover = 3\n", (1, "failover"), "expected a list, got a whole number"),
        ("rules = [3]\n", (1, "rules[0]"), "expected a table, got a whole number"),
        ("[[rules]]\nfamily = 'opus'\n", (1, "rules[0]"), "'backend' is missing"),
        ("[[rules]]\nfamily = 'opsu'\nbackend = 'claude'\n", (2, "rules[0].family"), "expected one of opus, sonnet,"),
        ("[backends]\nx = 1\n", (2, "backends.x"), "expected a table, got a whole number"),
        ("[backends.x]\n", (1, "backends.x"), "it needs a url, or a preset (anthropic, zai,"),
        (X, (1, "backends.x"), 'it needs a key ("${VARIABLE}", "file:/path", "keyring:service/name"), or another auth'),
        (X + "auth = 'bearer'\n", (1, "backends.x"), "it needs a key"),
        (X + "auth = 'none'\nkey = 'k'\n", (3, "backends.x.auth"), "none shows no key, but one is given: remove either"),
        (
            X + "auth = 'kee'\n",
            (3, "backends.x.auth"),
            "expected one of passthrough, key, bearer, api-key, none; did you mean 'key'?",
        ),
        (X + "key = 'file:/no/such'\n", (3, "backends.x.key"), "cannot read /no/such: No such file or directory"),
        (X + "key = 'file:relative'\n", (3, "backends.x.key"), "file:relative is not a whole path: begin it with / or ~"),
        (X + "key = 'keyring:x'\n", (3, "backends.x.key"), "keyring: is followed by service/name"),
        (X + "key = 'two words'\n", (3, "backends.x.key"), "the value of it is not a key: it has spaces, line breaks"),
        (
            X + "auth = 'none'\ndialect = 'anthropik'\n",
            (4, "backends.x.dialect"),
            "expected one of anthropic, openai-chat, openai-responses; did",
        ),
        (
            X + "auth = 'none'\nquirks = { adaptve = false }\n",
            (4, "backends.x.quirks.adaptve"),
            "there is no such key; did you mean 'adaptive'?",
        ),
        (X + "auth = 'none'\ntimeouts = { gap = 0 }\n", (4, "backends.x.timeouts.gap"), "expected a number > 0"),
        (
            "[backends.x]\nurl = 'http://169.254.169.254'\nauth='none'\n",
            (2, "backends.x.url"),
            "169.254.169.254 is a link-local",
        ),
        ("[backends.'a b']\npreset = 'anthropic'\n", (1, 'backends."a b"'), "a name has letters, digits, dots and dashes"),
        ("[models.x]\ncontxt = 1\n", (2, "models.x.contxt"), "there is no such column; did you mean 'context'?"),
        ("[models.'glm-4.6']\nas = 'nope'\n", (2, 'models."glm-4.6".as'), "there is no model 'nope'"),
        ("[models.x]\nreads = ['nope']\n", (2, "models.x.reads"), "no model or line 'nope'"),
        ("[models.x]\nid = 'y'\n", (2, "models.x.id"), "there is no such column"),
        ("[models]\nx = 1\n", (2, "models.x"), "expected a table, got a whole number"),
        ("[timeouts]\ngap = -1\n", (2, "timeouts.gap"), "expected a number above 0, got -1"),
        ('[timeouts]\ngap = "off"\n', (2, "timeouts.gap"), "expected a number, got a text"),
        ("[store]\nbodies = 'some'\n", (2, "store.bodies"), "expected off, last:N, days:N or all"),
        ("[store]\nurl = 'mysql://x'\n", (2, "store.url"), f"expected {URLS}"),
        ("[store]\nurl = 'postgresql://${NOT_SET}@x'\n", (2, "store.url"), "the variable NOT_SET is not set"),
        ("ca_file = '/no/such'\n", (1, "ca_file"), "there is no such file"),
        (f"ca_file = '{__file__}'\n", (1, "ca_file"), "there is no certificate in that file; it has to be PEM"),
        ("ca_file = '${NOT_SET}'\n", (1, "ca_file"), "the variable NOT_SET is not set"),
        ("active = 'x\n", (1, ""), "not TOML: "),
        ("a = 1\nb = = 2\n", (2, ""), "not TOML: Invalid value"),
    ],
)
def test_a_mistake_names_its_place_and_what_would_be_right(file: Path, text: str, where: object, says: str) -> None:
    """One sort each; the table is what a person can get wrong."""
    [(line, key, said)] = faults(file, text)
    assert ((line, key), said[: len(says)]) == (where, says)


def test_a_key_in_the_wrong_place_is_not_repeated(file: Path) -> None:
    text = '[backends.x]\nauth = "sk-secret"\nurl = 5\n[gateway]\nport = "sk-secret"\n[store]\nbodies = "sk-secret"\n'
    assert "sk-secret" not in str(faults(file, text))


def test_a_file_that_cannot_be_read_says_why(file: Path) -> None:
    assert faults_of(file, {}) == (SettingsFault(0, "", "cannot be read: No such file or directory"),)
    file.write_bytes(b"a = 1\nb = '\xff'\n")
    assert faults_of(file, {}) == (SettingsFault(2, "", "this line is not UTF-8"),)
    file.write_text("a = " + "[" * 100_000)
    assert faults_of(file, {})[0].says in ("it is nested too deep", "not TOML: Invalid value")
    file.write_bytes(b"#" * 5_000_000)
    assert faults_of(file, {}) == (SettingsFault(0, "", "it has more than 4 MB, so it is not a config file"),)


def test_the_last_backend_that_is_left_out_is_a_mistake(file: Path) -> None:
    assert faults(file, '[backends.glm]\npreset = "zai"\nkey = "${NONE:-}"\n') == [(1, "backends", "no backend is left")]
    text = 'active = "glm"\n' + LOCAL + '[backends.glm]\npreset = "zai"\nkey = "${NONE:-}"\n'
    assert faults(file, text) == [(1, "active", "the backend 'glm' was left out, since its key is empty")]


# ── which file


def test_the_given_file_outranks_the_variable_and_that_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environ = {"CLEW_HOME": str(home)}
    assert config_file(environ) is None
    (home / "clew.toml").write_text("")
    assert config_file(environ) == home / "clew.toml"
    environ["CLEW_CONFIG"] = "/elsewhere"
    assert config_file(environ) == Path("/elsewhere")
    assert config_file(environ, tmp_path) == tmp_path
    with pytest.raises(SettingsInvalid, match="/elsewhere: cannot be read"):
        load(None, environ)
