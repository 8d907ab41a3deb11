"""The modules of bench/, which are scripts beside each other and no package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest

from tests.test_manifest import ROOT

NAMES = [path.stem for path in (ROOT / "bench").glob("*.py") if path.stem != "policies"]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """By their names. `policies` is left out: it changes the path for all."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    before = set(sys.modules)
    yield {name: import_module(name) for name in NAMES}
    for name in set(sys.modules) - before:
        if str(ROOT / "bench") in str(getattr(sys.modules[name], "__file__", "")):
            sys.modules.pop(name)
