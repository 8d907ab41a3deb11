"""A no that came inside a 200, with the status that it stands for."""

import pytest

from clew.exchange.backend_dialect import refused_with
from clew.model.events import StreamFailed


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("rate_limit_error", 429),
        ("overloaded_error", 529),
        ("conflict_error", 409),
        ("api_error", 500),
        ("new", 500),
        (7, 500),
    ],
)
def test_an_error_has_the_status_of_its_type(kind: str | int, status: int) -> None:
    """The vendor's table of errors, read backwards."""
    refused = refused_with(StreamFailed({"type": kind, "message": "no"}))

    assert (refused.status, refused.headers) == (status, ())
