"""Other builds of Python: an environment for one, made once and kept in bench/out, with what clew needs and nothing else.

clew's code is read from the checkout, so it may change afterwards. A column shows what an interpreter's build costs or
spares: an optimised one (`--enable-optimizations`, and link-time optimisation) is what a distribution or a container image
ships, and what a version manager compiles by itself often is not.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["ROOT", "environment", "named"]

ROOT = Path(__file__).parent.parent
_SECONDS = 600
_VERSION = "import platform; print(platform.python_version())"


def named(python: Path) -> str:
    """What the column is called."""
    return f"clew on {python}, {_run(str(python), '-c', _VERSION).strip()}"


def environment(python: Path, folder: Path) -> Path:
    """Its interpreter."""
    home = folder / f"python-{str(python.resolve()).strip('/').replace('/', '-')}"
    made = home / "bin" / "python"
    if not (home / "complete").exists():
        _run(str(python), "-m", "venv", "--clear", str(home))
        _run(str(made), "-m", "pip", "install", "--quiet", "-r", str(ROOT / "requirements" / "run.txt"))
        _run(str(made), "-m", "pip", "install", "--quiet", "--no-deps", str(ROOT))
        (home / "complete").touch()
    return made


def _run(*command: str) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    if ran.returncode:
        sys.exit(f"{' '.join(command)}:\n{ran.stdout[-1000:]}{ran.stderr[-1000:]}")
    return ran.stdout
