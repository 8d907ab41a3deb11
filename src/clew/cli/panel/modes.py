"""What a client did to the screen, as far as a panel over it must know.

A terminal has two screens. The panel is drawn on the second one, and the first comes back as it was. A client that is on the
second one itself has to draw it again afterwards; and a cursor that it hid must stay hidden. The panel may only be drawn
between two sequences of the client, so a sequence that is not complete waits for its rest.
"""

from __future__ import annotations

import re
from typing import Final

_MODES: Final = re.compile(rb"\x1b\[\?([\d;]{1,64})([hl])")
_UNFINISHED: Final = re.compile(rb"\x1b(?:[ -/]*|\[[0-?]*[ -/]*|[\]P^_X][^\x07]*)")
"""An escape, a control sequence, or a string such as a title, without its end."""
_MOST_HELD: Final = 64 * 1024
_SECOND_SCREEN: Final = frozenset((b"47", b"1047", b"1049"))
_CURSOR: Final = b"25"


class ScreenModes:
    """Follows the modes of the screen that a client switches in its output."""

    def __init__(self) -> None:
        self.on_second_screen = False
        self.shows_cursor = True
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What may be written now: all up to the last complete sequence."""
        data = self._held + data
        start = data.rfind(b"\x1b")
        is_whole = start < 0 or len(data) - start > _MOST_HELD or not _UNFINISHED.fullmatch(data, start)
        self._held = b"" if is_whole else data[start:]
        whole = data if is_whole else data[:start]
        for modes, switch in _MODES.findall(whole):
            for mode in modes.split(b";"):
                if mode in _SECOND_SCREEN:
                    self.on_second_screen = switch == b"h"
                elif mode == _CURSOR:
                    self.shows_cursor = switch == b"h"
        return whole

    def flush(self) -> bytes:
        """What was held back, of a client that is over."""
        held, self._held = self._held, b""
        return held
