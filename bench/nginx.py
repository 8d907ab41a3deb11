"""An nginx to measure against: the system's, else the distribution's package, unpacked into bench/out.

No root is needed: `apt-get download` fetches the package (with lists of its own, where the system has none), `dpkg-deb -x`
unpacks it. Other builds are not taken: a static one from a wheel needed three times the CPU of the distribution's for the
same small answer, and a slow yardstick flatters everybody.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

__all__ = ["find", "usable"]

_SECONDS = 300


def find(folder: Path) -> Path | None:
    """The executable; None if there is none, and none to be had."""
    system = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if system:
        return Path(system)
    unpacked = folder / "usr/sbin/nginx"
    if not unpacked.exists() and shutil.which("apt-get") and shutil.which("dpkg-deb"):
        _fetch(folder)
    return unpacked if usable(unpacked) else None


def usable(executable: Path) -> bool:
    """Does it run here, with the libraries that are here?"""
    return executable.exists() and _ran([str(executable), "-v"], executable.parent)


def _fetch(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    own = [f"-oDir::State={folder / 'apt/state'}", f"-oDir::Cache={folder / 'apt/cache'}"]
    if not _ran(["apt-get", "download", "nginx"], folder):
        (folder / "apt/state/lists/partial").mkdir(parents=True, exist_ok=True)
        (folder / "apt/cache/archives/partial").mkdir(parents=True, exist_ok=True)
        _ran(["apt-get", *own, "update"], folder)
        _ran(["apt-get", *own, "download", "nginx"], folder)
    for package in folder.glob("nginx_*.deb"):
        _ran(["dpkg-deb", "-x", package.name, "."], folder)


def _ran(command: list[str], folder: Path) -> bool:
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=_SECONDS).returncode == 0
