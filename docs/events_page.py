"""The page about the events of a streamed answer. Its sequences are what `clew.Translator` makes of the chunks above."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

from clew import Translator
from clew.dialects.openai_chat.endings import stop_of
from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.stream_chunks import ChunkChoice
from clew.dialects.openai_chat.streams import ChatStreamReader
from clew.dialects.shape import AnswerContext
from clew.engine.log.request_log import RequestLog
from clew.pipeline.stream.translation import TracedReader
from clew.settings.values import LogSettings

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]
Start = Literal["lazy", "eager"]

HEAD = """# The events of an answer

What a client of the Messages API gets, event by event, when its answer comes from a backend in dialect `openai-chat`. Every
sequence here is made by the code itself; `clew.Translator` makes the same ones without a gateway.
[Translation](../concepts/translation.md) says why it is done this way.

## Two ways to begin
"""

STARTS = (
    ('`"lazy"` (the default)', '`"lazy"`', "`message_start`, `ping`", "with the first chunk of the backend"),
    (
        *('`"eager"`', '`"eager"`', "`message_start`, `content_block_start` of an empty text, `ping`"),
        "as soon as the backend has accepted the request",
    ),
)

PINGS = """
An eager answer begins with an empty text block. If the backend sends text first, it goes into that block. Otherwise the
block ends empty, and the next block has index 1. While nothing else is sent, clew sends pings: after
`[gateway] ping_seconds`, or each second in an eager answer and while the backend sends things that cannot be shown.

## Blocks and their deltas

One block is open at a time. Indices count from 0 without gaps; each block starts once and stops once.
"""

BLOCKS = (
    ("thinking", "`reasoning`, `reasoning_content`, `reasoning_details`, thinking parts, tags", "`thinking_delta`"),
    ("text", "`content`, `refusal`", "`text_delta`"),
    ("tool_use", "`tool_calls`, `function_call`", "`input_json_delta`"),
)

SIGNATURES = """
A thinking block starts with an empty `signature`. Just before its stop there is one `signature_delta` with a
[seal](../concepts/thinking-across-backends.md#seals); with `[thinking] signature = "empty"` there is none.

A `thinking_delta` never has what came as `content`, and a `text_delta` never what came as reasoning. A delta that has both
becomes two: the thought is closed first. White space alone opens no block.
"""

END = """## The end

The last events are `message_delta`, with the stop reason and the usage, and `message_stop`. Calls that were seen weigh more
than the word, a cut and a refusal weigh more than calls.
"""

BREAK = """
A stream that ends with neither a finish reason nor `[DONE]`, and one in which an error comes, is broken off: the open block
gets no stop, and `error` is the last event. So nobody takes half a thought or half a call for a whole one.

`usage` in `message_start` has the last known size of the prompt, for nobody has counted yet. In `message_delta` it is what
the backend counted last: totals are never added up. If it counted no output, that is an estimate of what came, and
`"output_tokens_estimated": true` stands beside it; the log, the store and the pages mark it with "about" or ≈.

## What goes wrong, and where to look
"""

PROBLEMS = (
    (
        "reasoning is shown as text",
        "the backend sends it in tags, or in a field that nobody told clew of",
        "`speech.tags` of the backend's table: [Backends](backends.md)",
    ),
    ("no thinking at all", "the backend hides it, or was not asked for it", "`clew models`, `clew backends`"),
    ("an empty text block in front", '`stream_start = "eager"`', 'leave it at `"lazy"`: few clients need more'),
    (
        "the client waits, and nothing comes",
        "the backend thinks without a word",
        '`stream_start = "eager"`, or a smaller `ping_seconds`',
    ),
    ("an `error` event in the middle", "the backend broke off", "`clew log`, and the line `Broke off …` below"),
    ("a call is not run", "its arguments are no JSON, or it was cut (`max_tokens`)", "`clew log` names it; ask again"),
)

DEBUGGING = """
## How to debug it

`clew run --debug -- claude` writes what follows to a log file, and `[log] debug = true` with `level = "debug"` does so for
any gateway. Each block has a line when it starts and when it stops, with its index and the number of its deltas;
`level = "trace"` adds a line for each delta. For the first sequence above:

```json"""

GREPS = """```

A block in which the stream ended has `Broke off thinking block` in place of its last line. What to look for:

```console
grep 'Started thinking block' run.log           were there thoughts?
grep 'transitioning to content' run.log         where a thought ended and text began
grep 'Broke off' run.log                        answers that did not come to their end
grep -o '"index":[0-9]*' run.log | sort -u      the indices that were used
grep -o 'thinking_delta\\|text_delta' run.log | sort | uniq -c    with level = "trace"
```
"""


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    """One chunk of a backend."""
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode() + b"\n\n"


def call(place: int, name: str, arguments: str) -> bytes:
    return chunk(tool_calls=[{"index": place, "id": f"call_{place}", "function": {"name": name, "arguments": arguments}}])


DONE = b"data: [DONE]\n\n"
SEQUENCES: dict[str, tuple[bytes, ...]] = {
    "Reasoning, then text": (
        *(chunk(reasoning="Let me"), chunk(reasoning=" see."), chunk(content="Use"), chunk(content=" JWT.")),
        *(chunk("stop"), DONE),
    ),
    "Text alone": (chunk(content="Use"), chunk(content=" JWT."), chunk("stop"), DONE),
    "Reasoning, text and two calls": (
        *(chunk(reasoning="Read it."), chunk(content="I look."), call(0, "Read", '{"path":'), call(0, "", '"user.ts"}')),
        *(call(1, "Bash", '{"command":"ls"}'), chunk("tool_calls"), DONE),
    ),
}
"""The sequences of the document that the translation began with, as a backend sends them."""


def events_of(chunks: Sequence[bytes], start: Start) -> Iterator[dict[str, Any]]:
    """The events that the client gets for these chunks, one after the other."""
    translator = Translator(model="grok", start=start, signature="empty")
    told = [translator.begin(), *map(translator.feed, chunks), translator.flush()]
    for line in b"".join(told).decode().splitlines():
        if line.startswith("data: "):
            yield json.loads(line[6:])


def lines_of(events: Iterable[dict[str, Any]]) -> Iterator[str]:
    """The events in few words."""
    for event in events:
        match event["type"]:
            case "content_block_start":
                block = event["content_block"]
                yield f"content_block_start  index {event['index']}  {block['type']} {block.get('name', '')}".rstrip()
            case "content_block_delta":
                kind, text = event["delta"].values()
                yield f"content_block_delta  index {event['index']}  {kind} {json.dumps(text)}"
            case "content_block_stop":
                yield f"content_block_stop   index {event['index']}"
            case "message_delta":
                yield f"message_delta        {event['delta']['stop_reason']}"
            case kind:
                yield kind


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.dumps({"event": record.getMessage(), **getattr(record, "fields", {})}))


def log_lines(chunks: Sequence[bytes]) -> list[str]:
    """What the log says of these chunks, without time and level."""
    logger, handler = logging.Logger("events page"), _Lines()
    logger.addHandler(handler)
    log = RequestLog(LogSettings(level="debug", debug=True), logger=logger)
    reader = TracedReader(ChatStreamReader(AnswerContext(model="grok"), ChatOptions()), partial(log.lived, "01a2b3"))
    for each in chunks:
        list(reader.feed(each))
    list(reader.flush())
    return handler.lines


def events_page(table: Table) -> str:
    begins = table(("`[thinking] stream_start`", "`Translator(start=…)`", "the first events", "when"), STARTS)
    parts = [HEAD, begins, PINGS, table(("block", "made of", "grows by"), BLOCKS), SIGNATURES, "## Sequences\n"]
    for name, chunks in SEQUENCES.items():
        said = [json.loads(each[6:])["choices"][0] for each in chunks if each != DONE]
        parts += [f"### {name}\n", "The backend says:\n", "```json"]
        parts += [json.dumps(each["delta"]) for each in said if each["delta"]]
        parts += ["```\n"]
        for start in ("lazy", "eager"):
            parts += [f"The client gets, {start}:\n", "```text", *lines_of(events_of(chunks, start)), "```\n"]
    reasons = ("stop", "tool_calls", "length", "content_filter")
    stops = [(f"`{each}`", *(f"`{_stop(each, called=called)}`" for called in (False, True))) for each in reasons]
    parts += [END, table(("finish reason", "without calls", "with calls"), stops), BREAK]
    parts += [table(("what you see", "why", "what to do"), PROBLEMS), DEBUGGING]
    parts += [*log_lines(SEQUENCES["Reasoning, then text"]), GREPS]
    return "\n".join(parts)


def _stop(finish: str, *, called: bool) -> object:
    return stop_of(ChunkChoice(finish_reason=finish), called=called, refused=False)["stop_reason"]
