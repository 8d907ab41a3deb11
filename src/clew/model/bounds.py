"""How large one answer may be: a backend that sends more is broken or hostile.

No setting changes these bounds. They are many times what a model writes in one answer.
"""

from __future__ import annotations

from typing import Final

from clew.errors import AnswerTooLarge

MOST_BLOCKS: Final = 10_000
"""Blocks of one answer, tool calls among them."""
MOST_EVENTS_BEFORE: Final = 10_000
MOST_BYTES_BEFORE: Final = 4 * 1024 * 1024
"""What may wait until the first content comes: pings, comments, the start of the message."""
MOST_EVENTS_HELD: Final = 10_000
MOST_BYTES_HELD: Final = 4 * 1024 * 1024
"""What may wait between the stop reason and the end of the message. A vendor sends both at once."""
MOST_UPDATES: Final = 10_000
"""Events of an answer about itself before its stop reason. Vendors send one, if at all."""


def check_blocks(blocks: int) -> None:
    """Raises AnswerTooLarge if an answer has too many blocks."""
    if blocks > MOST_BLOCKS:
        raise AnswerTooLarge(f"the answer has more than {MOST_BLOCKS} blocks, which is the most that clew takes")


def check_updates(updates: int) -> None:
    """Raises AnswerTooLarge if an answer has too many events about itself."""
    if updates > MOST_UPDATES:
        raise AnswerTooLarge(f"the answer has more than {MOST_UPDATES} events about itself; clew accepts no more")


def check_before(events: int, size: int) -> None:
    """Raises AnswerTooLarge if too much came before the first content."""
    if events > MOST_EVENTS_BEFORE:
        raise AnswerTooLarge(f"more than {MOST_EVENTS_BEFORE} events came before the first content; clew waits for no more")
    if size > MOST_BYTES_BEFORE:
        raise AnswerTooLarge(f"more than {MOST_BYTES_BEFORE} bytes came before the first content; clew waits for no more")


def check_held(events: int, size: int) -> None:
    """Raises AnswerTooLarge if too much came after the stop reason, before the end of the message."""
    if events > MOST_EVENTS_HELD:
        raise AnswerTooLarge(f"more than {MOST_EVENTS_HELD} events came after the stop reason; clew waits for no more")
    if size > MOST_BYTES_HELD:
        raise AnswerTooLarge(f"more than {MOST_BYTES_HELD} bytes came after the stop reason; clew waits for no more")


MOST_TOKENS: Final = 1 << 40
"""No answer has a trillion tokens: a larger count is a fault of the backend (an unsigned number below zero is near 2^64) and
counts as unknown. So sums of counts stay within what SQLite can hold."""


MOST_EVENTS_WAITING: Final = 10_000
"""Events of parts of an answer that wait for another part to end. Vendors send one part after the other."""


def check_waiting(events: int) -> None:
    """Raises AnswerTooLarge if too many events wait for a part of the answer to end."""
    if events > MOST_EVENTS_WAITING:
        raise AnswerTooLarge(f"more than {MOST_EVENTS_WAITING} events came out of turn; clew keeps no more")
