"""A compaction as parts: the AI SDK has no word for it, so it is data, of which the last that has one id holds.

    summarising ─► done      the message goes on, on a new line
                └► failed    the question stays refused

In a chat that is read, the summary that a line begins with is data too; a front end that sends it back sends it whole.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from clew.chat.events import Compacted
from clew.chat.marks import summarised
from clew.chat.ui.parts import Part
from clew.model.json import JsonObject

__all__ = ["COMPACTION", "State", "compacted_part", "state_part", "summary_part", "summary_text"]

COMPACTION: Final = "data-compaction"

State: TypeAlias = Literal["summarising", "failed"]


def state_part(before: str, state: State) -> Part:
    """`before` is the question that did not fit.

    >>> state_part("1a", "summarising")
    {'type': 'data-compaction', 'id': '1a', 'data': {'state': 'summarising', 'before': '1a'}}
    """
    return {"type": COMPACTION, "id": before, "data": {"state": state, "before": before}}


def compacted_part(compacted: Compacted) -> Part:
    """Both turns stay, and so does the line that they are on: `before` is the question, `of` the last turn that fitted."""
    before, summary = compacted.before, compacted.summary
    told: JsonObject = {"state": "done", "before": before.id, "of": before.follows, "summary": summary.id}
    return {"type": COMPACTION, "id": before.id, "data": told}


def summary_part(block: JsonObject) -> Part | None:
    """A summary that stands for what was said before, as it is read; None for anything else."""
    of = summarised([{"role": "user", "content": [block]}])
    return {"type": COMPACTION, "data": {"state": "done", "of": of, "text": block.get("text")}} if of else None


def summary_text(part: JsonObject) -> str:
    """The text of such a part, as a front end sends it back; "" for any other part."""
    data = part.get("data")
    text = data.get("text") if part.get("type") == COMPACTION and isinstance(data, dict) else None
    return text if isinstance(text, str) else ""
