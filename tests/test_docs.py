"""The docs speak true: examples run, links lead somewhere, generated pages are what the tables say."""

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs

import clew
from clew.cli import COMMANDS, main
from clew.model.facts import rules
from clew.model.facts.models import merge_overrides, profile_for
from clew.settings.document import Document
from clew.settings.load import load
from clew.simulator.script import parse as parse_scenario
from tests.build import assistant, raw, text, thinking, user
from tests.test_manifest import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("changelog.d/*.md")])
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PART = re.compile(r"\]\(([^)\s#]*)#([^)\s]+)\)")
LINK = re.compile(r"\[[^\]]+\]\(([^)#]+)(?:#[^)]*)?\)")
KINDS = {"added", "changed", "fixed", "removed", "security"}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(language: str) -> list[tuple[str, str]]:
    """Each page that has fenced blocks of this language, with all of them, in order, as one text."""
    found = {name_of(page): [code for kind, code in FENCE.findall(page.read_text()) if kind == language] for page in PAGES}
    return [(page, "\n".join(codes)) for page, codes in found.items() if codes]


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_what_the_tables_say(generate) -> None:
    stale = [name_of(path) for path, text in generate.pages().items() if not path.exists() or path.read_text() != text]
    assert stale == [], "run `python docs/generate.py`"


def test_the_reference_says_something_of_all_that_a_public_name_has(generate) -> None:
    from python_page import members  # found by the loading of `generate`

    kinds = [kind for name in clew.__all__ if isinstance(kind := getattr(clew, name), type)]
    assert [f"{kind.__name__}.{name}" for kind in kinds for name, said in members(kind) if not said] == []
    page = (ROOT / "docs/reference/python.md").read_text()
    assert "`ask(content: Content)`" in page
    assert "on_overflow: OnOverflow = 'error'" in page
    assert "Agent(\n    *,\n    output: Any = None,\n    name: str = 'agent',\n" in page, (
        "keywords are named, not their table"
    )


def test_a_folder_of_made_pages_has_no_other_page(generate) -> None:
    made = generate.pages()
    for folder in (ROOT / "docs" / name for name in ("reference", "clients", "backends")):
        assert sorted(folder.glob("*")) == sorted(path for path in made if path.parent == folder)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    start = _start(page)
    targets = [target for target in LINK.findall(text) if "://" not in target]
    assert [target for target in targets if not (start / target).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_to_a_part_of_a_page_leads_to_a_heading(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    linked = [(target, part) for target, part in PART.findall(text) if "://" not in target]
    wrong = [(target, part) for target, part in linked if part not in _parts(_start(page) / target if target else page)]
    assert wrong == []


def _start(page: Path) -> Path:
    """Where links of a page begin. Fragments of the changelog become a part of a page at the root."""
    return ROOT if page.parent.name == "changelog.d" and page.stem != "README" else page.parent


@cache
def _parts(page: Path) -> frozenset[str]:
    """The names by which links call the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    heads = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head) for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    return frozenset(re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads)


def test_every_page_of_the_docs_can_be_reached_from_the_index() -> None:
    seen = {ROOT / "docs/index.md"}
    while new := {linked for page in seen for linked in _linked(page)} - seen:
        seen |= new
    assert [name_of(page) for page in PAGES if page.is_relative_to(ROOT / "docs") and page not in seen] == []


def _linked(page: Path) -> Iterator[Path]:
    for target in LINK.findall(page.read_text()):
        path = (page.parent / target).resolve()
        if path.suffix == ".md" and path.exists():
            yield path


def test_the_architecture_names_every_folder_of_the_sources() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    inits = [path.relative_to(ROOT / "src/clew") for path in sorted((ROOT / "src/clew").rglob("*/__init__.py"))]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE))
    assert len(inits) > 30
    assert [str(path) for path in inits if path.parts[0] not in rows] == []
    assert [str(path) for path in inits if len(path.parts) > 2 and f"`{path.parts[-2]}/`" not in rows[path.parts[0]]] == []


def test_the_architecture_names_every_folder_around_the_sources() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    assert [name for name in _folders(ROOT) - {"src", "build", "dist"} if f"| `{name}` |" not in page] == []
    assert [name for name in _folders(ROOT / "tests") if f"`{name}`" not in page] == []


def test_every_name_on_the_way_of_a_request_exists_and_it_has_at_most_25_steps() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    way = page.partition("## The way of a request")[2].partition("\n## ")[0]
    names = re.findall(r"`([a-z_]+(?:\.\w+)+)`", way)
    assert len(names) > 25
    assert 10 < len(re.findall(r"^\d+\. ", way, re.MULTILINE)) <= 25
    assert [name for name in names if not _exists(name)] == []


def _exists(name: str) -> bool:
    """A module, or a name in one, under `clew`."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(["clew", *parts[:cut]]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            found = getattr(found, attribute, None)
        return found is not None
    return False


def _folders(place: Path) -> set[str]:
    return {path.name for path in place.iterdir() if path.is_dir() and path.name[0] not in "._"}


def test_the_reference_names_every_command() -> None:
    reference = (ROOT / "docs/reference/cli.md").read_text()
    assert [name for name in COMMANDS if f"\n## clew {name}\n" not in reference] == []


def test_the_readme_fits_two_screens_and_says_how_to_try_and_test_it() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 2 * 50
    assert {"make run", "make test"} <= set(re.findall(r"make \w+", readme))
    assert "CLEW_HOME=$PWD/.demo clew serve --demo" in readme, "as `make run` does it"


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"`make ([a-z]+)`", page.read_text())}
    assert named <= targets
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    assert {"run", "test", "check", "soak", "bench", "figures", "golden", "clients", "docs", "lock"} == set(
        re.findall(r"^\| `make ([a-z]+)`", contributing, re.M)
    )


def test_every_rule_that_a_page_names_exists() -> None:
    text = "\n".join(page.read_text() for page in PAGES)
    named = set(re.findall(r"\bR\d+\.[a-z0-9-]+\b", text)) - {"R99.name"}
    assert named
    assert named <= set(rules())


def test_a_changelog_fragment_has_a_kind() -> None:
    fragments = [path for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert [path.name for path in fragments if path.suffixes[-2:] not in [[f".{kind}", ".md"] for kind in KINDS]] == []


def test_a_decision_has_a_date_a_status_and_its_three_parts() -> None:
    files = [path for path in (ROOT / "docs/decisions").glob("*.md") if path.name != "README.md"]
    assert files
    wrong = [path.name for path in files if not re.fullmatch(r"\d{4}-\d\d-\d\d-[a-z0-9-]+\.md", path.name)]
    parts = ("*Status: ", "**Context.**", "**Decision.**", "**Consequences.**")
    assert wrong + [path.name for path in files if any(part not in path.read_text() for part in parts)] == []


def test_the_list_of_decisions_has_each_one_once_under_its_title() -> None:
    folder = ROOT / "docs/decisions"
    listed = re.findall(r"^- \[(.+)\]\((.+)\)$", (folder / "README.md").read_text(), re.MULTILINE)
    files = [path for path in folder.glob("*.md") if path.name != "README.md"]
    titles = [(path.read_text().partition("\n")[0].removeprefix("# "), path.name) for path in files]
    assert sorted(listed) == sorted(titles)


def test_the_violation_that_is_shown_is_what_check_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = FENCE.search((ROOT / "docs/howto/read-a-violation.md").read_text())
    assert shown is not None
    command, _, printed = shown[2].partition("\n")
    (tmp_path / "request.json").write_bytes(
        raw(user("Why?"), assistant(thinking("Hm.", ""), text("Because.")), user("Really?"))
    )
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, command.removeprefix("$ clew ").split())
    assert result.stdout[: len(printed)] == printed


@pytest.mark.parametrize(("page", "code"), blocks("scenario"))
def test_scenarios_in_the_docs_can_be_read(page: str, code: str) -> None:
    assert parse_scenario(code, page).turns


TOML = [
    (page, code)
    for page, text in ((name_of(page), page.read_text()) for page in PAGES)
    for kind, code in FENCE.findall(text)
    if kind == "toml"
]
"""Each block by itself: a page may say the same table twice."""


def is_config(code: str) -> bool:
    return bool(tomllib.loads(code).keys() & {field.name for field in structs.fields(Document)})


@pytest.mark.parametrize(("page", "code"), [block for block in TOML if not is_config(block[1])])
def test_models_in_the_docs_can_be_read(page: str, code: str) -> None:
    tables = tomllib.loads(code)
    rows = merge_overrides(tables, file=page)
    assert [profile_for(f"us.anthropic.{name}-20261201-v1:0", rows).id for name in tables] == list(tables)


@pytest.mark.parametrize(("page", "code"), [block for block in TOML if is_config(block[1])])
def test_a_config_in_the_docs_can_be_used(page: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "clew.toml").write_text(code)
    assert load(tmp_path / "clew.toml", {}, keys=False).settings.backends


PYTHON = blocks("python")


@pytest.mark.slow
def test_tests_in_the_docs_pass(tmp_path: Path) -> None:
    """Under pytest, with the plugin that clew installs; all in one process, because each takes a second to import what it needs."""
    for page, code in PYTHON:
        if "def test_" in code:
            (tmp_path / f"test_{re.sub(r'[^a-z]+', '_', page)}.py").write_text(code)
    assert len(list(tmp_path.iterdir())) > 5
    _run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path), folder=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("page", "code"), [(page, code) for page, code in PYTHON if "def test_" not in code])
def test_python_in_the_docs_runs(page: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text(code)
    _run_python("page.py", folder=tmp_path)


def _run_python(*arguments: str, folder: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "PYTEST_"))}
    ran = subprocess.run([sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=250)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[int]:
    """What `make run` starts, on a free port and in a home of its own. Gives the port."""
    shown = subprocess.run(
        ["make", "--no-print-directory", "-n", "-o", ".venv/.ready", "run"], cwd=ROOT, capture_output=True, text=True
    )
    command = shown.stdout.strip().splitlines()[-1]
    assert command == f"exec env CLEW_HOME={ROOT}/.demo .venv/bin/clew serve --demo", shown
    with serving(tmp_path / ".demo", "--demo") as gateway:
        yield int(gateway["url"].rpartition(":")[2])


@contextmanager
def serving(home: Path, *options: str) -> Iterator[dict[str, str]]:
    executable = Path(sys.executable).with_name("clew")
    command = [executable, "serve", *options, "--port", "0", "--admin-port", "0", "--json"]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "CLEW_"))}
    process = subprocess.Popen(
        command, env={**env, "CLEW_HOME": str(home)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.stdout.close()
        assert process.wait(120) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "own",
    [
        pytest.param({}, marks=pytest.mark.soak, id="no-key"),
        pytest.param({"ANTHROPIC_API_KEY": "sk-ant-of-a-reader"}, id="a-vendors-key-is-set"),
    ],
)
def test_the_demo_in_the_readme_works(demo: int, tmp_path: Path, own: dict[str, str]) -> None:
    """The block as it stands, in another folder."""
    [(_, code)] = [(page, code) for page, code in blocks("bash") if page == "README.md"]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "CLEW_"))}
    path = {"PATH": f"{Path(sys.executable).parent}:{env['PATH']}"}
    command = ["bash", "-euo", "pipefail", "-c", code]
    ran = subprocess.run(command, cwd=tmp_path, env=env | path | own, capture_output=True, text=True, timeout=150)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [line.split(",")[0] for line in ran.stderr.splitlines() if " tokens in" in line] == [
        "claude",
        "deepseek",
        "claude",
    ]
    assert "left out messages.1.content.0: made by claude" in ran.stdout
    assert "thinking: 1 kept, 1 left out" in ran.stdout
    assert "as claude (claude-sonnet-5-5) would get it: 1 change" in ran.stdout


@pytest.mark.slow
def test_the_commands_for_your_own_keys_in_the_readme_work(tmp_path: Path) -> None:
    """As they stand, with a client that only says where it would go: the vendors are not asked."""
    [block] = [code for code in re.findall(r"^```console\n(.*?)^```$", readme(), re.M | re.S) if "clew run" in code]
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "claude").write_text('#!/bin/sh\necho "at $ANTHROPIC_BASE_URL"\n')
    (programs / "claude").chmod(0o755)
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {"PATH": path, "HOME": str(tmp_path), "CLEW_HOME": str(tmp_path / "home")}
    command = ["bash", "-euo", "pipefail", "-c", block.replace("…", "sk-of-a-reader")]
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=250)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(r"^at http://127\.0\.0\.1:\d+$", ran.stdout, re.M)
    assert "glm is active (clew use)" in ran.stdout


def test_every_command_of_the_readme_is_executed_by_a_test() -> None:
    """The demo and the block with your own keys above; the installers by `release/first_minutes.py`, from a clone and by pipx."""
    kinds = [(kind, code.split()[0]) for kind, code in FENCE.findall(readme())]
    assert kinds == [("console", "uv"), ("console", "CLEW_HOME=$PWD/.demo"), ("bash", "export"), ("console", "export")]
    minutes = (ROOT / "release/first_minutes.py").read_text()
    assert '[_uv(), "tool", "install"' in minutes
    assert '"pipx", "install"' in minutes


def readme() -> str:
    return (ROOT / "README.md").read_text()


def test_every_shell_block_of_the_docs_is_the_readmes() -> None:
    """`bash` means executed here; what is only shown is `console`."""
    assert [page for page, _ in blocks("bash")] == ["README.md"]
