"""The figures of the code are counted as their names say."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tests.test_manifest import ROOT

ANTHROPIC = '''
"""A dialect."""
from clew.dialects.openai_chat.answers import Failure
from clew.dialects.anthropic.more import Reader

class Writer:
    """Public."""

    def write(self):
        """Longer than its body.

        By some lines.
        """
        return self._line() + self._line() + _once()

    def _line(self):
        one = 1
        return one

def _once():
    return 2

def _row():
    return 3

ROWS = [_row]
'''
CHAT = "class Writer: ...\nclass _Hidden: ...\n"


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "bench"), *sys.path])
    return import_module("code_figures")


def test_what_is_counted_without_running_anything(figures: ModuleType, tmp_path: Path) -> None:
    for name, text in {"anthropic/writing": ANTHROPIC, "openai_chat/writing": CHAT}.items():
        file = tmp_path / "src/clew/dialects" / f"{name}.py"
        file.parent.mkdir(parents=True)
        file.write_text(text)

    found = dict(line.split("  ", 1) for line in figures.static_figures(tmp_path) if not line.startswith(" "))

    assert {name: said.strip() for name, said in found.items()} == {
        "files": "2",
        "lines": "28",
        "functions": "4",
        "lines of a function, without docstring": "median 1, p90 2, longest 2",
        "private functions": "3, of them used exactly once 2, by a call 1",
        "public class names that repeat": "1, for 2 classes",
        "imports between dialect folders": "1",
    }


def test_what_is_used_once_is_named_with_its_user(figures: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "src/clew/dialects/anthropic/writing.py"
    file.parent.mkdir(parents=True)
    file.write_text(ANTHROPIC)

    [module] = figures.modules_of(tmp_path)

    assert [*figures.lines_about_once_used(module)] == [
        "clew/dialects/anthropic/writing.py:20  _once (1) in write (1)",
        "clew/dialects/anthropic/writing.py:23  _row (1) in the module",
    ]


def test_a_streamed_answer_is_put_together(figures: ModuleType) -> None:
    del figures
    lines = [
        'data: {"type": "content_block_start", "content_block": {"type": "text", "text": ""}}',
        'data: {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Yes"}}',
        'data: {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "."}}',
    ]
    assert import_module("hops").content_of("\n".join(lines)) == [{"type": "text", "text": "Yes."}]
