"""Addresses that must not be called, decided from the config alone."""

import pytest

from clew.backends.address import is_local, url_fault
from tests.manifest import proves

NEVER = [
    "http://0.0.0.0",
    "http://0.0.0.0:8080/v1",
    "http://[::]/",
    "http://127.1",
    "http://0x7f.1",
    "http://0x7f000001",
    "http://2130706433",
    "http://017700000001",
    "http://0177.0.0.1",
    "http://localhost.",
    "http://user@host",
    "http://user:pass@host",
    "http://@host",
    "http://good.example\\@169.254.169.254",
    "http://good.example\t.evil",
    "http://good.example\n",
    "http:// good.example",
    "http://good.example/ x",
    "http://good.example?x=1",
    "http://good.example#x",
    "http://good.example/?",
    "http://exa%6dple.com",
    "http://ex\u0430mple.com",
    "http://[::1",
    "http://[::1]x",
    "http://host:99999",
    "http://host:abc",
    "http://-host",
    "http://a..b",
    "http://224.0.0.1",
    "ftp://host",
    "file:///etc/passwd",
    "//host",
    "host:80",
    "http://",
    "",
]

MEANT = [
    "http://169.254.169.254",
    "http://169.254.170.2/v2",
    "http://[fe80::1]",
    "http://[::ffff:169.254.169.254]",
    "http://[::ffff:127.0.0.1]",
    "http://[64:ff9b::a9fe:a9fe]",
    "http://[2002:a9fe:a9fe::]",
    "http://[fd00:ec2::254]",
    "http://[fec0::1]",
    "http://100.64.0.1",
    "http://100.100.100.200",
    "http://metadata.google.internal",
    "http://METADATA.google.internal/computeMetadata",
    "http://240.0.0.1",
]

FINE = [
    "https://api.anthropic.com",
    "https://api.z.ai/api/anthropic",
    "http://localhost:11434",
    "http://127.0.0.1:2541",
    "http://[::1]:2541",
    "http://10.0.0.7:8000",
    "http://192.168.1.5",
    "http://[fd12::1]:80",
    "http://ollama:11434",
    "http://my_host.lan",
    "https://xn--bcher-kva.example",
]


@proves("fault:X8")
@pytest.mark.parametrize("url", NEVER)
@pytest.mark.parametrize("allow", [False, True])
def test_a_url_that_readers_could_take_in_two_ways_is_refused_whatever_is_allowed(url: str, allow: bool) -> None:
    """X8: odd spellings, userinfo, backslash and tab, unspecified addresses, other schemes."""
    assert url_fault(url, allow_private=allow)


@proves("fault:X8")
@pytest.mark.parametrize("url", MEANT)
def test_a_link_local_or_metadata_address_needs_the_operators_word(url: str) -> None:
    """Reliability 4.4: refused unless `allow_private` is set on that backend."""
    assert url_fault(url)
    assert url_fault(url, allow_private=True) == ""


@pytest.mark.parametrize("url", FINE)
def test_public_names_this_machine_and_private_networks_are_the_operators_choice(url: str) -> None:
    assert url_fault(url) == ""


def test_a_refusal_does_not_repeat_what_may_be_a_password() -> None:
    assert "hunter2" not in url_fault("http://me:hunter2@host")


def test_this_machine_is_known_by_name_and_address() -> None:
    assert [
        is_local(url) for url in ("http://localhost:1", "http://127.0.0.9", "http://[::1]", "http://10.0.0.1", "http://x")
    ] == [
        True,
        True,
        True,
        False,
        False,
    ]
