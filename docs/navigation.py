"""The pages of the docs in their order, as `navigation.toml` says it: for index.md, for the site and for llms.txt.

The site also shows some pages from outside of `docs`, below `project/`: those of the repository's root, and the READMEs that
pages of the docs link to.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent
BEGIN, END = "<!-- pages: written by docs/generate.py -->", "<!-- end of pages -->"
PROJECT = {
    "install.md": ROOT / "README.md",
    **{f"project/{name}.md": ROOT / f"{name}.md" for name in ("ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY")},
    "project/examples.md": ROOT / "examples/README.md",
    "project/plugin.md": ROOT / "plugin/README.md",
    "project/changelog-fragments.md": ROOT / "changelog.d/README.md",
    "project/golden-files.md": ROOT / "tests/golden/README.md",
}
"""Pages of the site that stand outside of `docs`."""


class Group(NamedTuple):
    """Pages under one headline. `pages` are names in the site, with what index.md says beside the title."""

    part: str
    title: str
    pages: dict[str, str]

    @property
    def readme(self) -> str:
        """The page that lists the others of the group, if it has one."""
        return next((name for name in self.pages if name.endswith("/README.md")), "")


def files() -> dict[str, Path]:
    """Every page of the site: its name there, and its file."""
    return {**{path.relative_to(HERE).as_posix(): path for path in sorted(HERE.rglob("*.md"))}, **PROJECT}


def groups() -> list[Group]:
    """All groups, each page in one of them. A pattern takes the pages that no line names."""
    said: dict[str, dict[str, dict[str, str]]] = tomllib.loads((HERE / "navigation.toml").read_text("utf-8"))
    made = [Group(part, title, lines) for part, parts in said.items() for title, lines in parts.items()]
    named = {name for group in made for name in group.pages}
    known = files()
    left = [name for name in known if name not in named]
    whole = [group._replace(pages=dict(_expanded(group.pages, known, left))) for group in made]
    return [group for group in whole if group.pages]


def _expanded(lines: dict[str, str], known: Container[str], left: list[str]) -> Iterator[tuple[str, str]]:
    for name, remark in lines.items():
        if "*" not in name:
            yield from [(name, remark)] if name in known else ()
        else:  # `*.md` means the folder itself, as in a shell
            yield from ((each, remark) for each in left if fnmatch(each, name) and each.count("/") == name.count("/"))


def title_of(path: Path) -> str:
    """The first headline, without its marks."""
    if path == ROOT / "README.md":
        return "Install clew, and try it"  # its headline is the project's name, as on index.md
    found = re.search(r"^# (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return found[1].replace("`", "") if found else path.stem


def summary_of(path: Path) -> str:
    """The first sentence below the headline, for lists that machines read; "" if the page begins otherwise."""
    text = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    below = text.partition("\n# ")[2] or text
    found = re.search(r"\n\n(?=\w|`|\*\*|\[)(.+?)(?:\n\n|$)", below, re.DOTALL)
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(found[1].split())) if found else ""
    return re.split(r"(?<=[.:!?]) ", text)[0].rstrip(":")


def index_list() -> str:
    """The list of index.md: every group with its pages; a group with a README as one line."""
    parts: list[str] = []
    known = files()
    for group in groups():
        if not parts or f"## {group.part}\n" not in parts:
            parts.append(f"## {group.part}\n")
        shown = [group.readme] if group.readme else [name for name in group.pages if name != "index.md"]
        links = [f"- [{title_of(known[name])}]({_link(name)}){_beside(group.pages[name])}" for name in shown]
        heading = f"**{group.title}**\n\n" if group.title != group.part else ""
        parts.append(heading + "\n".join(links) + "\n")
    return "\n".join(parts)


def _link(name: str) -> str:
    return Path("..", PROJECT[name].relative_to(ROOT)).as_posix() if name in PROJECT else name


def _beside(remark: str) -> str:
    return f": {remark}" if remark else ""


def index_page() -> str:
    """index.md with its list as it should be."""
    return with_list((HERE / "index.md").read_text("utf-8"), index_list())


def symptoms_page() -> str:
    """The list of symptoms with its list as it should be."""
    known = files()
    names = [name for name in known if name.startswith("symptoms/") and not name.endswith("README.md")]
    titles = sorted((title_of(known[name]), name) for name in names)
    made = "\n".join(f"- [{title}]({name.removeprefix('symptoms/')})" for title, name in titles)
    return with_list(known["symptoms/README.md"].read_text("utf-8"), made)


def with_list(text: str, made: str) -> str:
    """The page with what is made between its marks."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n\n{made.strip()}\n\n{END}{rest.partition(END)[2]}"
