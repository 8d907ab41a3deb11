"""The panel: what it shows, and what a key does there. It draws text and knows no terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from clew.cli.output import printable

_BOLD: Final = "\x1b[1m"
_DIM: Final = "\x1b[2m"
_REVERSED: Final = "\x1b[7m"
_PLAIN: Final = "\x1b[0m"
_MOST_SWITCHES: Final = 5


class PanelBackend(Struct, frozen=True, kw_only=True):
    """A backend, as a line of the panel shows it."""

    name: str
    model: str = ""
    disabled: str = ""
    """Why it cannot be called."""


class PanelSwitch(Struct, frozen=True, kw_only=True):
    """One switch while the client ran. `at` is in seconds since 1970."""

    at: float
    before: str
    after: str


class PanelFacts(Struct, frozen=True, kw_only=True):
    """What the panel shows: gateway, backends, last switches and thinking blocks."""

    gateway: str
    active: str
    backends: tuple[PanelBackend, ...]
    switches: tuple[PanelSwitch, ...] = ()
    thinking: str = ""
    """What became of the thinking blocks so far, as the summary at the end says it."""


class SwitchPanel:
    """An open panel. `press` gives the name of a backend that was chosen, and `is_open` says whether it stays."""

    def __init__(self, facts: PanelFacts, key: str) -> None:
        self.facts = facts
        self.is_open = True
        self.message = ""
        """What the last switch did."""
        self._key = key
        names = [backend.name for backend in facts.backends]
        self._selected = names.index(facts.active) if facts.active in names else 0

    def press(self, key: str) -> str | None:
        """What one key does: a backend's name if it is to be used from now on."""
        count = len(self.facts.backends)
        if key in ("escape", "q"):
            self.is_open = False
        elif key in ("up", "k"):
            self._selected = (self._selected - 1) % count
        elif key in ("down", "j"):
            self._selected = (self._selected + 1) % count
        elif key.isdecimal() and key.isascii() and 0 < int(key) <= count:
            self._selected = int(key) - 1
            return self._choose()
        elif key == "enter":
            return self._choose()
        return None

    def _choose(self) -> str | None:
        backend = self.facts.backends[self._selected]
        if backend.disabled:
            self.message = backend.disabled
            return None
        return backend.name

    def draw(self, width: int, height: int) -> str:
        """The whole screen, from its first line on."""
        facts = self.facts
        lines = [
            (_BOLD, f"clew · {facts.gateway}"),
            ("", ""),
            *(self._backend_line(number, backend) for number, backend in enumerate(facts.backends)),
            ("", ""),
            *[("", self.message)][: bool(self.message)],
            (_DIM, "Up, Down and Enter, or a number: switch this run to the backend."),
            (_DIM, f"Esc: back to the client. {self._key} again: send this key to the client."),
            ("", ""),
            (_BOLD, "Last switches"),
            *(("", text) for text in _switch_lines(facts.switches)),
            ("", ""),
            (_BOLD, "Thinking blocks"),
            ("", f"  {facts.thinking or 'No request yet.'}"),
        ]
        return "\x1b[H\x1b[2J" + "\r\n".join(_cut(style, text, width) for style, text in lines[: max(height, 1)])

    def _backend_line(self, number: int, backend: PanelBackend) -> tuple[str, str]:
        is_active = backend.name == self.facts.active
        state = backend.disabled or ("active" if is_active else "")
        width = max(len(each.name) for each in self.facts.backends)
        text = (
            f"{'→' if is_active else ' '} {number + 1}  {backend.name:{width}}  {backend.model or 'model as asked'}  {state}"
        )
        return (_REVERSED if number == self._selected else "", text.rstrip())


def _switch_lines(switches: Sequence[PanelSwitch]) -> list[str]:
    times = [(time.strftime("%H:%M:%S", time.localtime(each.at)), each) for each in switches[-_MOST_SWITCHES:]]
    return [f"  {at}  {each.before} → {each.after}" for at, each in times] or ["  None yet."]


def _cut(style: str, text: str, width: int) -> str:
    shown = printable(text)
    shown = shown if len(shown) <= width else shown[: max(width - 1, 0)] + "…"
    return f"{style}{shown}{_PLAIN}" if style else shown
