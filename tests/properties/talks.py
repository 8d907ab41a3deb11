"""Generated conversations with several makers: every block type, tool loops, system messages, a client of either kind.

A talk is played turn by turn as a gateway would: the request is projected for the turn's backend, the answer recorded with
what really went ahead of it, and the client keeps its own copy.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from clew.model.blocks import made
from clew.model.origin import Origin
from clew.model.request import Request
from clew.pipeline.project import Projection, project
from clew.pipeline.step import Facts
from clew.thinking.record import recording_of
from clew.thinking.seal import Seal, Sealer
from clew.wire.requests import encode, parse
from tests.build import (
    GLM,
    OPUS,
    SONNET,
    Json,
    Scribe,
    assistant,
    redacted,
    system,
    target,
    text,
    thinking,
    tool_result,
    tool_use,
    user,
)

SEALER = Sealer({"k": b"s" * 32}, "k")
HAIKU = Origin(realm="anthropic", backend="claude", model="claude-haiku-4-5", account="me")
KIMI = Origin(realm="kimi", backend="kimi", model="kimi-k3", account="me")
PLAIN = Origin(realm="anthropic", backend="claude", model="claude-opus-4-7", account="me")
ORIGINS = [OPUS, SONNET, HAIKU, PLAIN, GLM, KIMI]
"""Two that check the prefix, one in manual mode, one without system messages, two other realms."""
TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]

_words = st.sampled_from(["OK", "yes", "done", " spaced ", 'é \u2028 "q"', "line\nline", "\\u0041"])
_kind = st.sampled_from(["thinking", "omitted", "redacted", "text", "tool", "server", "unknown", "empty"])


@dataclass(frozen=True)
class Turn:
    """One model call: who answers with what, and what the user sends next (besides tool results)."""

    origin: Origin
    kinds: tuple[str, ...]
    words: str
    ask: str
    note: str
    whole: bool


turns = st.lists(
    st.builds(
        Turn,
        origin=st.sampled_from(ORIGINS),
        kinds=st.lists(_kind, min_size=1, max_size=5).map(tuple),
        words=_words,
        ask=_words,
        note=st.sampled_from(["", "", "be brief"]),
        whole=st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


def spaced(message: Json) -> Json:
    """The message with another text in each thought, under the same signature."""
    if message["role"] != "assistant":
        return message
    blocks = [b | {"thinking": b["thinking"] + " "} if b["type"] == "thinking" else b for b in message["content"]]
    return message | {"content": blocks}


@dataclass
class Sending:
    """One request as the client sent it and as it went out."""

    turn: Turn
    asked: Request
    raw: bytes
    projection: Projection
    shelf: Any


class Played:
    """A talk, played. `hides` is the client that shows each model only its own thinking. `changes` says in which of every
    four requests the client has a space behind the text of each thought."""

    def __init__(
        self, turns: list[Turn], *, hides: bool, style: dict[str, Any], changes: frozenset[int] = frozenset()
    ) -> None:
        self.scribe = Scribe()
        self.hides = hides
        self.changes = changes
        self.style = style
        self.history: list[Json] = [user("begin")]
        self.makers: list[str] = [""]
        self.made: dict[str, tuple[str, Json]] = {}
        """Every proof as the client holds it: whose realm, and the block as its maker said it."""
        self.sendings: list[Sending] = []
        self._count = itertools.count(1)
        for turn in turns:
            self._play(turn)

    def facts(self) -> Facts:
        return Facts(recordings=self.scribe.shelf, context=self.scribe.context, sealer=SEALER)

    def _play(self, turn: Turn) -> None:
        raw = self._body(turn)
        asked = parse(raw)
        projection = project(asked, target(turn.origin), self.facts())
        self.sendings.append(Sending(turn, asked, raw, projection, self.scribe.shelf))
        native = self._answer(turn)
        held = [self._held(turn.origin, index, block) for index, block in enumerate(native)]
        self.scribe.shelf.add(self._recording(turn, asked, projection, native, held))
        self._keep(turn, held)

    def _body(self, turn: Turn) -> bytes:
        messages = [
            self._hidden(message)
            if self.hides and message["role"] == "assistant" and maker != turn.origin.model
            else message
            for message, maker in zip(self.history, self.makers, strict=True)
        ]
        if len(self.sendings) % 4 in self.changes:
            messages = [spaced(message) for message in messages]
        thinking = {"type": "enabled", "budget_tokens": 1024} if turn.origin is HAIKU else {"type": "adaptive"}
        body = {"model": turn.origin.model, "max_tokens": 2000, "messages": messages, "tools": TOOLS, "thinking": thinking}
        return json.dumps(body, **self.style).encode("utf-8", "surrogatepass")

    def _hidden(self, message: Json) -> Json:
        rest = [block for block in message["content"] if block["type"] not in ("thinking", "redacted_thinking")]
        return {"role": "assistant", "content": rest or [text("No response requested.")]}

    def _answer(self, turn: Turn) -> list[Json]:
        blocks: list[Json] = []
        for kind in turn.kinds:
            number = next(self._count)
            proof = f"{turn.origin.realm}-{number}"
            blocks += {
                "thinking": [thinking(f"{turn.words}{number}", proof)],
                "omitted": [thinking("", proof)],
                "redacted": [redacted(proof)],
                "text": [text(turn.words)],
                "tool": [tool_use(f"toolu_{number}", command=turn.words)],
                "server": [
                    {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search", "input": {}},
                    {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": []},
                ],
                "unknown": [{"type": "novelty", "payload": [1, {"x": 12345678901234567890}]}],
                "empty": [],
            }[kind]
        visible = [block for block in blocks if block["type"] not in ("thinking", "redacted_thinking")]
        return blocks if visible and blocks[-1] in visible else [*blocks, text("end")]

    def _held(self, origin: Origin, index: int, block: Json) -> Json:
        field = {"thinking": "signature", "redacted_thinking": "data"}.get(block["type"])
        if field is None:
            return block
        held = dict(block)
        if origin.realm != "anthropic":
            seal = Seal("local", origin, f"e{next(self._count)}", index, block[field].encode())
            held[field] = SEALER.mint(seal, block.get("thinking", ""))
        self.made[held[field]] = (origin.realm, block)
        return held

    def _recording(self, turn: Turn, asked: Request, projection: Projection, native: list[Json], held: list[Json]) -> Any:
        return recording_of(
            f"r{next(self._count)}",
            asked=asked,
            going=projection.request,
            blocks=[json.dumps(block).encode() for block in native],
            held=[made(json.dumps(block).encode()) for block in held],
            origin=turn.origin,
            shelf=self.scribe.shelf,
            context=self.scribe.context,
            whole=turn.whole,
        )

    def _keep(self, turn: Turn, held: list[Json]) -> None:
        tools = [block["id"] for block in held if block["type"] == "tool_use"]
        results = [tool_result(id, turn.ask) for id in tools]
        self._add(assistant(*held), turn.origin.model)
        self._add(user(*results) if results else user(turn.ask), "")
        if turn.note:
            self._add(system(turn.note), "")

    def _add(self, message: Json, maker: str) -> None:
        self.history.append(message)
        self.makers.append(maker)


played = st.builds(
    Played,
    turns,
    hides=st.booleans(),
    style=st.sampled_from([{}, {"indent": 1}, {"separators": (",", ":"), "ensure_ascii": False}]),
    changes=st.sampled_from([frozenset(), frozenset({0, 1, 2, 3}), frozenset({1, 2})]).map(frozenset[int]),
)


def sent_messages(sending: Sending) -> list[Json]:
    return json.loads(encode(sending.projection.request))["messages"]
