"""A release: its files, its changelog and its job, as far as that goes without credentials."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github" / "workflows" / "release.yml").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"release_{name}", ROOT / "release" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    environ = {**os.environ, "PYTHON": sys.executable}
    subprocess.run(["sh", ROOT / "release" / "build.sh", folder], env=environ, check=True, capture_output=True)
    return folder


# The files


@pytest.mark.slow
def test_the_wheel_and_the_sdist_hold_what_they_must_and_no_more(dist: Path) -> None:
    assert list(script("check_package").problems(dist)) == []


@pytest.mark.slow
def test_a_wheel_that_lacks_a_table_or_has_tests_is_refused(dist: Path, tmp_path: Path) -> None:
    check = script("check_package")
    wheel = next(dist.glob("*.whl"))
    shutil.copy(next(dist.glob("*.tar.gz")), tmp_path)
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(tmp_path / wheel.name, "w") as broken:
        for name in whole.namelist():
            if not name.endswith("presets.toml"):
                broken.writestr(name, whole.read(name))
        broken.writestr("tests/test_x.py", "")
    assert set(check.problems(tmp_path)) == {"the wheel lacks clew/backends/presets.toml", "the wheel has tests/test_x.py"}


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_wheel_runs_in_a_clean_environment(dist: Path, version: str) -> None:
    beside = sorted(Path(sys.base_prefix).parent.glob(f"{version}*/bin/python{version}"))  # as pyenv keeps them
    python = str(beside[-1]) if beside else shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "--version"], capture_output=True).returncode:
        pytest.skip(f"there is no Python {version} here")
    said = script("check_package").run_in_clean_environment(python, next(dist.glob("*.whl")))
    assert said == f"clew {PROJECT['version']}"


def test_the_man_page_and_the_completions_are_what_the_commands_say() -> None:
    made = script("shared_files").files()
    stale = [path.name for path, text in made.items() if not path.exists() or path.read_text() != text]
    assert stale == [], "run `python docs/generate.py`"
    page = next(text for path, text in made.items() if path.name == "clew.1")
    for name in ("serve", "store move", "keys add"):
        assert f'.SS "clew {name}' in page


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man here")
def test_the_man_page_can_be_read() -> None:
    page = ROOT / "release" / "share" / "man" / "man1" / "clew.1"
    environ = {**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, env=environ)
    assert (done.returncode, done.stderr) == (0, "")
    assert "clew serve" in done.stdout


# The changelog


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / "README.md").write_text("# Fragments\n")
    (tmp_path / "changelog.d" / "b.fixed.md").write_text("It no longer\nfails.\n")
    (tmp_path / "changelog.d" / "a.added.md").write_text("You can do [this](docs/index.md).\n")
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\nText.\n\n## 0.1 (not released yet)\n\nThe first.\n\n### Gateway\n\n- One.\n"
    )
    return tmp_path


def test_fragments_become_the_part_of_a_release(project: Path) -> None:
    changelog = script("changelog")
    assert changelog.main(["0.1.0", "2026-11-18", str(project)]) == 0
    first = (project / "CHANGELOG.md").read_text()
    assert first == (
        "# Changelog\n\nText.\n\n## 0.1.0 (2026-11-18)\n\nThe first.\n\n### Gateway\n\n- One.\n\n"
        "### Added\n\n- You can do [this](docs/index.md).\n\n### Fixed\n\n- It no longer\n  fails.\n"
    )
    assert [each.name for each in (project / "changelog.d").iterdir()] == ["README.md"]
    (project / "changelog.d" / "c.changed.md").write_text("Another.\n")
    assert changelog.main(["0.2.0", "2026-12-01", str(project)]) == 0
    text = (project / "CHANGELOG.md").read_text()
    assert text.index("## 0.2.0 (2026-12-01)\n\n### Changed\n\n- Another.\n\n## 0.1.0") > 0
    assert changelog.notes("0.2.0", project) == "### Changed\n\n- Another.\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["0.1", "2026-11-18"], "a version has the form 1.2.3"),
        (["0.1.0", "today"], "a version has the form 1.2.3"),
        (["--notes", "9.9.9"], "CHANGELOG.md has no part for 9.9.9"),
    ],
)
def test_a_release_that_cannot_be_is_refused(
    project: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (project / "CHANGELOG.md").read_text()
    assert script("changelog").main([*arguments, str(project)]) == 1
    assert said in capsys.readouterr().err
    assert (project / "CHANGELOG.md").read_text() == before


def test_the_changelog_of_the_project_can_be_released(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "changelog.d", tmp_path / "changelog.d")
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    changelog = script("changelog")
    changelog.collect(PROJECT["version"], "2026-11-18", tmp_path)
    assert len(changelog.notes(PROJECT["version"], tmp_path)) > 1000


# The job


def test_the_job_runs_scripts_that_exist_and_has_no_secret() -> None:
    named = re.findall(r"release/\w+\.(?:py|sh)", WORKFLOW)
    assert {*named} == {"release/changelog.py", "release/build.sh", "release/check_package.py"}
    assert all((ROOT / each).exists() for each in named)
    assert "secrets." not in WORKFLOW
    assert "id-token: write" in WORKFLOW
    pythons = re.search(r"python: \[(.+)\]", WORKFLOW)
    assert pythons is not None
    classified = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: 3." in each]
    assert set(classified) <= set(re.findall(r"[\d.]+", pythons[1]))


# The first minutes


@pytest.mark.slow
def test_a_new_user_gets_an_answer_with_and_without_keys_in_the_shell(dist: Path, tmp_path: Path) -> None:
    """By pip, with the packages of this environment. From a clone it is measured below; the soak has the ways that download more."""
    minutes = script("first_minutes")
    dependencies = Path(pytest.__file__).parents[1]
    found = minutes.measure("pip", tmp_path / "pip", next(dist.glob("*.whl")), dependencies)
    assert [(each.way, each.keys) for each in found] == [("pip", False), ("pip", True)]


@pytest.mark.slow
@pytest.mark.parametrize("way", [*(pytest.param(way, marks=pytest.mark.soak) for way in ("uv", "pipx", "pip")), "clone"])
def test_every_way_to_install_leads_to_an_answer(dist: Path, tmp_path: Path, way: str) -> None:
    from tests.numbers import note

    found = script("first_minutes").measure(way, tmp_path / way, next(dist.glob("*.whl")), None)
    note(f"seconds to the first answer ({way})", found[0].answer)
