"""Reads the golden cases: text files that a person can write, with bytes as they are.

A case is a file. Its first line says what it is about, the paragraph below why it is tricky. Then come its scenes, each under a
line `== what is special here`, and in each scene its sections, under lines `-- name`. A section is every byte between the line
of its name and the next such line, without the last line end, so a stream that ends with an empty line is followed by one more.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CASES", "CHAT", "RESPONSES", "Case", "Scene", "read_cases", "scenes"]

CHAT = Path(__file__).parent / "chat"
RESPONSES = Path(__file__).parent / "responses"

_SCENE = re.compile(rb"\n== (.+)\n")
_SECTION = re.compile(rb"(?:^|\n)-- (\w+)\n")


@dataclass(frozen=True)
class Scene:
    """One way in which the case comes about. `sections` are bytes by name, in their order."""

    case: str
    title: str
    sections: dict[str, bytes]

    @property
    def id(self) -> str:
        return f"{self.case} {self.title}"

    def text(self, section: str) -> str:
        return self.sections[section].decode()

    def table(self, section: str) -> dict[str, Any]:
        """A section that is TOML; an absent one is empty."""
        return tomllib.loads(self.sections.get(section, b"").decode())


@dataclass(frozen=True)
class Case:
    """A file: its number in the rule book's list, what it is about, why, and its scenes."""

    number: str
    title: str
    why: str
    scenes: tuple[Scene, ...]


def read_case(path: Path) -> Case:
    head, *rest = _SCENE.split(path.read_bytes())
    title, _, why = head.decode().partition("\n\n")
    pairs = zip(rest[::2], rest[1::2], strict=True)
    found = tuple(Scene(path.stem, name.decode(), _sections(body)) for name, body in pairs)
    return Case(path.stem.partition("-")[0].lstrip("0"), title, why.strip(), found)


def _sections(body: bytes) -> dict[str, bytes]:
    _, *rest = _SECTION.split(body.removesuffix(b"\n"))
    return {name.decode(): value for name, value in zip(rest[::2], rest[1::2], strict=True)}


def read_cases(folder: Path) -> tuple[Case, ...]:
    return tuple(read_case(path) for path in sorted(folder.glob("*.txt")))


CASES = read_cases(CHAT)


def scenes(*having: str) -> list[tuple[Case, Scene]]:
    """The scenes that have all of these sections."""
    return [(case, scene) for case in CASES for scene in case.scenes if set(having) <= set(scene.sections)]
