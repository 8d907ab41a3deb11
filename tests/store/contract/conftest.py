"""A store of each kind in turn, known by its protocols alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.store import Store, StoreLocation
from clew.store.kinds import KINDS
from tests.store.contract.opening import located, opened


@pytest.fixture(params=KINDS)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> StoreLocation:
    kind: str = request.param
    return located(kind, tmp_path)


@pytest.fixture
def store(location: StoreLocation) -> Iterator[Store]:
    with opened(location) as store:
        yield store
