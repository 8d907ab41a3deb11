"""The tools of Chat in the browser: functions of a Python file that the settings name.

    from clew import tool

    @tool(approval=True)
    def read(path: str) -> str:
        \"\"\"Reads a file.\"\"\"

The file is run in the gateway, with the gateway's rights, so only the settings file can name it. It is run again when it
changes.
"""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

from clew.admin.services import AdminServices
from clew.chat.agent.tools import Tool, is_marked, tool_of
from clew.errors import SettingsInvalid


def chat_tools(services: AdminServices) -> tuple[Tool, ...]:
    """Those of the settings; none if they name no file. It may take as long as the file does: call it in a thread.

    Raises SettingsInvalid if the file cannot be run, or has no tools.
    """
    named = services.current.snapshot.settings.chat.tools
    if not named:
        return ()
    settings = services.current.file
    path = (settings.parent if settings else services.home.root) / Path(named).expanduser()
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise SettingsInvalid(f"{path}: {error.strerror or error}", key="chat.tools") from None
    return _load(path, changed)


@lru_cache(maxsize=4)
def _load(path: Path, changed: int) -> tuple[Tool, ...]:
    """`changed` is when the file was: another time is another file."""
    spec = importlib.util.spec_from_file_location(f"clew_chat_tools_{changed}", path)
    if spec is None or spec.loader is None:
        raise SettingsInvalid(f"{path} is not a Python file: the name must end with .py", key="chat.tools")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise SettingsInvalid(f"{path} cannot be run: {type(error).__name__}: {error}", key="chat.tools") from error
    found = {
        tool.name: tool for each in vars(module).values() if callable(each) and is_marked(each) for tool in [tool_of(each)]
    }
    if not found:
        raise SettingsInvalid(f"{path} has no tools: mark functions with `@clew.tool`", key="chat.tools")
    return tuple(found.values())
