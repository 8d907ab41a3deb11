from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.admin.booth import Booth


@pytest.fixture
def booth(tmp_path: Path) -> Iterator[Booth]:
    """An admin of its own."""
    with Booth(tmp_path / "h") as booth:
        yield booth


@pytest.fixture(scope="module")
def kept_booth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Booth]:
    """One for all tests of a module that change nothing."""
    with Booth(tmp_path_factory.mktemp("booth") / "h") as booth:
        yield booth
