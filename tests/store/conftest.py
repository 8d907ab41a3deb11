"""A store in a directory of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.store.sqlite.store import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "store.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(path) as store:
        yield store
