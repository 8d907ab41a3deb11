"""Fixtures for the outbound border."""

import pytest

from tests.upstream.certificates import Certificate, make_certificate
from tests.upstream.peers import play

__all__ = ["certificate", "play"]


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Good for `localhost`, and for no address."""
    return make_certificate(tmp_path_factory.mktemp("tls"), "DNS:localhost")
