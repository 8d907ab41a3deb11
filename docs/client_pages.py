"""A page for each client of `clients.toml`: how to start it, what is kept, its limits, and the tested versions."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from navigation import HERE, ROOT

from clew.gateway.client import codex_config, opencode_config
from clew.gateway.editors import EDITORS, editor_notes, editor_text
from clew.settings.load import load_given
from clew.settings.own_keys import KEY_VARIABLE

Row = dict[str, Any]
URL: Final = "http://127.0.0.1:2539"
DIALECTS: Final = {
    "anthropic": "the Messages API",
    "openai-responses": "the Responses API",
    "openai-chat": "Chat Completions",
    "gemini": "Gemini's API",
}
HEAD = """# Clients

Every client of the Messages API, the Responses API or Chat Completions can use clew. The tests run these, through a gateway
whose backend changes in the middle of a tool loop. Of the editors, only the settings are tested. Each page says how to start
the client, what is kept of its reasoning, and what does not work.

| client | speaks | tested |
| --- | --- | --- |
"""


def rows() -> dict[str, Row]:
    return tomllib.loads((HERE / "clients.toml").read_text("utf-8"))


def client_pages() -> dict[str, str]:
    """Each page by its name in the docs."""
    lines = "".join(f"| [{row['title']}]({name}.md) | {_speaks(row)} | {_versions(row)} |\n" for name, row in rows().items())
    return {"clients/README.md": HEAD + lines} | {
        f"clients/{name}.md": "\n".join(_page(row)).strip() + "\n" for name, row in rows().items()
    }


def _page(row: Row) -> Iterator[str]:
    yield f"# {row['title']}\n"
    yield f"It speaks {_speaks(row)}, and keeps its own settings: clew writes none of its files.\n"
    if row.get("start"):
        yield f"## Start it\n\n```console\n{row['start']}\n```\n"
        yield "A gateway starts with it and ends with it. [Switch the backend](../howto/switch-the-backend.md) at any time:"
        yield "`clew use NAME` in another terminal.\n"
    yield "## With a gateway that runs already\n"
    yield from _setup(row)
    yield f"## What is kept\n\n{row['kept']}\n"
    if row["limits"]:
        yield "## Known limits\n"
        yield "\n".join(f"- {each}" for each in row["limits"]) + "\n"
    yield "## Tested\n"
    where = f" by `{row['tests']}`" if row["tests"] else ""
    yield f"{_versions(row)}{where}. Something does not work? See the [symptoms](../symptoms/README.md).\n"
    page, _, anchor = row["more"].partition("#")
    more = re.search(r"^# (.+)$", (HERE / page).read_text("utf-8"), re.MULTILINE)
    assert more is not None
    yield f"More: [{more[1]}](../{page}{f'#{anchor}' if anchor else ''})."


def _setup(row: Row) -> Iterator[str]:
    yield from SETUPS.get(row["setup"], _editor_setup)(row)


def _shell_setup(row: Row) -> Iterator[str]:
    yield 'In the shell where you start it:\n\n```console\neval "$(clew env --shell)"\n```\n'


def _code_setup(row: Row) -> Iterator[str]:
    yield from _shell_setup(row)
    yield f"And in the program:\n\n```js\n{row['code'].strip()}\n```\n"


def _codex_setup(row: Row) -> Iterator[str]:
    yield "`clew env --codex` prints this for `~/.codex/config.toml`. Its first line belongs to the top of the file,"
    yield f"before all tables. Start it where `{KEY_VARIABLE}` holds the gateway's key; the command prints that line too.\n"
    yield f"```text\n{codex_config(URL, KEY_VARIABLE)}```\n"


def _opencode_setup(row: Row) -> Iterator[str]:
    yield "`clew env --opencode` prints this for `opencode.json`. Add the models that you want under `models`."
    yield f"Start opencode where `{KEY_VARIABLE}` holds the gateway's key: the command also prints the line for that.\n"
    yield f"```json\n{opencode_config(URL, KEY_VARIABLE)}```\n"


def _editor_setup(row: Row) -> Iterator[str]:
    """The settings as `clew env --ide` prints them on Linux."""
    editor, key_file = EDITORS[row["setup"]], Path("/home/me/.local/share/clew/key")
    settings = load_given({"claude": {"preset": "anthropic", "key": "a-key"}}, {}).settings
    yield f"`clew env --ide {row['setup']}` prints what to paste, and where. On Linux:\n"
    yield f"```text\n{editor_text(editor, settings, URL, '', key_file, 'linux')}```\n"
    notes = [note for note in editor_notes(editor, settings, "", KEY_VARIABLE) if "WSL" not in note]
    yield " ".join(notes) + "\n"
    yield "The gateway must run: `clew serve`, or [a service](../howto/run-in-production.md#as-a-service-of-a-machine).\n"


SETUPS: Final[dict[str, Callable[[Row], Iterator[str]]]] = {
    "shell": _shell_setup,
    "code": _code_setup,
    "codex": _codex_setup,
    "opencode": _opencode_setup,
}


def _speaks(row: Row) -> str:
    return " and ".join(
        filter(None, (", ".join(DIALECTS[each] for each in row["speaks"][:-1]), DIALECTS[row["speaks"][-1]]))
    )


def _versions(row: Row) -> str:
    found = [f"{name} {version}" for name in row["packages"] for version in _pinned()[name]]
    return ", ".join(found) or "its settings only"


@cache
def _pinned() -> dict[str, list[str]]:
    """The versions of each package that the tests install."""
    found: dict[str, list[str]] = {}
    package = json.loads((ROOT / "tests/clients/package.json").read_text("utf-8"))
    for name, version in {**package["dependencies"], **package["optionalDependencies"]}.items():
        if several := re.fullmatch(r"(claude-code)-([\d.]+)-linux-x64", name):
            found.setdefault(several[1], []).append(several[2])
        else:
            found.setdefault(name.removesuffix("-linux-x64"), []).append(re.findall(r"\d+(?:\.\d+)+", version)[-1])
    for file in ("clients", "dev"):
        pins = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / f"requirements/{file}.txt").read_text("utf-8"), re.MULTILINE)
        for name, version in pins:
            if version not in found.setdefault(name, []):
                found[name].append(version)
    return found
