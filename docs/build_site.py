"""Builds the docs as a site: `python docs/build_site.py [FOLDER]`, by default in build/site. `make docs` installs its tools.

The pages are copied into a tree of their own, with the links that lead out of `docs` changed. Zensical makes HTML of it.
Then each page's Markdown, `llms.txt` and `llms-full.txt` are added. The site loads nothing from other hosts, and can be
opened from a folder. At the end every link, every page in the search and the shape of every page are checked.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # so that this file can be loaded from any folder

from navigation import files, groups, title_of  # noqa: E402  (found by the line above)
from site_check import problems  # noqa: E402
from site_pages import full_text, page_text, short_text  # noqa: E402

SHIM = '<script src="https://unpkg.com/iframe-worker/shim" type="text/javascript"></script>'
"""What Zensical adds for pages that are opened from files. It would come from a host."""
WORKER = "assets/javascripts/file-worker.js"


def build(site: Path) -> list[str]:
    """Write the site. Gives what is wrong with it."""
    texts = {name: page_text(name, path) for name, path in files().items()}
    with tempfile.TemporaryDirectory(prefix="clew-docs-") as folder:
        tree = Path(folder)
        _write_tree(tree / "docs", texts)
        (tree / "zensical.toml").write_text(_settings(), "utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--clean"]
        subprocess.run(command, cwd=tree, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(tree / "site", site)
    _replace_worker(site)
    for name, text in texts.items():
        (site / name).write_text(text, "utf-8")
    (site / "llms.txt").write_text(short_text(), "utf-8")
    (site / "llms-full.txt").write_text(full_text(texts), "utf-8")
    return list(problems(site, texts))


def _write_tree(tree: Path, texts: dict[str, str]) -> None:
    shutil.copytree(HERE / "images", tree / "images")
    for name, text in texts.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, "utf-8")


def _settings() -> str:
    settings = (HERE / "theme" / "zensical.toml").read_text("utf-8")
    return settings.replace("[project]\n", f"[project]\nnav = [{', '.join(_parts())}]\n", 1)


def _parts() -> Iterator[str]:
    """The navigation as TOML. A part with one group is that group."""
    known = files()
    parts: dict[str, list[str]] = {}
    for group in groups():
        lines = [f"{{{json.dumps(title_of(known[name]))} = {json.dumps(name)}}}" for name in group.pages]
        alone = sum(each.part == group.part for each in groups()) == 1
        made = lines if alone else [f"{{{json.dumps(group.title)} = [{', '.join(lines)}]}}"]
        parts.setdefault(group.part, []).extend(made)
    return (f"{{{json.dumps(part)} = [{', '.join(made)}]}}" for part, made in parts.items())


def _replace_worker(site: Path) -> None:
    shutil.copy(HERE / "theme" / "file-worker.js", site / WORKER)
    for page in site.rglob("*.html"):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        page.write_text(page.read_text("utf-8").replace(SHIM, f'<script src="{up}{WORKER}"></script>'), "utf-8")


def main(arguments: Sequence[str]) -> int:
    site = Path(arguments[0]) if arguments else HERE.parent / "build" / "site"
    wrong = build(site)
    sys.stdout.write("".join(f"{each}\n" for each in wrong))
    sys.stdout.write(f"{len(files())} pages in {site}; open {site / 'index.html'}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
