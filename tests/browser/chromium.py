"""The Chromium that the tests drive: an installed `chromium`, or the one that npm's `@sparticuz/chromium` holds.

The latter is unpacked once, beside the package, so that a fresh installation unpacks its own. It brings the few libraries and
the font that small machines lack; they are used only where the machine has none.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.clients.installed import MODULES, NODE

PACKAGE = MODULES / "@sparticuz/chromium"
UNPACKED = MODULES / ".chromium"
SYSTEM_FONTS = Path("/usr/share/fonts")
FONTS_CONF = "<fontconfig><dir>{fonts}</dir><cachedir>{fonts}/cache</cachedir></fontconfig>"


def chromium() -> Path:
    """The executable."""
    installed = shutil.which("chromium")
    if installed:
        return Path(installed)
    if not UNPACKED.is_dir():
        _unpack()
    return UNPACKED / "chromium"


def environment(executable: Path) -> dict[str, str]:
    """What it is to be started with: the libraries and the font from the package, where there are no others."""
    more: dict[str, str] = {}
    if (
        executable.parent == UNPACKED
        and "not found" in subprocess.run(["ldd", executable], capture_output=True, text=True).stdout
    ):
        more["LD_LIBRARY_PATH"] = str(UNPACKED / "al2023/lib")
    if executable.parent == UNPACKED and not any(SYSTEM_FONTS.rglob("*.[ot]tf")):
        more["FONTCONFIG_FILE"] = str(UNPACKED / "fonts/own.conf")
    return {**os.environ, **more}


def _unpack() -> None:
    """Into a directory of its own, renamed when it is whole: several workers may begin at the same time."""
    if not PACKAGE.is_dir():
        raise FileNotFoundError(f"{PACKAGE} is missing: run `make clients`, which installs what package-lock.json says")
    place = Path(tempfile.mkdtemp(prefix=".chromium-", dir=MODULES))
    script = shutil.copy(Path(__file__).with_name("unpack.mjs"), place)  # it finds the package from in there
    subprocess.run([NODE, script, PACKAGE / "bin"], env={**os.environ, "TMPDIR": str(place)}, check=True, timeout=110)
    fonts = UNPACKED / "fonts/fonts"
    (place / "fonts/own.conf").write_text(FONTS_CONF.format(fonts=fonts))
    try:
        place.rename(UNPACKED)
    except OSError:  # another worker was first
        shutil.rmtree(place)
