"""Doctor: the checks of the admin's own home, with fixes."""

import pytest

from clew.admin.checkup import CHECKS
from tests.admin.booth import CANARY, Booth

pytestmark = pytest.mark.slow


def test_the_page_names_every_check_before_it_is_made(kept_booth: Booth) -> None:
    page = kept_booth.ask("/doctor").raw.decode()
    assert [check.name for check in CHECKS if f"<strong>{check.name}</strong>" not in page] == []


def test_what_is_found_is_told_with_how_to_mend_it(booth: Booth) -> None:
    """It looks at this admin's home, whatever the environment says."""
    booth.home.root.chmod(0o755)
    (booth.home.root / "clew.toml").write_text(f'[backends.a]\nurl = "http://127.0.0.1:1"\nkey = "{CANARY}"\nauth = "key"\n')
    found = booth.ask("/doctor/checks").raw.decode()
    assert str(booth.home.root) in found and "to fix it:" in found and "chmod" in found
    assert CANARY not in found
    assert [check.name for check in CHECKS if f"<strong>{check.name}</strong>" not in found] == []
