"""Makes the part of a release in CHANGELOG.md from the fragments in changelog.d, and deletes these.

Usage: python release/changelog.py VERSION DATE [ROOT]. With `--notes VERSION [ROOT]` it prints that part instead: the notes
of the release.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed", "security": "Security"}
UNRELEASED = re.compile(r"^## (\d+\.\d+)[^\n]*not released yet[^\n]*$", re.MULTILINE)


class ChangelogError(Exception):
    """Why no release can be made of what is there."""


def collect(version: str, date: str, root: Path) -> None:
    """A heading that says "not released yet" becomes that of this release; the fragments come behind what stands there."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version) or not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        raise ChangelogError("a version has the form 1.2.3, a date 2026-11-18")
    path, text = root / "CHANGELOG.md", (root / "CHANGELOG.md").read_text()
    if re.search(rf"^## {re.escape(version)} ", text, re.MULTILINE):
        raise ChangelogError(f"CHANGELOG.md has a part for {version} already")
    found = [each for each in sorted((root / "changelog.d").glob("*.md")) if each.name != "README.md"]
    strange = [each.name for each in found if each.name.split(".")[-2] not in KINDS]
    if strange:
        raise ChangelogError(f"{strange[0]} has no kind: name it SLUG.KIND.md, with one of {', '.join(KINDS)}")
    heading = f"## {version} ({date})"
    if UNRELEASED.search(text):
        before, after = _around_part(UNRELEASED.sub(heading, text, count=1), heading)
    else:
        at = text.find("\n## ")
        at = len(text) if at < 0 else at + 1
        before, after = f"{text[:at]}{heading}\n", f"\n{text[at:]}"
    path.write_text("\n\n".join(filter(None, (before.rstrip(), _sections(found).rstrip(), after.strip()))) + "\n")
    for each in found:
        each.unlink()


def _around_part(text: str, heading: str) -> tuple[str, str]:
    end = text.find("\n## ", text.index(heading) + len(heading))
    return (text, "") if end < 0 else (text[:end], text[end:])


def _sections(fragments: Sequence[Path]) -> str:
    parts: list[str] = []
    for kind, title in KINDS.items():
        texts = [each.read_text().strip() for each in fragments if each.name.endswith(f".{kind}.md")]
        if texts:
            items = [f"- {text.replace(chr(10), chr(10) + '  ')}" for text in texts]
            parts.append("\n".join([f"### {title}", "", *items, ""]))
    return "\n".join(parts)


def notes(version: str, root: Path) -> str:
    text = (root / "CHANGELOG.md").read_text()
    found = re.search(rf"^## {re.escape(version)} .*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ChangelogError(f"CHANGELOG.md has no part for {version}: run release/changelog.py {version} DATE first")
    return found[0].partition("\n")[2].strip() + "\n"


def main(arguments: Sequence[str]) -> int:
    if len(arguments) < 2:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    root = Path(arguments[2]) if len(arguments) > 2 else Path(__file__).parents[1]
    try:
        if arguments[0] == "--notes":
            sys.stdout.write(notes(arguments[1], root))
        else:
            collect(arguments[0], arguments[1], root)
    except ChangelogError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
