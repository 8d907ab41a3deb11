"""The admin behind a proxy that logs people in: real keys, a real socket."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from clew.admin.proxy_login import ProxyLogin, TokenRefused, keys_in
from clew.errors import SettingsInvalid
from clew.settings.login import LoginSettings
from tests.admin import booth as booths
from tests.admin.booth import Booth
from tests.waiting import until

pytestmark = pytest.mark.slow

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE = ec.generate_private_key(ec.SECP256R1())
CLAIMS = {"iss": "https://idp.example", "aud": "clew", "email": "ann@example.com", "groups": ["staff", "clew-admins"]}


def public(key: Any, kid: str, **more: str) -> dict[str, Any]:
    kind = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    return {**kind.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig", **more}


def written(folder: Path, *keys: dict[str, Any]) -> str:
    file = folder / "jwks.json"
    file.write_text(json.dumps({"keys": keys}))
    return f"file:{file}"


def token(key: Any = RSA, kid: str = "one", algorithm: str = "RS256", **claims: Any) -> str:
    body = {**CLAIMS, "exp": time.time() + 600, **claims}
    return jwt.encode({name: value for name, value in body.items() if value is not None}, key, algorithm, {"kid": kid})


def settings_of(place: str, **more: Any) -> LoginSettings:
    return LoginSettings(
        issuer="https://idp.example",
        audience="clew",
        jwks=place,
        peers=("127.0.0.0/8",),
        principal_claim="email",
        viewers=("clew-viewers",),
        operators=("clew-operators",),
        owners=("clew-admins",),
        hosts=("clew.example.com",),
        **more,
    )


@pytest.fixture
def place(tmp_path: Path) -> str:
    return written(tmp_path, public(RSA, "one"), public(CURVE, "two"), {"kty": "oct", "kid": "shared", "k": "c2VjcmV0"})


@pytest.fixture
def booth(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Booth]:
    usual = booths.settings()
    monkeypatch.setattr(booths, "settings", lambda: msgspec.structs.replace(usual, login=settings_of(place)))
    with Booth(tmp_path / "home") as booth:
        until(lambda: ask(booth, token()) == 200)  # the keys are read beside the start
        yield booth


def ask(booth: Booth, given: str, path: str = "/api/status", **more: Any) -> int:
    return booth.ask(path, headers={"authorization": f"Bearer {given}"}, port=True, **more).status


def login(place: str, **more: Any) -> ProxyLogin:
    async def made() -> ProxyLogin:
        return ProxyLogin(lambda: settings_of(place, **more))

    found = asyncio.run(made())
    found.read_keys()
    return found


def test_each_role_opens_what_is_its_own(booth: Booth) -> None:
    rename = {"method": "POST", "body": {"reset": True}}
    make = {"method": "POST", "body": {"name": "anna"}}
    owner, operator, viewer = (token(groups=f"clew-{name}") for name in ("admins", "operators", "viewers"))
    opened = [
        [ask(booth, each), ask(booth, each, "/api/use", **rename), ask(booth, each, "/api/keys", **make)]
        for each in (viewer, operator, owner)
    ]
    assert opened == [[200, 403, 403], [200, 200, 403], [200, 200, 200]]
    told = booth.ask("/api/use", headers={"authorization": f"Bearer {viewer}"}, port=True, **rename)
    assert told.json["error"]["why"] == "the role viewer is not allowed to do this"
    entries = booth.ask("/api/audit").json["entries"]
    assert "ann@example.com (proxy, owner)" in {each["who"] for each in entries}


def test_a_browser_comes_in_by_the_name_of_the_proxy(booth: Booth) -> None:
    headers = {"authorization": f"Bearer {token()}", "host": "clew.example.com"}
    assert booth.ask("/api/session", headers=headers, port=True).json["door"] == "proxy"
    body = {"method": "POST", "body": {"reset": True}}
    assert booth.ask("/api/use", headers={**headers, "origin": "https://clew.example.com"}, port=True, **body).status == 200
    assert booth.ask("/api/use", headers={**headers, "origin": "https://evil.example"}, port=True, **body).status == 403
    assert booth.ask("/api/status", headers={**headers, "host": "evil.example"}, port=True).status == 421


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"exp": 1}, "expired"),
        ({"exp": None}, "exp"),
        ({"iss": "https://other.example"}, "issuer"),
        ({"aud": "another"}, "udience"),
        ({"aud": None}, "aud"),
        ({"nbf": 9_999_999_999}, "not yet valid"),
        ({"email": None}, "has no name"),
        ({"email": "a\nb"}, "has no name"),
        ({"groups": ["staff"]}, "gives no role here"),
        ({"groups": None}, "gives no role here"),
    ],
)
def test_claims_that_are_wrong_are_refused(place: str, claims: dict[str, Any], why: str) -> None:
    with pytest.raises(TokenRefused, match=why):
        login(place).find("127.0.0.1", {"authorization": f"Bearer {token(**claims)}"})


def test_a_signature_that_is_not_the_issuers_is_refused(place: str) -> None:
    """No `none`, no key of another, no algorithm of another kind of key, no public key as a shared secret."""
    pem = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    confused = _by_hand({"alg": "HS256", "kid": "one", "typ": "JWT"}, pem)
    unsigned = _by_hand({"alg": "none", "kid": "one"}, b"")
    shared = _by_hand({"alg": "HS256", "kid": "shared"}, b"secret")
    forged, crossed = token(OTHER), token(RSA, kid="two")
    for each in (confused, unsigned, shared, forged, crossed, token()[:-8] + "AAAAAAAA", "a.b.c", token(kid="three")):
        with pytest.raises(TokenRefused):
            login(place).find("127.0.0.1", {"authorization": f"Bearer {each}"})
    found = login(place).find("127.0.0.1", {"authorization": f"Bearer {token(CURVE, 'two', 'ES256')}"})
    assert found is not None
    assert (found.principal, found.role) == ("ann@example.com", "owner")


def _by_hand(head: dict[str, str], secret: bytes) -> str:
    import base64
    import hashlib
    import hmac

    def encoded(raw: bytes) -> str:
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

    claims = {**CLAIMS, "exp": time.time() + 600}
    signed = f"{encoded(json.dumps(head).encode())}.{encoded(json.dumps(claims).encode())}"
    made = hmac.new(secret, signed.encode(), hashlib.sha256).digest() if secret else b""
    return f"{signed}.{encoded(made)}"


def test_a_token_from_elsewhere_is_not_looked_at(place: str) -> None:
    given = {"authorization": f"Bearer {token()}"}
    for peer in ("10.0.0.1", "", "::1", "/run/admin.sock"):
        assert login(place).find(peer, given) is None
    assert login(place).find("127.0.0.1", {"authorization": "Bearer not-a-jwt"}) is None
    assert login(place, header="x-token").find("127.0.0.1", given) is None
    assert login(place, header="x-token").find("127.0.0.1", {"x-token": token()}) is not None


def test_new_keys_of_the_issuer_are_read_and_old_ones_end(place: str, tmp_path: Path) -> None:
    found = login(place)
    written(tmp_path, public(OTHER, "new"))
    found.read_keys()
    assert found.find("127.0.0.1", {"authorization": f"Bearer {token(OTHER, 'new')}"}) is not None
    with pytest.raises(TokenRefused):
        found.find("127.0.0.1", {"authorization": f"Bearer {token()}"})
    (tmp_path / "jwks.json").write_text("{")
    found.read_keys()
    assert found.find("127.0.0.1", {"authorization": f"Bearer {token(OTHER, 'new')}"}) is not None, "what is known stays"


@pytest.mark.parametrize(
    "raw", [b"{}", b"[]", b'{"keys":[]}', b'{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}', b'{"keys":["x"]}']
)
def test_a_key_set_without_a_public_key_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (any)
        keys_in(raw)


def test_without_the_package_it_is_said_which(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)
    with pytest.raises(SettingsInvalid, match=r"install clew\[jwt\]"):
        keys_in(Path(place.removeprefix("file:")).read_bytes())
