"""Checks a wheel and an sdist before they are published: what is in them, what they say of themselves, and that clew runs.

Usage: python release/check_package.py DIST [PYTHON…]: the folder with both files, and interpreters. The wheel is put into
a clean environment of each of these, and clew is asked. Without an interpreter only the files are looked at.
"""

from __future__ import annotations

import email
import email.message
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDED = (
    "clew/py.typed",
    "clew/backends/presets.toml",
    "clew/model/facts/models.toml",
    "clew/model/facts/rules.toml",
    "clew/web/templates/",
    "clew/web/static/",
    "clew/simulator/scenarios/",
    ".data/data/share/man/man1/clew.1",
    ".data/data/share/bash-completion/completions/clew",
    ".data/data/share/zsh/site-functions/_clew",
    ".data/data/share/fish/vendor_completions.d/clew.fish",
)
"""What a wheel without it would be broken, or poorer."""
NOWHERE = re.compile(r"(^|/)(tests?/|bench/|\.git|node_modules/|__pycache__/|[^/]*\.pth$|[^/]*\.env$)")
"""What must not be in a wheel."""


def problems(dist: Path) -> Iterator[str]:
    """Everything that is wrong with the files."""
    wheels, sdists = sorted(dist.glob("*.whl")), sorted(dist.glob("*.tar.gz"))
    if (len(wheels), len(sdists)) != (1, 1):
        yield f"{dist} has {len(wheels)} wheels and {len(sdists)} sdists, and must have one of each"
        return
    with zipfile.ZipFile(wheels[0]) as wheel:
        names = wheel.namelist()
        yield from _wheel_problems(names)
        metadata = email.message_from_bytes(wheel.read(next(name for name in names if name.endswith(".dist-info/METADATA"))))
    yield from metadata_problems(metadata, wheels[0].name, sdists[0].name)
    with tarfile.open(sdists[0]) as sdist:
        yield from _sdist_problems(sdist.getnames())


def _wheel_problems(names: Sequence[str]) -> Iterator[str]:
    for needed in NEEDED:
        if not any(needed in name for name in names):
            yield f"the wheel lacks {needed}"
    for name in names:
        if NOWHERE.search(name):
            yield f"the wheel has {name}"
    source = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "clew").rglob("*") if path.is_file()}
    expected = {path for path in source if "__pycache__" not in path}
    for missing in sorted(expected - set(names)):
        yield f"the wheel lacks {missing}"


def _sdist_problems(names: Sequence[str]) -> Iterator[str]:
    inside = {name.partition("/")[2] for name in names}
    for needed in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "src/clew/__init__.py"):
        if needed not in inside:
            yield f"the sdist lacks {needed}"
    for name in sorted(inside):
        if name.startswith((".venv", "bench/out", "tests/clients/node_modules", ".git/")) or "__pycache__" in name:
            yield f"the sdist has {name}"


def metadata_problems(metadata: email.message.Message, wheel: str, sdist: str) -> Iterator[str]:
    """Whether the package says of itself what is so. There is no public address of the project yet, so it must name none."""
    version = metadata["Version"]
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f"{version} is not a version that is released"
    if not (wheel.startswith(f"clew-{version}-") and sdist == f"clew-{version}.tar.gz"):
        yield f"{wheel} and {sdist} are not both of version {version}"
    if metadata["Requires-Python"] != ">=3.11" or metadata["License-Expression"] != "Apache-2.0":
        yield "Requires-Python or License-Expression is not what the project says"
    if not str(metadata.get_payload()).startswith("# clew"):
        yield "the description is not the README"
    for url in metadata.get_all("Project-URL", []):
        yield f"{url}: take it out, or add it to what this script knows to be true"


def run_in_clean_environment(python: str, wheel: Path) -> str:
    """Install the wheel there, and ask `clew` a few things. Gives the version that it says."""
    with tempfile.TemporaryDirectory(prefix="clew-release-") as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        inner = Path(folder) / "bin"
        subprocess.run([inner / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel], check=True)
        environ = {"PATH": f"{inner}:/usr/bin:/bin", "HOME": folder, "CLEW_HOME": f"{folder}/home"}
        for command in (["clew", "--help"], ["clew", "config", "schema"], ["clew", "models", "--json"]):
            subprocess.run(command, env=environ, check=True, capture_output=True)
        imported = "import clew, clew.testing, clew.web, clew.admin, clew.store, clew.chat"
        subprocess.run([inner / "python", "-W", "error", "-c", imported], env=environ, check=True)
        said = subprocess.run(["clew", "--version"], env=environ, check=True, capture_output=True, text=True)
        return said.stdout.strip()


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    dist = Path(arguments[0])
    found = list(problems(dist))
    for problem in found:
        sys.stderr.write(f"{problem}\n")
    if found:
        return 1
    for python in arguments[1:]:
        sys.stdout.write(f"{python}: {run_in_clean_environment(python, next(dist.glob('*.whl')))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
