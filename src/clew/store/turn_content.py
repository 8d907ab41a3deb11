"""What is kept of a turn for people to read, and how much room a turn takes while it waits to be written."""

from __future__ import annotations

import msgspec

from clew.model.turn import TurnRecord
from clew.store.rows import without_inputs

_CHANGE_BYTES = 144
"""Of a change while it waits to be written. A long conversation may have a thousand of them with each turn."""


def without_content(turn: TurnRecord) -> TurnRecord:
    """The turn without what is only for people to read."""
    recording = turn.recording
    if recording:
        recording = msgspec.structs.replace(recording, blocks=without_inputs(recording.blocks))
    return msgspec.structs.replace(turn, recording=recording, asked=(), title="", bodies=None, native=None)


def turn_weight(turn: TurnRecord) -> int:
    """About how many bytes a turn takes while it waits to be written."""
    recording = turn.recording
    said = sum(map(len, recording.blocks)) if recording else 0
    native = len(turn.native.answer) + sum(map(len, turn.native.items)) if turn.native else 0
    return sum(map(len, turn.asked)) + said + native + _CHANGE_BYTES * len(turn.exchange.changes)
