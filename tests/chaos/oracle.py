"""What the simulators' journals say against what the clients hold: blocks lost, foreign blocks, refusals.

The journals know what came and whose each block was. The clients know what was said to them. Nothing here knows how a gateway
decides; the only header of its own that is read names the backend that answered, and the simulator whose journal has that
very message confirms it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clew.testing import Simulator
from tests.build import Json
from tests.identity.client import ClaudeCode
from tests.policies.vendors import id_of, thoughts_in


@dataclass
class Found:
    """Whatever should not be."""

    refused: list[str] = field(default_factory=list[str])
    lost: list[str] = field(default_factory=list[str])
    foreign: list[str] = field(default_factory=list[str])
    upstream: list[str] = field(default_factory=list[str])
    """Refusals that a simulator gave, seen by the client or not."""

    @property
    def clean(self) -> bool:
        return not (self.refused or self.lost or self.foreign or self.upstream)


class Oracle:
    def __init__(self, simulators: Mapping[str, Simulator]) -> None:
        self._simulators = simulators
        self._read = dict.fromkeys(simulators, 0)
        self._entries: dict[str, tuple[str, Json]] = {}
        """By message id: which simulator said it, and its journal's entry."""
        self._maker: dict[str, str] = {}
        """Of each thought that a client holds: the reader that made it."""
        self.found = Found()
        self.due = 0
        self.kinds: Counter[str] = Counter()

    def follow(self) -> None:
        """Read what the journals have new."""
        for name, simulator in self._simulators.items():
            for entry in simulator.journal(self._read[name]):
                self._read[name] = entry["n"]
                self._take(name, entry)

    def _take(self, name: str, entry: Json) -> None:
        if (entry["response"] or {}).get("message_id"):
            self._entries[entry["response"]["message_id"]] = (name, entry)
        where = f"{name} {entry['n']}"
        if entry["verdict"] and not entry["verdict"]["ok"]:
            self.found.upstream.append(f"{where}: {entry['verdict']['rule']} {entry['verdict']['message'][:120]}")
        foreign = [block["path"] for block in entry["thinking"] if block["whose"] != "own"]
        self.found.foreign += [f"{where}: {path}" for path in foreign]

    def heard(self, client: ClaudeCode, message: Json, blocks: list[Json]) -> None:
        """An answer that `client` got to what it had so far: was all there that was due, and whose are its thoughts?"""
        name, entry = self._entries[message["id"]]
        reader = f"{name} {client.model}" if name == "claude" else name
        self._check(client, reader, entry)
        for block in blocks:
            if id := id_of(block):
                self._maker[id] = reader
        self.kinds[reader] += 1

    def _check(self, client: ClaudeCode, reader: str, entry: Json) -> None:
        held = [id for each in client.entries for block in each.blocks if (id := id_of(block))]
        due = [id for id in held if self._maker.get(id) == reader]
        self.due += len(due)
        lost = _missing(due, entry) if reader.startswith("claude ") else _fewer(due, entry)
        self.found.lost += [f"{reader}, request {entry['n']}: {id[:40]}" for id in lost]


def _missing(due: list[str], entry: Json) -> list[str]:
    """Claude's signatures reach the client as they are, so each can be told by name."""
    came = set(thoughts_in(_messages(entry)))
    return [id for id in due if id not in came]


def _fewer(due: list[str], entry: Json) -> list[str]:
    """The others' are sealed: nothing is lost if as many different ones of its own came as are due."""
    own = sum(block["whose"] == "own" and block["fate"] == "kept" for block in entry["thinking"])
    return due[min(own, len(set(thoughts_in(_messages(entry))))) :]


def _messages(entry: Json) -> list[Json]:
    body: Any = entry["body"]
    return [message for message in body["messages"] if message["role"] == "assistant"]
