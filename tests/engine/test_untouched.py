"""Untouched is untouched: what need not change reaches the backend byte for byte, and so does the answer the client."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.facts.models import profile_for
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.testing import Simulator
from clew.wire.requests import encode, parse
from tests.build import GLM, OPUS, Json, assistant, redacted, request, target, text, thinking, user
from tests.conversations.asked import Asked
from tests.conversations.legal import legal_requests
from tests.conversations.scene import Wish
from tests.counts import examples
from tests.engine.conftest import STRICT, Gating
from tests.engine.gate import Answer, Gate, claude
from tests.engine.talk import MODEL, Direct, Talk
from tests.manifest import proves, public
from tests.simulator.test_judge_captures import CAPTURES, REFUSED, read

pytestmark = pytest.mark.slow

STYLES: list[dict[str, Any]] = [
    {},
    {"indent": 1},
    {"separators": (",", ":"), "ensure_ascii": False},
    {"sort_keys": True, "separators": (" , ", " : ")},
]


class Twins:
    """The same vendor twice, once behind a gateway and once without."""

    def __init__(self, stack: ExitStack, home: Path) -> None:
        self.behind = stack.enter_context(Simulator(stance=STRICT))
        self.bare = stack.enter_context(Simulator(stance=STRICT))
        self.gate = stack.enter_context(Gate(home, claude(self.behind)))

    def ask(self, raw: bytes, headers: dict[str, str], path: str) -> tuple[Answer, Answer]:
        """The answer through the gateway, and the one without it."""
        for simulator in (self.behind, self.bare):
            simulator.reset()
        own = dialect_of(headers)
        return self.gate.ask(raw, headers=own, path=path), Direct(self.bare).ask(raw, headers=own, path=path)

    def headers(self) -> dict[str, str]:
        """The dialect's own headers that came to the vendor behind the gateway."""
        return dialect_of(dict(self.behind.journal()[0]["headers"]))

    def sent(self) -> list[bytes]:
        """What came to the vendor behind the gateway."""
        return [self.behind.body(entry["n"]) for entry in self.behind.journal()]


def dialect_of(headers: dict[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in headers.items() if name.startswith(("anthropic-", "x-stainless-", "x-claude-code-"))
    }


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    with ExitStack() as stack:
        yield Twins(stack, tmp_path_factory.mktemp("untouched"))


def renamed(raw: bytes, model: str) -> bytes:
    """The answer under the name that was asked for."""
    return re.sub(rb'("model":\s*)"[^"]*"', rb"\1" + json.dumps(model).encode(), raw, count=1)


def same_but_for_the_name(mine: Answer, theirs: Answer, model: str) -> bool:
    return (mine.status, mine.raw) == (theirs.status, renamed(theirs.raw, model) if theirs.status == 200 else theirs.raw)


def has_seal(asked: Asked) -> bool:
    return "clew1." in json.dumps(asked.body)


@public("gateway")
@proves("req:C21")
@given(asked=legal_requests().filter(lambda asked: not has_seal(asked)), style=st.sampled_from(STYLES))
@settings(max_examples=examples(24, soak=1200), deadline=None)
def test_a_legal_request_arrives_byte_for_byte_and_so_does_its_answer(twins: Twins, asked: Asked, style: Json) -> None:
    """C21, law 5: every block type, every model, every spelling; to count or to answer."""
    raw = json.dumps(asked.body, **style).encode("utf-8", "surrogatepass")
    mine, theirs = twins.ask(raw, dict(asked.headers), "/v1/messages/count_tokens" if asked.counting else "/v1/messages")
    first, *repaired = twins.sent()
    assert (first, twins.headers()) == (raw, asked.headers)
    if not repaired:  # signatures that were made up are refused, and then left out
        assert same_but_for_the_name(mine, theirs, asked.body["model"])


@public("gateway")
@proves("req:C21")
@pytest.mark.parametrize("capture", [path for path in CAPTURES if path.stem not in REFUSED], ids=lambda path: path.stem)
@pytest.mark.parametrize("style", STYLES[:3])
def test_what_a_real_client_sent_arrives_byte_for_byte(twins: Twins, capture: Path, style: Json) -> None:
    """C21: Claude Code of two versions, the SDKs, opencode, the AI SDK. (The marks were for another simulator.)"""
    body, headers, path = read(capture)
    raw = json.dumps(json.loads(body.replace(b"[[scenario:", b"[[")), **style).encode()
    mine, theirs = twins.ask(raw, headers, path)
    first, *repaired = twins.sent()
    assert (first, twins.headers()) == (raw, dialect_of(headers))
    assert twins.behind.journal()[0]["query"] == path.partition("?")[2]
    if not repaired:
        assert same_but_for_the_name(mine, theirs, json.loads(body)["model"])


@public("gateway")
@proves("req:C21")
@pytest.mark.parametrize(
    "scenario", ["interleaved", "redacted", "pings", "small-pieces", "unknown-block", "fallback", "usage"]
)
@pytest.mark.parametrize("stream", [True, False])
def test_every_shape_of_an_answer_passes_byte_for_byte(twins: Twins, scenario: str, stream: bool) -> None:
    """Law 5: pings, padding, unknown blocks and events too."""
    body = {"model": MODEL, "max_tokens": 2000, "messages": [user(f"[[scenario:{scenario}]]")], "stream": stream}
    mine, theirs = twins.ask(json.dumps(body).encode(), {}, "/v1/messages")
    assert (mine.status, mine.raw) == (200, theirs.raw)


@public("gateway")
@proves("req:C21")
def test_a_whole_conversation_is_untouched_as_long_as_nothing_has_to_change(twins: Twins) -> None:
    """Recognised, recorded, and still the client's own bytes, turn for turn."""
    talk = Talk(twins.gate)
    for turn in range(4):
        talk.says(f"Question {turn}.")
        body = json.dumps({**talk.body, "messages": talk.messages[:-1]}).encode()
        assert twins.behind.body(twins.behind.journal()[-1]["n"]) == body


@public("gateway")
@proves("req:C21")
def test_where_something_must_change_every_other_byte_stays(gating: Gating, a: Simulator) -> None:
    """Law 5: the one value is spliced."""
    gate = gating(claude(a, models={"opus": "claude-opus-4-8"}))
    raw = b'{ "max_tokens" : 1e3,\t"model":"claude-opus-5-5" ,"messages":[{"role":"user","content":"\\u0041\xc3\xa9"}]\n}'
    gate.ask(raw)
    assert a.body(1) == raw.replace(b"claude-opus-5-5", b"claude-opus-4-8")


@proves("req:C22")
def test_a_projection_copies_nothing_that_it_does_not_change() -> None:
    """C22: purity without a deep copy: untouched messages are the very same objects, and the input is as it was."""
    messages = [
        user("One."),
        assistant(thinking("Hm.", "s"), "Yes."),
        user("Two."),
        assistant(redacted("d"), "No."),
        user("?"),
    ]
    asked = request(*messages, model=OPUS.model)
    before = encode(asked)

    same = project(asked, target(OPUS), Facts()).request
    assert same is asked

    going = project(asked, target(GLM), Facts()).request
    assert [now is then for now, then in zip(going.messages, asked.messages, strict=True)] == [
        True,
        False,
        True,
        False,
        True,
    ]
    assert going.source is asked.source
    assert encode(asked) == before == encode(parse(before))


@given(asked=legal_requests(Wish(mode="adaptive", counting=False)).filter(lambda asked: not has_seal(asked)))
@settings(max_examples=examples(24, soak=1200), deadline=None)
def test_towards_claude_a_legal_request_has_no_change_to_report(asked: Asked) -> None:
    """Design §3: from a client of Claude almost nothing changes, and then nothing is written again."""
    raw = json.dumps(asked.body).encode("utf-8", "surrogatepass")
    betas = tuple(word for word in asked.headers.get("anthropic-beta", "").split(",") if word)
    reader = target(OPUS, model=asked.body["model"], profile=profile_for(asked.body["model"]))
    projection = project(parse(raw, betas=betas), reader, Facts(version=asked.headers["anthropic-version"]))
    assert (projection.body, projection.changes) == (raw, ())


def test_an_empty_answer_is_told_from_its_start_to_its_end(twins: Twins) -> None:
    """No block at all: `message_start` and the end, nothing lost."""
    body = {"model": MODEL, "max_tokens": 2000, "messages": [user(text("[[scenario:text]]"))], "stream": True}
    twins.behind.reset()
    twins.behind.fault("omit content_block_start,content_block_delta,content_block_stop")
    answer = twins.gate.ask(body)
    assert [kind for kind in answer.kinds if kind != "ping"] == ["message_start", "message_delta", "message_stop"]
