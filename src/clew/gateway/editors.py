"""How Claude Code inside an editor finds a gateway.

An editor that is started from a dock or a menu has none of the variables of a shell. Claude Code's own settings file is read
in every editor and in a terminal, and it can name a command that prints the key: so the key stands in no editor's settings,
which are often synchronised. The editors with an extension of Claude Code also have to be told not to ask for a login.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from clew.gateway.client import BASE_URL, takes_credentials
from clew.settings.values import Settings


class Editor(Struct, frozen=True):
    """An editor, and where its own settings are below the user's home: on Linux, and on macOS."""

    title: str
    linux: str = ""
    macos: str = ""
    has_extension: bool = False
    """Its Claude Code is the extension for VS Code."""


EDITORS: Final[Mapping[str, Editor]] = {
    "vscode": Editor(
        "VS Code", ".config/Code/User/settings.json", "Library/Application Support/Code/User/settings.json", True
    ),
    "cursor": Editor(
        "Cursor", ".config/Cursor/User/settings.json", "Library/Application Support/Cursor/User/settings.json", True
    ),
    "windsurf": Editor(
        "Windsurf", ".config/Windsurf/User/settings.json", "Library/Application Support/Windsurf/User/settings.json", True
    ),
    "zed": Editor("Zed", ".config/zed/settings.json", ".config/zed/settings.json"),
    "jetbrains": Editor("JetBrains"),
}
_LOGIN: Final = "claudeCode.disableLoginPrompt"


def claude_settings(settings: Settings, url: str, key: str, key_file: Path) -> dict[str, object]:
    """For `~/.claude/settings.json`. `key` is set if the key is in a variable, and then no file can be named.

    Where a backend takes the client's own credential, Claude Code keeps it, and the gateway knows it by its address.
    """
    address: dict[str, object] = {"env": {BASE_URL: url}}
    if takes_credentials(settings) or key:
        return address
    return {**address, "apiKeyHelper": f"cat {shlex.quote(str(key_file))}"}


def editor_text(editor: Editor, settings: Settings, url: str, key: str, key_file: Path, platform: str) -> str:
    """The text to paste, and where it belongs."""
    parts = [_block("~/.claude/settings.json", claude_settings(settings, url, key, key_file))]
    if editor.has_extension:
        place = editor.macos if platform == "darwin" else editor.linux
        parts.append(_block(f"~/{place}  ({editor.title}: Preferences, Open User Settings (JSON))", {_LOGIN: True}))
    return "\n".join(parts)


def _block(where: str, value: Mapping[str, object]) -> str:
    return f"// {where}\n{json.dumps(value, indent=2)}\n"


def editor_notes(editor: Editor, settings: Settings, key: str, variable: str) -> list[str]:
    """What a person has to know beside the text to paste."""
    notes = [f"Add these lines to the file, and restart {editor.title}."]
    if key and not takes_credentials(settings):
        notes.append(
            f"The key is in {variable}, which an editor from a dock or a menu does not have: start the editor from this "
            f"shell, with ANTHROPIC_AUTH_TOKEN=${variable}, or unset {variable} so that the key is in a file."
        )
    if not editor.has_extension:
        notes.append(f"In {editor.title}, Claude Code runs as in a terminal, so its own settings are enough.")
    notes.append("On Windows with WSL, these are the files of the side on which Claude Code runs.")
    return notes
