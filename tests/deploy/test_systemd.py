"""The units for systemd: as systemd itself reads them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from clew.settings.values import GatewaySettings
from tests.gateway.served import CLEW

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
ANALYZE = shutil.which("systemd-analyze")


def setting(unit: str, name: str) -> str:
    found = re.findall(rf"^{name}=(.*)$", (UNITS / unit).read_text(), re.MULTILINE)
    assert len(found) == 1, (unit, name, found)
    return found[0]


@pytest.mark.skipif(ANALYZE is None, reason="there is no systemd here")
@pytest.mark.parametrize("unit", ["clew.service", "clew-user.service"])
def test_systemd_finds_nothing_to_say(unit: str, tmp_path: Path) -> None:
    """With the program where it is here: systemd asks whether it can be run."""
    text = re.sub(r"^ExecStart=\S+", f"ExecStart={CLEW}", (UNITS / unit).read_text(), flags=re.MULTILINE)
    text = re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE)  # the man page is not installed here
    (tmp_path / "clew.service").write_text(text)
    assert ANALYZE is not None
    done = subprocess.run([ANALYZE, "verify", "--man=no", tmp_path / "clew.service"], capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if "clew" in line]
    assert (done.returncode, said) == (0, [])


@pytest.mark.parametrize("unit", ["clew.service", "clew-user.service"])
def test_a_stop_has_time_for_the_drain(unit: str) -> None:
    gateway = GatewaySettings()
    assert float(setting(unit, "TimeoutStopSec")) > gateway.seconds_to_drain + gateway.closing_seconds
    assert setting(unit, "Type") == "notify"
    assert setting(unit, "ExecStart").split()[1] == "serve"


def test_the_system_unit_writes_to_its_state_alone() -> None:
    assert setting("clew.service", "ProtectSystem") == "strict"
    assert setting("clew.service", "Environment") == f"CLEW_HOME=/var/lib/{setting('clew.service', 'StateDirectory')}"
    assert setting("clew.service", "StateDirectoryMode") == "0700"
    assert setting("clew.service", "LoadCredential").startswith("anthropic:/etc/clew/credentials/")
