"""All that a backend can repeat in a stream of the Responses API, by name: n of it, as the events of a whole answer."""

from collections.abc import Callable
from typing import Any

from tests.dialects.openai_responses.wire import (
    Json,
    added,
    argument_deltas,
    call,
    created,
    done,
    ended,
    event,
    message,
    reasoning,
    stream,
    text_deltas,
    thought_deltas,
)
from tests.growth.streams import Events, Repeats

TEXT, THOUGHT, CALL, CUSTOM = "response.output_text", "response.reasoning_text", "f", "custom_tool_call"


def _events(*events: Json | list[Json]) -> Events:
    """Each in a read of its own."""
    flat = [each for given in events for each in (given if isinstance(given, list) else [given])]
    return [stream(each) for each in flat]


def _grown(item: Json, whole: Json, *deltas: Json) -> Callable[[int], Events]:
    """One item that grows by n times these deltas."""
    return lambda n: _events(created(), added(0, item), [*deltas] * n, done(0, whole), ended())


def _items(make: Callable[[int], Json]) -> Callable[[int], Events]:
    return lambda n: _events(
        created(), [each for at in range(n) for each in (added(at, make(at)), done(at, make(at)))], ended()
    )


def _whole(make: Callable[[int], Json]) -> Callable[[int], Events]:
    """All of them in the last event alone."""
    return lambda n: _events(created(), ended(output=[make(at) for at in range(n)]))


def _parts(n: int) -> Events:
    deltas = [each for part in range(n) for each in text_deltas(0, "word", part=part)]
    return _events(created(), added(0, message("")), deltas, done(0, message("x")), ended())


def _summaries(n: int) -> Events:
    deltas = [each for part in range(n) for each in thought_deltas(0, "word", part=part)]
    return _events(created(), added(0, reasoning()), deltas, done(0, reasoning("rs_1", *["word"] * n)), ended())


def _in_turn(n: int) -> Events:
    """The second waits until the first is over."""
    turns = [each for _ in range(n) for at in range(2) for each in argument_deltas(at, " ")]
    calls = [call("", call_id=f"call_{at}") for at in range(2)]
    ends = [done(at, each) for at, each in enumerate(calls)]
    return _events(created(), [added(at, each) for at, each in enumerate(calls)], turns, ends, ended())


def _all_begun(n: int) -> Events:
    calls = [call("{}", call_id=f"call_{at}") for at in range(n)]
    begun, ends = [added(at, each) for at, each in enumerate(calls)], [done(at, each) for at, each in enumerate(calls)]
    return _events(created(), begun, ends[::-1], ended())


def _custom(**more: Any) -> Json:
    return {"id": "ctc_1", "type": CUSTOM, "call_id": "call_1", "name": "patch", "input": "", **more}


def _search(at: int) -> Json:
    return {"id": f"ws_{at}", "type": "web_search_call", "status": "completed"}


_NOTE = event(f"{TEXT}.annotation.added", output_index=0, content_index=0, annotation={"type": "url_citation", "url": "u"})
_CUSTOM_DELTA = event("response.custom_tool_call_input.delta", output_index=0, delta="word ")
_RAW = event(f"{THOUGHT}.delta", output_index=0, content_index=0, delta="word ")
_REFUSAL = event("response.refusal.delta", output_index=0, content_index=0, delta="no ")
_SAME = [added(0, call("")), done(0, call("{}"))]

RESPONSES: Repeats = {
    "words": _grown(message(""), message("x"), *text_deltas(0, "word ")),
    "white space": _grown(message(""), message(""), *text_deltas(0, " ")),
    "refusals": _grown(message(""), message("x"), _REFUSAL),
    "annotations": _grown(message(""), message("x"), *text_deltas(0, "word "), _NOTE),
    "words of a summary": _grown(reasoning(), reasoning("rs_1", "x"), *thought_deltas(0, "word ")),
    "words of a thought": _grown(reasoning(), reasoning("rs_1"), _RAW),
    "arguments": _grown(call(""), call(""), *argument_deltas(0, " ")),
    "arguments before the name": lambda n: _events(created(), argument_deltas(0, " ") * n, done(0, call("")), ended()),
    "texts for a custom tool": _grown(_custom(), _custom(), _CUSTOM_DELTA),
    "parts of a message": _parts,
    "parts of a summary": _summaries,
    "messages": _items(lambda at: message("word", f"msg_{at}")),
    "thoughts": _items(lambda at: reasoning(f"rs_{at}", "word")),
    "calls": _items(lambda at: call("{}", call_id=f"call_{at}")),
    "calls with one id": _items(lambda at: call("{}")),
    "custom calls": _items(lambda at: _custom(call_id=f"call_{at}", input="x")),
    "items of a new type": _items(_search),
    "items at one place": lambda n: _events(
        created(), [each for at in range(n) for each in (added(0, call("", call_id=f"c{at}")), done(0, call("{}")))], ended()
    ),
    "items that come twice": lambda n: _events(created(), _SAME * n, ended()),
    "items without a place": lambda n: _events(
        created(), [event("response.output_item.done", item=message("x"))] * n, ended()
    ),
    "messages in the last event": _whole(lambda at: message("word", f"msg_{at}")),
    "calls in the last event": _whole(lambda at: call("{}", call_id=f"call_{at}")),
    "calls in turn": _in_turn,
    "calls that are all begun": _all_begun,
    "keep-alives": lambda n: _events(created(), [event("keepalive")] * n, done(0, message("x")), ended()),
    "events of a new type": lambda n: _events(created(), [event("response.news")] * n, done(0, message("x")), ended()),
    "comments": lambda n: [stream(created()), *[b": hello\n\n"] * n, stream(done(0, message("x")), ended())],
    "events behind the end": lambda n: [*_events(done(0, message("x")), ended()), *[stream(created())] * n],
}
