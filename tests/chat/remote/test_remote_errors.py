"""Exceptions over a wire."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from clew import errors
from clew.chat.remote.protocol import RemoteError, error_of, refusal_of, remote_error_of
from clew.errors import BackendBroken, BodyTooLarge, ClewError, RequestInvalid, SettingsInvalid

GIVEN: dict[str, Any] = {
    "path": "messages.3.content.0",
    "line": 3,
    "column": None,
    "state": "open",
    "event": "ping",
    "name": "a name",
    "expected": "text",
    "actual": "thinking",
    "phase": "gap",
    "status": 429,
    "retry_after": 2.5,
    "body": b'{"error": "\xff"}',
    "file": "clew.db",
    "key": "store",
}
"""What exceptions are made with."""

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ClewError)]
"""All that there are, and not only those that are listed."""


def made(kind: type[ClewError]) -> ClewError:
    """One that holds all that it can."""
    takes: dict[str, object] = getattr(kind.__init__, "__annotations__", {})
    return kind("why", **{name: value for name, value in GIVEN.items() if name in takes})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_exception_arrives_as_what_it_was(kind: type[ClewError]) -> None:
    """Class, words, and all that it holds, over JSON."""
    error = made(kind)
    told = msgspec.json.decode(msgspec.json.encode(remote_error_of(error)), type=RemoteError)
    again = error_of(told)
    assert (type(again), again.args, vars(again)) == (kind, ("why",), vars(error))
    assert (again.status, again.error_type) == (error.status, error.error_type)


def test_what_is_not_clews_own_is_not_told_in_detail() -> None:
    again = error_of(remote_error_of(ValueError("a secret")))
    assert (type(again), str(again)) == (ClewError, "the gateway failed: ValueError")


def test_a_class_of_a_newer_gateway_is_the_base_of_all() -> None:
    assert type(error_of(RemoteError(kind="OfTomorrow", message="why"))) is ClewError


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, RequestInvalid), (401, SettingsInvalid), (403, SettingsInvalid), (404, RequestInvalid), (413, BodyTooLarge)],
)
def test_a_refusal_that_is_no_exception_is_told_as_what_it_means(status: int, kind: type[ClewError]) -> None:
    problem = {"error": {"what": "no", "why": "this cannot be", "next": ""}}
    told = refusal_of(status, json.dumps(problem).encode())
    assert (type(told), str(told)) == (kind, "the gateway: no: this cannot be")


@pytest.mark.parametrize("body", [b"<html>", b'{"type": "error", "error": {"type": "not_found_error", "message": "no"}}'])
def test_what_is_no_gateways_answer_says_so_and_asks_for_the_address(body: bytes) -> None:
    """The address for clients is the likely mistake."""
    told = refusal_of(404, body)
    assert type(told) is BackendBroken
    assert str(told).startswith("no gateway's admin answers so (404); is this its address, and not the one for clients?")
