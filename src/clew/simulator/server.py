"""How a simulator is started: its kind, its stance, and the running server.

A dialect is a folder of one shape: `vendors` with a table of rows, `judge/`, `memory`, and a `server` with its model. A
new one is a folder and a line in `_DIALECTS`.

A stance is made from the defaults of the facts, a TOML file of the user's, and options. A file is flat. Its keys are
conflicts (`C-7`) or their switches (`trailing_thinking`), and the four settings that belong to no conflict:

    trailing_thinking = "reject"
    C-6 = "accept"
    predecessor = "read"                # sent | read
    prefix_enforcement = "on"           # default | on | off
    streams = "never"                   # asked | always | never
    without_grades = ["C", "D"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast, get_args

from clew.errors import SettingsInvalid
from clew.http.server import Server, listen
from clew.model.facts import default_stances, stances
from clew.simulator.anthropic.server import MessagesServer
from clew.simulator.anthropic.vendors import MessagesVendor, vendors
from clew.simulator.interfaces import Grade, Judge, Stance
from clew.simulator.openai_chat.server import ChatServer
from clew.simulator.openai_chat.vendors import ChatVendor, chat_vendors
from clew.simulator.openai_responses.server import ResponsesServer
from clew.simulator.openai_responses.vendors import ResponsesVendor, responses_vendors
from clew.simulator.vendor_server import SimulatorSettings, VendorServer

# Stances.

_SETTINGS: Final = {
    "predecessor": ("sent", "read"),
    "prefix_enforcement": ("default", "on", "off"),
    "streams": ("asked", "always", "never"),
}


def stance(settings: Mapping[str, object] | None = None, *, file: str = "") -> Stance:
    """The default stance with these settings on top. Raises SettingsInvalid for an unknown key or value."""
    choices = dict(default_stances())
    others: dict[str, str] = {}
    grades: frozenset[Grade] = frozenset()
    for key, value in (settings or {}).items():
        if key == "without_grades":
            given = cast(list[object], value) if isinstance(value, list) else [value]
            grades = frozenset(cast(Grade, _one_of(key, grade, get_args(Grade), file)) for grade in given)
        elif key in _SETTINGS:
            others[key] = _one_of(key, value, _SETTINGS[key], file)
        else:
            name = _conflict(key, file)
            choices[name] = _one_of(key, value, stances()[name].values, file)
    return Stance(
        choices=choices,
        without_grades=grades,
        predecessor=cast(Literal["sent", "read"], others.get("predecessor", "sent")),
        prefix_enforcement=cast(Literal["default", "on", "off"], others.get("prefix_enforcement", "default")),
        streams=cast(Literal["asked", "always", "never"], others.get("streams", "asked")),
    )


def read_stance_file(path: Path) -> dict[str, object]:
    """The settings in a file, not yet checked. Raises SettingsInvalid if it cannot be read."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsInvalid(f"{path}: {getattr(error, 'strerror', None) or error}", file=str(path)) from error


def _conflict(key: str, file: str) -> str:
    if key in stances():
        return key
    for name, row in stances().items():
        if row.switch == key:
            return name
    known = [*_SETTINGS, "without_grades", *(row.switch for row in stances().values())]
    raise SettingsInvalid(f"there is no stance {key!r}; there are {', '.join(known)}", file=file, key=key)


def _one_of(key: str, value: object, allowed: Iterable[str], file: str) -> str:
    text = str(value)
    if text not in allowed:
        raise SettingsInvalid(f"{key} cannot be {value!r}; it is one of {', '.join(allowed)}", file=file, key=key)
    return text


# Kinds and servers.


Rows: TypeAlias = Callable[[], Mapping[str, MessagesVendor | ChatVendor | ResponsesVendor]]
MakeServer: TypeAlias = Callable[[SimulatorSettings, Judge], VendorServer]

_DIALECTS: Final[tuple[tuple[Rows, MakeServer], ...]] = (
    (vendors, MessagesServer),
    (chat_vendors, lambda settings, judge: ChatServer(settings)),
    (responses_vendors, lambda settings, judge: ResponsesServer(settings)),
)
"""The rows of each dialect, and its server."""


def kinds() -> dict[str, str]:
    """Each kind and what it is, in a line, by dialect."""
    return {name: row.about for rows, _ in _DIALECTS for name, row in rows().items()}


def speaks_chat(kind: str) -> bool:
    """Whether the kind speaks Chat Completions."""
    return kind in chat_vendors()


def speaks_responses(kind: str) -> bool:
    """Whether the kind speaks OpenAI's Responses."""
    return kind in responses_vendors()


def check_kind(kind: str) -> None:
    """Raises SettingsInvalid for an unknown kind; its message lists all kinds."""
    if kind not in kinds():
        raise SettingsInvalid(f"there is no kind {kind!r}; there are {', '.join(kinds())}", key="kind")


@dataclass(frozen=True, slots=True)
class Simulation:
    """A simulated vendor and its listener."""

    vendor: VendorServer
    server: Server

    @property
    def url(self) -> str:
        return self.server.url

    async def close(self, grace: float = 1.0) -> None:
        """Let running requests finish for `grace` seconds, then close the connections and the journal's file."""
        await self.server.close(grace)
        self.vendor.journal.close_file()


async def start(settings: SimulatorSettings, judge: Judge, *, port: int = 0) -> Simulation:
    """Start on 127.0.0.1; port 0 takes a free one.

    Raises OSError if the port is taken, SettingsInvalid for an unknown kind. `judge` is for the Messages API; the other
    dialects have their own.
    """
    check_kind(settings.kind)
    make_server = next(server for rows, server in _DIALECTS if settings.kind in rows())
    vendor = make_server(settings, judge)
    return Simulation(vendor, await listen(vendor.handle, port=port, refuse=vendor.refuse))
