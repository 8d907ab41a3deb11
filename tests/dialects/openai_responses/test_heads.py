"""Which conversation a request belongs to, by its headers."""

from __future__ import annotations

import pytest

from clew.dialects.openai_responses.requests import PATHS, ROUTES, session_of


@pytest.mark.parametrize(
    ("headers", "session"),
    [
        ({"session-id": "s", "thread-id": "s"}, ("s", "", "")),
        ({"session-id": "s", "thread-id": "t", "x-openai-subagent": "collab_spawn"}, ("s", "t", "collab_spawn")),
        ({"thread-id": "t"}, ("t", "", "")),
        ({"x-session-id": "s", "x-session-affinity": "other"}, ("s", "", "")),
        ({}, ("", "", "")),
    ],
    ids=["Codex", "a sub-agent of Codex", "a thread alone", "opencode", "nobody says"],
)
def test_a_conversation_is_known_by_its_thread(headers: dict[str, str], session: tuple[str, str, str]) -> None:
    assert session_of(headers) == session


def test_clients_ask_and_backends_are_asked_for_responses() -> None:
    assert ROUTES["/v1/responses"] == ROUTES["/responses"] == "messages"
    assert PATHS["messages"] == "/responses"
