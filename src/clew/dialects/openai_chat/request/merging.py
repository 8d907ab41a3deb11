"""Objects laid over each other, for fields that two parts of a request have a word in."""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.json import JsonObject, JsonValue

__all__ = ["merged", "nested"]


def nested(path: Sequence[str], value: JsonValue) -> JsonObject:
    """The object that has this value at this path, and nothing else."""
    for key in reversed(path[1:]):
        value = {key: value}
    return {path[0]: value}


def merged(below: JsonObject, above: JsonObject) -> JsonObject:
    """Both, without altering either; where they differ, `above` holds."""
    done = dict(below)
    for key, value in above.items():
        own = done.get(key)
        done[key] = merged(own, value) if isinstance(own, dict) and isinstance(value, dict) else value
    return done
