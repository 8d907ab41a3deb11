"""What a URL and the environment say about where to connect."""

import pytest

from clew.errors import SettingsInvalid
from clew.upstream.endpoint import Endpoint, Proxy, endpoint_of, proxy_for

VENDOR = Endpoint("api.example.com", 443, True)


@pytest.mark.parametrize(
    ("url", "endpoint", "authority"),
    [
        ("https://api.example.com/anthropic", VENDOR, "api.example.com"),
        ("http://127.0.0.1:8080", Endpoint("127.0.0.1", 8080, False), "127.0.0.1:8080"),
        ("http://[::1]/v1", Endpoint("::1", 80, False), "[::1]"),
        ("https://API.example.com:443", VENDOR, "api.example.com"),
        ("https://x:80", Endpoint("x", 80, True), "x:80"),
    ],
)
def test_an_endpoint_is_what_connections_belong_to(url: str, endpoint: Endpoint, authority: str) -> None:
    assert (endpoint_of(url), endpoint_of(url).authority) == (endpoint, authority)


@pytest.mark.parametrize(
    "url", ["", "api.example.com", "ftp://x", "https://", "https://x:99999", "http://[::1", "https://me:secret@x"]
)
def test_a_url_that_cannot_be_used_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        endpoint_of(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        ({}, None),
        ({"HTTP_PROXY": "http://p:1"}, None),
        ({"HTTPS_PROXY": "http://p:1"}, Proxy("p", 1)),
        ({"HTTPS_PROXY": "p"}, Proxy("p", 3128)),
        ({"HTTPS_PROXY": "http://a:1", "https_proxy": "http://b:2"}, Proxy("b", 2)),
        ({"HTTPS_PROXY": "http://me:x@p:1"}, Proxy("p", 1, b"Basic bWU6eA==")),
        ({"HTTPS_PROXY": "p", "NO_PROXY": "other.com, example.com"}, None),
        ({"HTTPS_PROXY": "p", "NO_PROXY": ".example.com"}, None),
        ({"HTTPS_PROXY": "p", "NO_PROXY": "*.example.com"}, None),
        ({"HTTPS_PROXY": "p", "no_proxy": "*"}, None),
        ({"HTTPS_PROXY": "p", "no_proxy": "api.example.com:443"}, None),
        ({"HTTPS_PROXY": "p", "no_proxy": "api.example.com:80"}, Proxy("p", 3128)),
        ({"HTTPS_PROXY": "p", "no_proxy": "ple.com,"}, Proxy("p", 3128)),
    ],
)
def test_the_environment_names_a_proxy(environ: dict[str, str], proxy: Proxy | None) -> None:
    assert proxy_for(VENDOR, environ) == proxy


@pytest.mark.parametrize("url", ["https://me:secret@p", "socks5://me:secret@p", "http://me:secret@", "http://me:secret@p:x"])
def test_a_proxy_that_we_cannot_speak_to_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        proxy_for(VENDOR, {"https_proxy": url})
    assert "secret" not in str(caught.value)


def test_a_proxys_password_is_in_no_repr() -> None:
    assert "bWU6eA" not in repr(proxy_for(VENDOR, {"https_proxy": "http://me:x@p:1"}))
