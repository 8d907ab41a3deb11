"""The one place where what sockets, TLS and the HTTP client raise becomes ours.

The most specific wins, so the order of the table is its meaning: most of these are OSErrors to Python. Messages name the
endpoint and what happened; none of them can hold a header, so none can hold a key.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from clew.errors import BackendBroken, BackendError, BackendTimedOut, BackendUnreachable
from clew.http.client.message import PeerClosed, PhaseTimedOut, ResponseBroken
from clew.upstream.endpoint import Endpoint, ProxyRefused

FOREIGN_ERRORS: Final = (OSError, UnicodeError)
"""What comes from the other side of the border; a host name that cannot be encoded is a UnicodeError to Python."""


def _timed_out(error: Exception, where: Endpoint) -> BackendError:
    assert isinstance(error, PhaseTimedOut)
    return BackendTimedOut(f"{where}: {error}", phase=error.phase)


def _broken(error: Exception, where: Endpoint) -> BackendError:
    return BackendBroken(f"{where}: {error}")


def _untrusted(error: Exception, where: Endpoint) -> BackendError:
    assert isinstance(error, ssl.SSLCertVerificationError)
    return BackendUnreachable(f"{where}: its certificate does not hold: {error.verify_message}")


def _no_tls(error: Exception, where: Endpoint) -> BackendError:
    assert isinstance(error, ssl.SSLError)
    return BackendUnreachable(f"{where}: no TLS with it: {error.reason or error}")


def _unknown(error: Exception, where: Endpoint) -> BackendError:
    assert isinstance(error, socket.gaierror)
    return BackendUnreachable(f"{where}: its name leads nowhere: {error.strerror or error}")


def _unreachable(error: Exception, where: Endpoint) -> BackendError:
    """In the system's words: the event loops put their own in `strerror`, with an address in them."""
    number = error.errno if isinstance(error, OSError) else None
    return BackendUnreachable(f"{where}: {os.strerror(number) if number else error}")


_TABLE: Final[tuple[tuple[type[Exception], Callable[[Exception, Endpoint], BackendError]], ...]] = (
    (PhaseTimedOut, _timed_out),
    (ResponseBroken, _broken),
    (PeerClosed, _broken),
    (ProxyRefused, _unreachable),
    (ssl.SSLCertVerificationError, _untrusted),
    (ssl.SSLError, _no_tls),
    (socket.gaierror, _unknown),
    (OSError, _unreachable),
    (UnicodeError, _unreachable),
)


def backend_error_of(error: Exception, where: Endpoint) -> BackendError:
    """Our error for one of FOREIGN."""
    return next(make for kind, make in _TABLE if isinstance(error, kind))(error, where)


@contextmanager
def as_backend_errors(where: Endpoint) -> Generator[None]:
    """Foreign exceptions become ours at the end of this block."""
    try:
        yield
    except FOREIGN_ERRORS as error:
        raise backend_error_of(error, where) from error
