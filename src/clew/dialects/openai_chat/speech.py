"""How a backend's streams differ from the rest: switches that a backend's row sets and the decoder obeys.

The defaults suit a server that nobody has described: every field is read, a leading tag counts, nothing is guessed that
could turn an answer into a thought.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

__all__ = ["Speech"]


class Speech(Struct, frozen=True, forbid_unknown_fields=True):
    """One backend's habits when it answers."""

    tags: Literal["leading", "anywhere", "never"] = "leading"
    """Where `<think>` and its kin are markup: at the start of the content, anywhere outside code, or nowhere."""
    implicit_open: bool = False
    """The template has written the opening tag: content begins inside the thought."""
    snapshots: bool = False
    """Deltas may repeat all that came before; whether they do is seen from the second one."""
    empty_counts: bool = False
    """An explicitly empty thought before a tool call must be sent back, so it becomes a block."""
    reasoning_apart: bool = False
    """`completion_tokens` leaves reasoning out. (Where the total shows it, this is seen without the switch.)"""
    cut_is_end: bool = False
    """A stream that just ends has ended well. Otherwise an answer without finish and without [DONE] was cut."""
