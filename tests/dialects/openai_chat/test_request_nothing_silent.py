"""Law 6 for requests: whatever the client sent is in the bytes that go out, or a change names it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai_chat.options import ChatOptions, ChatRequestOptions
from clew.dialects.openai_chat.requests import write_request
from clew.model.change import Change
from clew.wire.requests import parse
from tests.build import Json, request, text, user
from tests.counts import examples
from tests.dialects.openai_chat.encoding import changes

SPOKEN = frozenset({"type", "role", "model", "effort"})
"""Words of the protocol, which have others over there."""
PROOF = frozenset({"signature"})
"""A maker's proof, which is nobody's words; whether the thought goes is another test."""


class Marked:
    """Builds requests in which every value of the client's is a word of its own."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw
        self._numbers = itertools.count()

    def mark(self) -> str:
        return f"w{next(self._numbers):04d}w"

    def one(self, *choices: Any) -> Any:
        return self._draw(st.sampled_from(choices))

    def some(self, **fields: Callable[[], Any]) -> Json:
        return {name: make() for name, make in fields.items() if self._draw(st.booleans())}

    def several(self, make: Callable[[], Any], most: int = 2) -> list[Any]:
        return [make() for _ in range(self._draw(st.integers(0, most)))]

    def extras(self) -> Json:
        return self.some(
            cache_control=lambda: {"type": "ephemeral", "ttl": self.mark()},
            citations=lambda: [{"cited_text": self.mark()}],
            unheard_of=lambda: {"deep": [self.mark()]},
        )

    def text(self) -> Json:
        return {"type": "text", "text": self.mark(), **self.extras()}

    def image(self) -> Json:
        linked = {"type": "url", "url": f"https://example.org/{self.mark()}"}
        here = {"type": "base64", "media_type": "image/png", "data": self.mark(), **self.some(detail=self.mark)}
        return {"type": "image", "source": self.one(linked, here), **self.extras()}

    def document(self) -> Json:
        sources = (
            {"type": "text", "media_type": "text/plain", "data": self.mark()},
            {"type": "content", "content": [self.text()]},
            {"type": "base64", "media_type": "application/pdf", "data": self.mark()},
        )
        return {
            "type": "document",
            "source": self.one(*sources),
            **self.some(title=self.mark, context=self.mark),
            **self.extras(),
        }

    def search_result(self) -> Json:
        return {
            "type": "search_result",
            "source": self.mark(),
            "title": self.mark(),
            "content": [self.text()],
            **self.extras(),
        }

    def content(self) -> Json:
        return self.one(self.text, self.image, self.document, self.search_result)()

    def result(self) -> Json:
        inner = self.one(
            self.mark, lambda: self.several(self.content), lambda: [{"type": "tool_reference", "tool_name": "T"}]
        )
        more = self.some(is_error=lambda: True)
        return {"type": "tool_result", "tool_use_id": self.mark(), "content": inner(), **more, **self.extras()}

    def call(self) -> Json:
        return {"type": "tool_use", "id": self.mark(), "name": self.mark(), "input": {"a": self.mark()}, **self.extras()}

    def answer_block(self) -> Json:
        thought = {"type": "thinking", "thinking": self.mark(), "signature": self.mark()}
        server = {"type": "server_tool_use", "id": self.mark(), "name": "web_search", "input": {"query": self.mark()}}
        return self.one(self.text, self.call, lambda: thought, lambda: server)()

    def message(self) -> Json:
        config = self.some(output_config=lambda: self.some(effort=lambda: self.one("low", "max"), other=self.mark))
        said = self.one(
            lambda: {"role": "user", "content": self.one(self.mark(), self.several(self.content))},
            lambda: {"role": "user", "content": [*self.several(self.result), *self.several(self.text)]},
            lambda: {"role": "assistant", "content": self.several(self.answer_block, 3)},
            lambda: {"role": "system", "content": self.several(self.text), **config},
        )
        return {**said(), **self.some(unheard_of=self.mark)}

    def schema(self) -> Json:
        return {"type": "object", "properties": {"p": {"type": "string", "description": self.mark()}}}

    def tool(self) -> Json:
        more = self.some(description=self.mark, strict=lambda: True, input_examples=lambda: [self.mark()])
        return {"name": self.mark(), "input_schema": self.schema(), **more, **self.some(defer_loading=lambda: True)}

    def request(self) -> Json:
        return {
            "model": "m",
            "max_tokens": 9000,
            "messages": self.several(self.message, 4),
            **self.some(
                system=lambda: self.one(self.mark(), self.several(self.text)),
                tools=lambda: self.several(self.tool),
                tool_choice=lambda: self.one({"type": "any"}, {"type": "tool", "name": self.mark(), "later": self.mark()}),
                metadata=lambda: {"user_id": self.mark() * self.one(1, 20), **self.some(team=self.mark)},
                stop_sequences=lambda: self.several(self.mark, 3),
                context_management=lambda: {"edits": [{"type": self.mark()}]},
                container=self.mark,
                safeguards=lambda: [{"type": self.mark()}],
                service_tier=self.mark,
                output_config=lambda: self.some(
                    effort=lambda: self.one("low", "max"),
                    task_budget=self.mark,
                    format=lambda: {"type": "json_schema", "schema": self.schema(), **self.some(name=self.mark)},
                ),
                thinking=lambda: {"type": "adaptive", **self.some(display=self.mark, block_binding=self.mark)},
            ),
        }


@st.composite
def marked_requests(draw: Any) -> Json:
    return Marked(draw).request()


wires = st.builds(
    ChatRequestOptions,
    knob=st.sampled_from(["", "deepseek", "openrouter"]),
    reasoning=st.sampled_from(["", "reasoning_content"]),
    reasoning_text=st.booleans(),
    late_system=st.sampled_from(["system", "user"]),
    apart=st.frozensets(st.sampled_from(["tool user", "user user", "assistant assistant"])),
    images=st.sampled_from(["take", "omit"]),
    tool_images=st.booleans(),
    documents=st.sampled_from(["file", "omit"]),
    call_ids=st.sampled_from(["kept", "nine"]),
    strict_tools=st.booleans(),
    forced=st.sampled_from(["as asked", "auto", "thinking off"]),
    stops=st.sampled_from([0, 1, 4]),
    schema=st.sampled_from(["json_schema", "json_object", "none"]),
    user=st.sampled_from(["user", ""]),
    drop=st.sampled_from([frozenset[str](), frozenset({"stop", "user", "tool_choice"})]),
)


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, (*path, str(place)))
    elif isinstance(value, str) and not SPOKEN.intersection(path[-1:]):
        yield path, value


def names(change: Change, path: tuple[str, ...]) -> bool:
    """A change names what is at its place or below; one for many names what has the same key."""
    steps = tuple(change.path.split("."))
    return path[: len(steps)] == steps or (
        change.why.endswith("more like it)") and steps[-1] in (*path, "tool_use_id", "id")
    )


@settings(max_examples=examples(48, soak=4000), deadline=None)
@given(marked_requests(), wires)
def test_what_the_client_sent_goes_out_or_a_change_names_it(sent: Json, wire: ChatRequestOptions) -> None:
    encoded = write_request(parse(json.dumps(sent).encode()), ChatOptions(wire))
    out = encoded.body.decode()

    lost = [
        path
        for path, value in leaves(sent)
        if value not in out
        and PROOF.isdisjoint(path)
        and value.split("/")[-1] not in out
        and not any(names(change, path) for change in encoded.changes)
    ]

    assert lost == []


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(marked_requests(), wires)
def test_a_change_names_a_place_of_the_clients_request(sent: Json, wire: ChatRequestOptions) -> None:
    """Or, for what was put in, the place where it stands."""
    for change in write_request(parse(json.dumps(sent).encode()), ChatOptions(wire)).changes:
        *steps, last = change.path.split(".")
        at: Any = sent
        for step in steps:
            at = at[int(step)] if isinstance(at, list) else at[step]
        assert change.what in ("added", "set") or (int(last) < len(at) if isinstance(at, list) else last in at), change


def test_cache_marks_are_one_change_however_many_there_are() -> None:
    mark = {"type": "ephemeral"}
    asked = request(
        *(user(text("a", cache_control=mark)) for _ in range(50)),
        system=[text("s", cache_control=mark)],
        tools=[{"name": "T", "input_schema": {"type": "object"}, "cache_control": mark}],
    )

    (change,) = changes(asked)

    assert (change.path, change.what) == ("system.0.cache_control", "left out")
    assert change.why.endswith("(and 51 more like it)")


def test_keys_that_are_null_are_not_there() -> None:
    """Anthropic's own answers come back with `citations: null`."""
    assert changes(request(user(text("a", citations=None, cache_control=None)))) == ()


def test_betas_are_named_once() -> None:
    asked = parse(b'{"model":"m","messages":[]}', betas=["a-2026", "b-2026"])

    (change,) = write_request(asked, ChatOptions()).changes

    assert (change.path, change.what) == ("anthropic-beta", "left out")
    assert change.why.endswith("a-2026, b-2026")
