"""Whether an editor's own settings lead its Claude Code past the gateway."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from clew.admin.checkup.findings import CheckFinding, Circumstances, fine, warning
from clew.admin.checkup.surroundings import BASE_URL, ELSEWHERE
from clew.backends.address import is_local
from clew.gateway.editors import EDITORS, Editor

_MOST_BYTES: Final = 1 << 20
_COMMENT: Final = re.compile(rb"^\s*//.*$", re.MULTILINE)
_LAST_COMMA: Final = re.compile(rb",(\s*[}\]])")
_UNSET: Final = ("", "0", "false")


class _Variable(Struct):
    name: str = ""
    value: str | int | bool = ""


class _EditorSettings(Struct):
    variables: list[_Variable] = field(default_factory=list[_Variable], name="claudeCode.environmentVariables")


def editors(at: Circumstances) -> Iterator[CheckFinding]:
    """Variables that an editor gives to its Claude Code override all others there."""
    home = Path(at.environ.get("HOME", "~")).expanduser()
    found = [finding for editor in EDITORS.values() for finding in _in_editor(editor, home)]
    yield from found or [fine("no editor makes its Claude Code bypass the gateway")]


def _in_editor(editor: Editor, home: Path) -> Iterator[CheckFinding]:
    place = editor.macos if sys.platform == "darwin" else editor.linux
    for each in _variables_in(home / place) if place else ():
        leads_away = str(each.value).lower() not in _UNSET and not (each.name == BASE_URL and is_local(str(each.value)))
        if each.name in (BASE_URL, *ELSEWHERE) and leads_away:
            yield warning(
                f"{home / place} sets {each.name} for Claude Code in {editor.title}, so that it does not use the gateway",
                "remove it from claudeCode.environmentVariables there; `clew env --ide` prints what to set instead",
            )


def _variables_in(path: Path) -> list[_Variable]:
    """Editors allow comments and a last comma in these files. What cannot be read says nothing."""
    try:
        with path.open("rb") as file:
            text = _COMMENT.sub(b"", file.read(_MOST_BYTES))
        return msgspec.json.decode(_LAST_COMMA.sub(rb"\1", text), type=_EditorSettings).variables
    except (OSError, ValueError, RecursionError):
        return []
