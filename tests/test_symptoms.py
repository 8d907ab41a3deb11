"""The pages by symptom, and the commands of all pages: what they quote is what clew says, and what they name exists."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from clew.cli import main
from tests.test_manifest import ROOT

SYMPTOMS = sorted(path for path in (ROOT / "docs/symptoms").glob("*.md") if path.name != "README.md")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHELL = re.compile(r"^```(?:console|bash|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S* )*(clew(?: .*)?)$")
QUOTED = {
    "no-valid-gateway-key": ["No valid gateway key."],
    "refused-every-key": [" refused every key that clew holds for it (", " come", ": correct it there."],
    "invalid-signature": ["Invalid `signature` in `thinking` block"],
    "thinking-cannot-be-modified": [
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
        "Expected `thinking` or `redacted_thinking`, but found `",
    ],
    "reasoning-content-is-missing": [
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index ",
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ],
    "port-is-in-use": [" is in use by ", "a client that calls port ", "another with ", ", or a free one with "],
    "gateway-has-not-applied-it": [" has not applied it: ", "  To fix it: "],
    "limits-429": [
        "The limit of ",
        " is reached: ",
        " leaves no room for this request, which may use ",
        " is overloaded or over its rate limit (",
    ],
    "prompt-is-too-long": ["prompt is too long: ", " tokens > ", " maximum"],
    "model-not-found": ["It has no model of this name: `clew models` lists the models"],
    "tool-result-is-missing": [
        "`tool_use` ids were found without `tool_result` blocks immediately after: ",
        "No tool output found for ",
    ],
    "settings-cannot-be-used": ["; the file is not used"],
}
"""What clew or its simulator says, as it stands in the sources, for each page that quotes it."""
QUOTED_OF_CLIENTS = {
    "claude-code-not-logged-in": ("claude-code-2.1.325-linux-x64", "Not logged in · Please run /login"),
    "auto-mode": ("claude-code-2.1.325-linux-x64", "Auto mode unavailable"),
    "stream-disconnected": ("codex-linux-x64", "stream disconnected before completion: "),
    "connection-refused": ("claude-code-2.1.325-linux-x64", "ECONNREFUSED"),
}
"""What a client says, and the package that it is in."""


@cache
def sources() -> str:
    files = [path for kind in ("py", "toml") for path in sorted((ROOT / "src/clew").rglob(f"*.{kind}"))]
    return "\n".join(path.read_text() for path in files)


@pytest.mark.parametrize("page", SYMPTOMS, ids=lambda path: path.stem)
def test_a_symptom_says_what_it_means_how_to_see_it_and_what_to_do(page: Path) -> None:
    text = page.read_text()
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["What it means", "See it", "What to do"]
    assert SHELL.search(text)
    assert len(text.splitlines()) < 60


def test_every_text_that_a_symptom_quotes_is_known_here() -> None:
    quoting = {path.stem for path in SYMPTOMS if "```text\n" in path.read_text()}
    assert quoting == {*QUOTED, *QUOTED_OF_CLIENTS}


@pytest.mark.parametrize("name", QUOTED)
def test_a_symptom_quotes_what_clew_says(name: str) -> None:
    text = (ROOT / f"docs/symptoms/{name}.md").read_text()
    assert [part for part in QUOTED[name] if part not in text] == []
    assert [part for part in QUOTED[name] if part not in sources().replace('\\"', '"')] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", QUOTED_OF_CLIENTS)
def test_a_symptom_quotes_what_a_client_says(name: str) -> None:
    package, words = QUOTED_OF_CLIENTS[name]
    folder = ROOT / "tests/clients/node_modules" / package
    if not folder.is_dir():
        pytest.skip(f"{package} is not for this machine")
    programs = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size > 1_000_000]
    assert any(words.encode() in path.read_bytes() or ascii_of(words) in path.read_bytes() for path in programs)
    assert words in (ROOT / f"docs/symptoms/{name}.md").read_text()


def ascii_of(words: str) -> bytes:
    """As JavaScript in a program may have it."""
    return words.replace("·", "\\xB7").encode()


# The commands of all pages


def calls(text: str) -> Iterator[str]:
    """The calls of clew in the shell blocks of a page: without what follows a pipe, and without remarks beside them."""
    for block in SHELL.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            if found := CALL.match(line):
                yield re.split(r"\s{2,}|\s#|\s[|>;&<]|\s…", found[1])[0]


EVERY_CALL = sorted({(page.relative_to(ROOT).as_posix(), call) for page in PAGES for call in calls(page.read_text())})


def fault_of(call: str) -> str:
    """Why the command line would refuse the call; "" if it would take it. Nothing is run."""
    command: click.Command = main
    context = click.Context(main, info_name="clew", **main.context_settings)
    words = shlex.split(call)[1:]
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            return f"there is no {words[0]}"
        command, words = found, words[1:]
        context = click.Context(command, info_name=command.name, parent=context, **command.context_settings)
    try:
        command.make_parser(context).parse_args(words)
    except click.UsageError as error:
        return error.format_message()
    return ""


def test_every_call_of_clew_that_a_page_shows_is_one_that_clew_takes() -> None:
    assert len(EVERY_CALL) > 150
    assert [f"{page}: {call}: {fault}" for page, call in EVERY_CALL if (fault := fault_of(call))] == []


@pytest.mark.parametrize("call", ["clew usee glm", "clew use --treads last", "clew keys ad"])
def test_a_call_that_clew_does_not_take_is_found(call: str) -> None:
    assert fault_of(call)
