"""Signatures that came when the text that they sign was already told: on the way back both are one entry again.

A stream may sign a thought after its first words of content, when its block is closed. The signature is then kept by itself,
behind the blocks of the answer. Its maker sent one entry in pieces, and gets one entry back.
"""

from __future__ import annotations

from collections.abc import Mapping

from clew.dialects.openai_chat.answer.details import join_entry
from clew.model.json import JsonObject
from clew.model.loose_json import objects_of

__all__ = ["reunited"]

_LISTS = ("reasoning_details", "thinking_blocks")
_TEXTS = ("text", "summary", "thinking")


def reunited(payloads: Mapping[int, JsonObject | None]) -> dict[int, JsonObject | None]:
    """The payloads of an answer's thoughts, in their order; a lone signature is with the text that it signs."""
    done = dict(payloads)
    for name in _LISTS:
        before = -1
        for at, payload in payloads.items():
            if payload is None or name not in payload:
                continue
            if before >= 0:
                _reunite(done, before, at, name)
            before = at
    return done


def _reunite(payloads: dict[int, JsonObject | None], before: int, at: int, name: str) -> None:
    first, second = payloads[before] or {}, payloads[at] or {}
    entries = [dict(entry) for entry in objects_of(first.get(name))]
    late = objects_of(second.get(name))
    if not late or not _only_signs(late[0]):
        return
    count = len(entries)
    join_entry(entries, late[0])
    if len(entries) == count:
        payloads[before] = {**first, name: list(entries)}
        payloads[at] = {**second, name: list(late[1:])} if late[1:] else {k: v for k, v in second.items() if k != name}


def _only_signs(entry: JsonObject) -> bool:
    return bool(entry.get("signature")) and not any(entry.get(text) for text in _TEXTS)
