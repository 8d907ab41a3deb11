"""Text from a model, made harmless for a terminal.

A terminal obeys control characters: they move the cursor, set the title, write the clipboard. Models repeat what they read,
so what a web page says could reach it. Each control character but tab and newline becomes its picture, which can be read. So
does what turns the order of characters around: with it a text can show other words than it has.
"""

from __future__ import annotations

import re

_PICTURES = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "␡",
    **dict.fromkeys(range(0x80, 0xA0), "�"),  # the same commands in one character
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "�"),
}
_LINE_END = re.compile("\r+\n")


def harmless(text: str) -> str:
    """The same text without anything that a terminal would obey.

    >>> harmless("plain \\x1b[31mred\\x07")
    'plain ␛[31mred␇'
    >>> harmless("safe\u202egnp.exe")
    'safe�gnp.exe'
    """
    return _LINE_END.sub("\n", text).translate(_PICTURES)
