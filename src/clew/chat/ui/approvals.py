"""Approvals inside a sub-agent, for a front end: it knows the call that sent the agent, so that is what it is asked about.

There is one question for all calls that wait there. Its id names them, so the answer is a decision about each; what they are
is told beside it, as data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from clew.chat.agent.approval import Decision, Denied
from clew.chat.messages import ToolCall
from clew.chat.ui.parts import Part
from clew.model.json import JsonObject, JsonValue

__all__ = ["asked_within", "decisions_in"]

_BETWEEN: Final = " "
"""No id of a call has one."""


def asked_within(agent: str, call: ToolCall, waiting: Sequence[ToolCall]) -> Iterator[Part]:
    """The question about these calls of the agent that a call sent. Told again with more of them, it is the same question.

    >>> sent, inside = ToolCall(id="t1", name="scout"), ToolCall(id="t2", name="delete", arguments="{}")
    >>> [part["type"] for part in asked_within("scout", sent, [inside])]
    ['data-approval', 'tool-approval-request']
    """
    calls: list[JsonValue] = [
        {"toolCallId": each.id, "toolName": each.name, "arguments": each.arguments} for each in waiting
    ]
    yield {"type": "data-approval", "id": call.id, "data": {"agent": agent, "call": call.id, "calls": calls}}
    named = _BETWEEN.join(each.id for each in waiting)
    yield {"type": "tool-approval-request", "approvalId": named, "toolCallId": call.id}


def decisions_in(part: JsonObject) -> dict[str, Decision]:
    """What the user decided about the calls that a part asks for, by their ids.

    >>> decisions_in({"toolCallId": "t1", "approval": {"id": "t2 t3", "approved": True}})
    {'t2': True, 't3': True}
    """
    approval = part.get("approval")
    given: JsonObject = approval if isinstance(approval, dict) else {}
    named, reason = given.get("id"), given.get("reason")
    ids = named.split(_BETWEEN) if isinstance(named, str) and named else [str(part.get("toolCallId"))]
    decision = True if given.get("approved") is True else Denied(reason if isinstance(reason, str) else "")
    return dict.fromkeys(ids, decision)
