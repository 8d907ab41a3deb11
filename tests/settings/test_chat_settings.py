"""`[chat]`: origins in full, and nothing that would stand for several."""

import pytest

from clew.settings.examine import examine
from clew.settings.values import ChatSettings, options_of


def test_a_file_may_leave_the_chat_to_its_defaults() -> None:
    examined = examine({}, {}, keys=False)
    assert examined.settings is not None
    assert examined.settings.chat == ChatSettings(
        origins=(), model="", system="", thinking=True, effort="", max_tokens=16_000
    )


@pytest.mark.parametrize("origin", ["https://app.example", "http://localhost:3000", "http://[::1]:5173"])
def test_an_origin_is_written_as_a_browser_sends_it(origin: str) -> None:
    """reliability 4.1."""
    examined = examine({"chat": {"origins": [origin]}}, {}, keys=False)
    assert examined.settings is not None
    assert examined.settings.chat.origins == (origin,)


@pytest.mark.parametrize(
    "origin", ["*", "https://*.example", "https://app.example/", "https://app.example/page", "app.example", "null"]
)
def test_nothing_else_is_taken_for_an_origin(origin: str) -> None:
    """reliability 4.1: no wildcard."""
    examined = examine({"chat": {"origins": [origin]}}, {}, keys=False)
    assert [(each.key, each.says) for each in examined.problems] == [
        (("chat", "origins", 0), "expected an origin in full: https://host, or http://host:port")
    ]


def test_reordered_thinking_is_for_chats_alone() -> None:
    """What a client sends through the gateway keeps its order."""
    settings = examine({"chat": {"thinking_first": "reorder"}}, {}, keys=False).settings
    assert settings is not None
    assert (settings.chat.thinking_first, options_of(settings).thinking_first) == ("reorder", "keep")


def test_thinking_first_is_kept_or_reordered_and_nothing_else() -> None:
    [problem] = examine({"chat": {"thinking_first": "first"}}, {}, keys=False).problems
    assert (problem.key, problem.says) == (("chat", "thinking_first"), "expected one of keep, reorder")
