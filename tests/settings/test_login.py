"""`[login]`: which tokens of a proxy are believed."""

from pathlib import Path

import pytest

from clew.errors import SettingsInvalid
from clew.settings.load import load

GOOD = """[login]
issuer = "https://idp.example"
audience = "clew"
jwks = "https://idp.example/keys"
peers = ["127.0.0.1", "10.0.0.0/8"]
owners = ["admins"]
"""


def test_a_whole_table_is_taken_and_none_is_off(tmp_path: Path) -> None:
    file = tmp_path / "clew.toml"
    file.write_text(GOOD)
    login = load(file, {}).settings.login
    assert (login.is_on, login.header, login.principal_claim) == (True, "authorization", "sub")
    file.write_text('active = ""\n[log]\n')
    assert not load(file, {}).settings.login.is_on


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('issuer = "https://idp.example"\n', "", "this is needed where"),
        ('peers = ["127.0.0.1", "10.0.0.0/8"]', "peers = []", "this is needed where"),
        ('"10.0.0.0/8"', '"everybody"', "'everybody' is not an address or a network"),
        ("https://idp.example/keys", "http://idp.example/keys", "who changes these keys comes in"),
        ("https://idp.example/keys", "/etc/keys", "who changes these keys comes in"),
        ('owners = ["admins"]', 'header = "X-Token"', "say who may come in"),
        ('owners = ["admins"]', 'owners = ["a"]\nheader = "X-Token"', "in small letters"),
    ],
)
def test_what_is_missing_or_would_believe_too_much_is_refused(tmp_path: Path, old: str, new: str, why: str) -> None:
    file = tmp_path / "clew.toml"
    assert old in GOOD
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(SettingsInvalid, match=why):
        load(file, {})
