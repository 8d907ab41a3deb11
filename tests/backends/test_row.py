"""Rows: who asks, which model is meant, which reader it is."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from clew.backends.credential import Secret
from clew.backends.names import family_of
from clew.backends.row import Backend, Quirks, account_of, auth_headers, model_for, target_of
from clew.model.facts.models import merge_overrides, profile_for
from clew.model.origin import Reader
from tests.manifest import proves

CLIENT = (("x-api-key", "sk-client"), ("authorization", "Bearer client"))
KEY = Secret("sk-ours")


def backend(**fields: Any) -> Backend:
    return Backend(**{"name": "glm", "url": "http://127.0.0.1:1", "realm": "glm"} | fields)


# ── secrets


@pytest.mark.parametrize("shown", [str, repr, "{}".format, "%s".__mod__, ascii])
def test_a_key_does_not_show_itself(shown: Callable[[object], str]) -> None:
    assert shown(KEY) == "<secret>"
    assert "sk-ours" not in repr(backend(keys=(KEY,), auth="key"))


def test_a_key_is_known_by_a_fingerprint_of_eight_characters() -> None:
    assert (KEY.fingerprint, KEY.reveal()) == ("cf6cf22d", "sk-ours")
    assert (Secret("sk-ours") == KEY, Secret("sk-other") == KEY, len({KEY, Secret("sk-ours")})) == (True, False, 1)


# ── who asks


@proves("req:S1-48")
@pytest.mark.parametrize(
    ("auth", "headers"),
    [
        ("key", ((b"x-api-key", b"sk-ours"),)),
        ("bearer", ((b"authorization", b"Bearer sk-ours"),)),
        ("api-key", ((b"api-key", b"sk-ours"),)),
        ("passthrough", ((b"x-api-key", b"sk-client"), (b"authorization", b"Bearer client"))),
        ("none", ()),
    ],
)
def test_each_kind_of_auth_shows_its_own_header_and_nothing_of_anybody_else(auth: str, headers: object) -> None:
    """S1-48: with a key of ours the client's own credential stays behind; passthrough sends it as it came."""
    assert auth_headers(backend(auth=auth), KEY, CLIENT) == headers


@pytest.mark.parametrize(
    ("shown", "sent"),
    [
        ("Bearer sk-ant-api03-x", (b"x-api-key", b"sk-ant-api03-x")),
        ("bearer  sk-ant-api03-x", (b"x-api-key", b"sk-ant-api03-x")),
        ("Bearer sk-ant-oat01-x", (b"authorization", b"Bearer sk-ant-oat01-x")),
        ("Bearer sk-other", (b"authorization", b"Bearer sk-other")),
    ],
)
def test_a_key_of_anthropics_goes_where_anthropic_takes_it(shown: str, sent: object) -> None:
    """An OpenAI client shows every key as a bearer token."""
    claude = backend(auth="passthrough", realm="anthropic")
    assert auth_headers(claude, None, (("authorization", shown),)) == (sent,)
    assert auth_headers(backend(auth="passthrough"), None, (("authorization", shown),)) == (
        (b"authorization", shown.encode()),
    )


def test_an_account_is_as_configured_else_a_fingerprint_of_what_is_shown() -> None:
    """Part of a block's origin: the same credential must give the same name, another one another."""
    assert account_of(backend(auth="key", account="team"), KEY, CLIENT) == "team"
    assert account_of(backend(auth="key"), KEY, CLIENT) == KEY.fingerprint
    assert account_of(backend(auth="none"), None) == ""
    own = [account_of(backend(), None, credential) for credential in (CLIENT, CLIENT[::-1], CLIENT[:1], ())]
    assert own[0] == own[1] != own[2] and own[3] == ""


# ── which model


@proves("req:S1-49")
@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("claude-opus-5-5", "opus"),
        ("claude-3-5-sonnet-20241022", "sonnet"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "haiku"),
        ("anthropic/claude-fable-5", "fable"),
        ("claude-opus-9-9[1m]", "opus"),
        ("sonnet", "sonnet"),
        ("claude-next", ""),
        ("glm-4.6", ""),
        ("open-opus-clone", ""),
        ("", ""),
    ],
)
def test_a_family_is_read_from_a_claude_name_alone(name: str, family: str) -> None:
    assert family_of(name) == family


MAPPED = {"opus": "big", "haiku": "small", "claude-sonnet-5": "special", "claude-opus-4-1-20250805": "exact"}


@proves("req:S1-49")
@pytest.mark.parametrize(
    ("asked", "model", "own"),
    [
        ("claude-opus-5-5-20260801[1m]", "", "big"),
        ("claude-opus-4-1-20250805", "", "exact"),
        ("claude-sonnet-5-20260101", "", "special"),
        ("claude-sonnet-4-5", "", "claude-sonnet-4-5"),  # unmapped: unchanged
        ("claude-sonnet-4-5", "rest", "rest"),
        ("claude-haiku-4-5", "rest", "small"),
        ("big", "rest", "big"),  # the backend's own name
        ("gpt-5", "rest", "rest"),
        ("gpt-5", "", "gpt-5"),
    ],
)
def test_a_model_is_mapped_by_exact_name_then_by_family_then_by_the_one_model(asked: str, model: str, own: str) -> None:
    """S1-49: unmapped families stay as they are."""
    assert model_for(backend(models=MAPPED, model=model), asked) == own


@pytest.mark.parametrize(
    ("asked", "own"),
    [
        ("gpt-5.5", "gpt-5.5"),
        ("GPT-5.4-mini", "GPT-5.4-mini"),
        ("gpt-4.1", "gpt-4o"),  # the operator's mapping goes first
        ("claude-haiku-4-5", "small"),
        ("claude-opus-5-5", "gpt-5.6"),
        ("grok-4", "gpt-5.6"),
    ],
)
def test_a_name_of_the_vendors_own_is_asked_for_as_it_is(asked: str, own: str) -> None:
    row = backend(models={"haiku": "small", "gpt-4.1": "gpt-4o"}, model="gpt-5.6", own_models=("gpt-*",))
    assert model_for(row, asked) == own


# ── which reader


def test_a_target_has_the_backends_model_and_the_users_rows() -> None:
    rows = merge_overrides({"big": {"context": 7, "account_bound": True}})
    target = target_of(backend(models=MAPPED), "claude-opus-5-5", overrides=rows, foreign="text", account="me")
    assert (target.backend, target.model, target.profile.context, target.foreign) == ("glm", "big", 7, "text")
    assert target.reader == Reader("glm", "big", "me")


def test_a_quirk_outranks_the_general_setting() -> None:
    target = target_of(backend(quirks=Quirks(foreign="native", missing="space")), "x", foreign="drop")
    assert (target.foreign, target.missing) == ("native", "space")


def test_what_an_endpoint_does_not_take_no_model_behind_it_takes() -> None:
    quirks = Quirks(adaptive=False, system_messages=False, effort=False)
    profile = target_of(backend(quirks=quirks), "glm-4.6").profile
    plain = profile_for("glm-4.6")
    assert profile == structs.replace(
        plain,
        thinking=tuple(mode for mode in plain.thinking if mode != "adaptive"),
        system_messages=False,
        effort=(),
        effort_default="",
    )
    assert target_of(backend(), "glm-4.6").profile == plain


def test_a_realm_is_per_account_only_where_the_row_says_so() -> None:
    per_account = Quirks(realm_per_account=True)
    assert target_of(backend(quirks=per_account), "x", account="me").realm == "glm/me"
    assert target_of(backend(), "x", account="me").realm == "glm"
    assert target_of(backend(quirks=per_account, realm="anthropic"), "x", account="me").realm == "anthropic"
