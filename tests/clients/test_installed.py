"""The clients are pinned by content, and the lock says nothing about where somebody's registry is."""

import json
import re

from tests.clients.installed import HERE, NEW, OLD

LOCK = (HERE / "package-lock.json").read_text()


def test_the_lock_knows_every_package_by_its_content_and_none_by_its_address() -> None:
    """A lock with addresses would send every developer to one registry."""
    packages = [entry for name, entry in json.loads(LOCK)["packages"].items() if name]

    assert [entry for entry in packages if "resolved" in entry or not entry["integrity"].startswith("sha512-")] == []
    assert re.findall(r"https?://[^/]*(?:npmjs|registry|mirror)[^/]*", LOCK) == []


def test_what_the_tests_ask_for_is_asked_for_exactly() -> None:
    """A range would be another client tomorrow; both Claude Codes and Codex are there for every platform."""
    asked = json.loads((HERE / "package.json").read_text())
    versions = {
        name: value.rpartition("@")[2] for name, value in {**asked["dependencies"], **asked["optionalDependencies"]}.items()
    }

    assert [
        name for name, version in versions.items() if not re.fullmatch(r"\d+\.\d+\.\d+(-(linux|darwin)-\w+)?", version)
    ] == []
    assert sorted(set(asked["optionalDependencies"])) == [
        *(
            f"{client}-{system}"
            for client in (f"claude-code-{OLD}", f"claude-code-{NEW}", "codex")
            for system in ("darwin-arm64", "linux-arm64", "linux-x64")
        ),
        "opencode-linux-x64",
    ]
