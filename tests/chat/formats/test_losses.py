"""Each format says what it loses, each loss is shown here, and no secret is in any of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clew.chat.formats import FORMATS
from clew.chat.formats.documents import BRANCHES, FOREIGN, MARKS, ORIGINS, UNKEPT
from clew.chat.formats.pages import FOR_PEOPLE
from clew.model.change import Change
from clew.model.origin import Origin
from clew.model.turn import Bodies, TokenUsage, TurnRecord
from clew.store.sqlite.store import SqliteStore
from tests.build import redacted, text, thinking, tool_result, tool_use, user
from tests.chat.formats.stored import exported, stored
from tests.store.turns import NOON, recorded, turn

CLAUDE = Origin("anthropic", "claude-backend", "claude-opus-5-5", "claude-account")
OTHER = Origin("other", "other-backend", "glm-5", "other-account")


def said(
    id: str, *blocks: Any, asked: Any = "go on", at: float = 0.0, bodies: Bodies | None = None, **more: Any
) -> TurnRecord:
    recording = recorded(id, blocks=tuple(json.dumps(block).encode() for block in blocks), **more)
    fields: dict[str, Any] = {
        "asked_model": "asked-model",
        "usage": TokenUsage(input=987_654, output=1),
        "changes": (Change("thinking", "messages.1", "left out", "the-reason"),),
    }
    made = turn(recording, at=NOON + at, bodies=bodies, **fields)
    return msgspec.structs.replace(made, asked=(json.dumps(user(asked)).encode(),))


def rich() -> list[TurnRecord]:
    server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "server-query"}}
    first = said(
        "r0",
        thinking("claude-thought", "claude-signature"),
        redacted("claude-data"),
        text("First.", citations=[{"type": "char_location", "cited_text": "citation"}]),
        tool_use("toolu_1", command="ls"),
        origin=CLAUDE,
        bodies=Bodies(asked=b'{"whole":"request-body"}', sent=b"", answered=b""),
    )
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aW1hZ2U="}}
    side = said("side", text("Side branch."), at=1, origin=CLAUDE, followed="r0")
    reminder = text("<system-reminder>reminder-words</system-reminder>")
    asked = [tool_result("toolu_1", "a b"), image, reminder, text("look", cache_control={"type": "ephemeral"})]
    other = said("r1", thinking("other-thought", "other-signature"), text("Other."), at=2, origin=OTHER, followed="r0")
    other = msgspec.structs.replace(other, asked=(json.dumps({"role": "user", "content": asked}).encode(),))
    last = said("r2", server, text("Last **bold**."), at=3, origin=CLAUDE, followed="r1")
    never = msgspec.structs.replace(turn(at=NOON + 4), asked=(b'{"role":"user","content":"never answered"}',))
    return [first, side, other, last, never]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with stored(tmp_path / "clew.db", *rich()) as store:
        yield store


Shown = Callable[[bytes], bool]


def without(*words: str) -> Shown:
    return lambda raw: not any(word.encode() in raw for word in words)


def _bare(raw: bytes) -> bool:
    return set(json.loads(raw)) <= {"model", "messages", "max_tokens", "metadata"}


SHOWN: dict[str, Shown] = {
    "the complete requests and answers of the exchange page": without("request-body"),
    BRANCHES: without("Side branch.", "never answered"),
    FOREIGN: without("other-thought", "other-signature"),
    ORIGINS: without("other-backend", "claude-account", "987654", "the-reason", "2027-01-15"),
    UNKEPT: _bare,
    "signatures and redacted thinking, so no backend can get its own thinking back": without(
        "claude-signature", "claude-data", "other-signature"
    ),
    "blocks that chat messages do not have: server tools, citations": without("server-query", "citation"),
    "cache marks, and fields that need a beta": without("ephemeral"),
    MARKS: without("ephemeral", '"role":"system"'),
    "system text and reminders (a line gives the length of each)": without("reminder-words"),
    "the backend and account of each answer, and the changes to its request": without(
        "other-backend", "claude-account", "the-reason"
    ),
    "the model that answered, if the client asked for another one": without("glm-5"),
    FOR_PEOPLE[0]: without("claude-signature", "claude-data", "toolu_1", "987654", "the-reason", "aW1hZ2U="),
}
ELSEWHERE = {
    "when a block was last seen in a request",
    "Claude Code's attachments (a model that binds its thinking to all text before it then drops that thinking)",
}
"""Shown by other tests: of what is for people, of what a touch leaves behind, and of the real client."""
WORDS = {"the difference between the model's Markdown and the page's own", "the formatting of the model's Markdown"}


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_format_says_that_it_loses_is_not_in_it(store: SqliteStore, name: str) -> None:
    raw = exported(store, name)
    losses = set(FORMATS[name].losses)
    assert losses <= SHOWN.keys() | ELSEWHERE | WORDS
    assert [loss for loss in losses & SHOWN.keys() if not SHOWN[loss](raw)] == []
    assert [loss for loss in losses & WORDS if b"Last **bold**." not in raw] == []


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_format_does_not_say_that_it_loses_is_in_it(store: SqliteStore, name: str) -> None:
    raw = exported(store, name)
    assert [
        word for word in ("First.", "Other.", "Last **bold**.", "a b", "look", "go on") if word.encode() not in raw
    ] == []
    if name != "claude-code" and name != "anthropic":
        assert b"other-thought" in raw
    if BRANCHES not in FORMATS[name].losses:
        assert b"Side branch." in raw
        assert b"never answered" in raw
    if name in ("clew", "anthropic", "claude-code"):
        assert b"claude-signature" in raw
        assert b"claude-data" in raw
        assert b"server-query" in raw


def test_that_a_block_was_seen_again_leaves_no_trace_in_an_export(store: SqliteStore) -> None:
    before = exported(store)
    store.touch("local", keys=recorded("r0").keys, recordings=["r0"], at=NOON + 99_999).result(120)
    assert exported(store) == before


CANARIES = ("sk-ant-canary-of-the-client", "canary-of-the-gateway", "canary-of-the-backend")


@pytest.mark.parametrize("name", FORMATS)
def test_no_credential_is_in_any_export(tmp_path: Path, name: str) -> None:
    """Bodies and settings are the only rows that could ever hold one, and neither goes out."""
    client, gateway, backend = (each.encode() for each in CANARIES)
    bodies = Bodies(asked=client, sent=backend, answered=gateway)
    kept = turn(recorded("r"), bodies=bodies)
    with stored(tmp_path / "clew.db", kept) as store:
        store.set("key", CANARIES[1], at=NOON).result(120)
        raw = exported(store, name)
    assert [canary for canary in CANARIES if canary.encode() in raw] == []
    assert b"Answer r." in raw
