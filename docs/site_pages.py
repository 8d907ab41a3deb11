"""The texts of the site: each page as Markdown, with links that hold there, and the two files for language models."""

from __future__ import annotations

import os
import re
from pathlib import Path

from navigation import HERE, files, groups, summary_of, title_of

_TEXT = re.compile(
    r"^```.*?^```$|(?P<mark>!?)\[(?P<words>(?:[^\[\]]|\[[^\]]*\])+)\]\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)|`[^`\n]*`",
    re.MULTILINE | re.DOTALL,
)
"""Code, or a link, whose words may have code in them."""
_CALLS = re.compile(r"^```console\n(?=(?:(?!\$ |```).*\n)*```$)", re.MULTILINE)
"""A block of commands that shows no prompt, so it has nothing that was printed."""
_COMMENT = re.compile(r"<!--.*?-->\n*", re.DOTALL)
SUMMARY = (
    "Switch models in the middle of a conversation, and keep the reasoning: a gateway, a library and a strict simulator."
)


def page_text(name: str, path: Path) -> str:
    """The page as the site has it: `name` is where it stands there, `path` where it is from."""
    text = _CALLS.sub("```bash\n", _COMMENT.sub("", path.read_text("utf-8")))
    return _TEXT.sub(lambda found: _link(found, name, path) if found["words"] else found[0], text).lstrip()


def _link(found: re.Match[str], name: str, path: Path) -> str:
    """The link with a target that holds in the site, or its words alone where the site has no such page."""
    target, words = found["target"], found["words"]
    if not target or "://" in target or target.startswith("mailto:"):
        return found[0]
    place = Path(os.path.normpath(path.parent / target))
    there = _names().get(place)
    if there is None and place.is_relative_to(HERE / "images"):
        there = place.relative_to(HERE).as_posix()
    if there is None:
        return words
    return f"{found['mark']}[{words}]({os.path.relpath(there, Path(name).parent)}{found['anchor'] or ''})"


def _names() -> dict[Path, str]:
    return {path: name for name, path in files().items()}


def short_text() -> str:
    """llms.txt: each page with its first sentence, as links to Markdown."""
    known = files()
    lines = [f"# clew\n\n> {SUMMARY}\n"]
    part = ""
    for group in groups():
        if group.part != part:
            part = group.part
            lines.append(f"\n## {part}\n\n")
        for name in group.pages:
            about = summary_of(known[name])
            lines.append(f"- [{title_of(known[name])}]({name}){f': {about}' if about else ''}\n")
    return "".join(lines)


def full_text(texts: dict[str, str]) -> str:
    """llms-full.txt: all pages but the decisions, one after the other, in the order of the navigation."""
    names = [name for group in groups() if group.part != "Decisions" for name in group.pages]
    return "\n".join(f"<!-- {name} -->\n\n{texts[name].strip()}\n" for name in names)
