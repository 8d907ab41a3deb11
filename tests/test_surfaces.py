"""What a public test may name, and what it may use."""

from pathlib import Path

import pytest

from tests.manifest import public
from tests.surfaces import hidden_names

USES = """
import pytest
import clew.store
from clew import Message, project
from clew.engine.engine import Engine
from clew.errors import RequestInvalid
from clew.testing import Simulator
from clew.thinking.keyring import keyring_of as keyring

RING = keyring()
def made() -> object: return [RING]
@pytest.fixture
def engine() -> object: return Engine()
def test_plain(simulator: Simulator) -> None: assert project(Message) == RequestInvalid
def test_by_a_helper() -> None: assert made()
def test_by_a_fixture(engine: object) -> None: assert engine
def test_by_a_module() -> None: assert clew.store
def test_inside() -> None:
    from clew.wire import sse
def test_of_its_own(keyring: str) -> None:
    Engine = keyring
    assert Engine
class TestMore:
    def test_plain(self) -> None: assert Message
    def test_other(self) -> None: assert Engine
"""


@pytest.mark.parametrize(
    ("test", "hidden"),
    [
        ("test_plain", []),
        ("test_by_a_helper", ["clew.thinking.keyring.keyring_of"]),
        ("test_by_a_fixture", ["clew.engine.engine.Engine"]),
        ("test_by_a_module", ["clew.store"]),
        ("test_inside", ["clew.wire.sse"]),
        ("test_of_its_own", []),
        ("TestMore::test_plain", []),
        ("TestMore::test_other", ["clew.engine.engine.Engine"]),
    ],
)
def test_a_name_of_the_inside_is_found_behind_helpers_fixtures_and_modules(
    tmp_path: Path, test: str, hidden: list[str]
) -> None:
    (file := tmp_path / "test_uses.py").write_text(USES)
    assert hidden_names(file, test) == hidden


def test_a_surface_that_does_not_exist_cannot_be_named() -> None:
    with pytest.raises(ValueError, match="name one or more of gateway, cli, library, page, docs"):
        public("web")
    with pytest.raises(ValueError, match="name one or more"):
        public()
