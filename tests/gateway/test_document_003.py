"""What the user of the streaming document does, from outside: its three published sequences through `clew serve` and through
`clew.Translator`, byte for byte."""

from __future__ import annotations

import json
import re

import pytest

import clew
from tests.engine.chatting import DONE, chunk, telling
from tests.gateway.served import Served, backend
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

MODEL = "claude-opus-5-5"
CALLS = [
    {"index": 0, "id": "call_0", "function": {"name": "Read", "arguments": '{"path":"user.ts"}'}},
    {"index": 1, "id": "call_1", "function": {"name": "Bash", "arguments": '{"command":"ls"}'}},
]
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":7}}\n\n'
GROK = chunk(reasoning="Let me see.") + chunk(content="Use JWT.") + chunk("stop") + USAGE + DONE
PLAIN = chunk(content="Use JWT.") + chunk("stop") + USAGE + DONE
TOOLS = chunk(reasoning="Read it.") + chunk(content="I look.") + chunk(tool_calls=CALLS) + chunk("tool_calls") + USAGE + DONE

TEXT, THINKING = '{"type":"text","text":""}', '{"type":"thinking","thinking":"","signature":""}'
TOOL = '{"type":"tool_use","id":"ID","name":"%s","input":{}}'


def start(index: int, block: str) -> str:
    return f'{{"type":"content_block_start","index":{index},"content_block":{block}}}'


def delta(index: int, kind: str, member: str, text: str) -> str:
    told = f'{{"type":"{kind}","{member}":{json.dumps(text)}}}'
    return f'{{"type":"content_block_delta","index":{index},"delta":{told}}}'


def stop(index: int) -> str:
    return f'{{"type":"content_block_stop","index":{index}}}'


def thought(index: int, text: str) -> list[str]:
    return [start(index, THINKING), delta(index, "thinking_delta", "thinking", text), stop(index)]


def text(index: int, words: str) -> list[str]:
    return [start(index, TEXT), delta(index, "text_delta", "text", words), stop(index)]


def call(index: int, name: str, given: str) -> list[str]:
    return [start(index, TOOL % name), delta(index, "input_json_delta", "partial_json", given), stop(index)]


PING = '{"type":"ping"}'
READ, BASH = ("Read", '{"path":"user.ts"}'), ("Bash", '{"command":"ls"}')

EAGER = {
    "reasoning": (GROK, [start(0, TEXT), PING, stop(0), *thought(1, "Let me see."), *text(2, "Use JWT.")]),
    "no reasoning": (PLAIN, [start(0, TEXT), PING, *text(0, "Use JWT.")[1:]]),
    "reasoning and tools": (
        TOOLS,
        [start(0, TEXT), PING, stop(0), *thought(1, "Read it."), *text(2, "I look."), *call(3, *READ), *call(4, *BASH)],
    ),
}
"""The second version of the document: a text block at once, before the ping."""
LAZY = {
    "reasoning": (GROK, [PING, *thought(0, "Let me see."), *text(1, "Use JWT.")]),
    "no reasoning": (PLAIN, [PING, *text(0, "Use JWT.")]),
    "reasoning and tools": (
        TOOLS,
        [PING, *thought(0, "Read it."), *text(1, "I look."), *call(2, *READ), *call(3, *BASH)],
    ),
}
"""The indices that its test scenarios expect."""
BOTH = [
    pytest.param(how, *each, id=f"{how}-{name}")
    for how, all in (("eager", EAGER), ("lazy", LAZY))
    for name, each in all.items()
]


def events(stream: bytes) -> list[str]:
    """The data of the events, each under its own name, with ids and the prompt's size blanked."""
    found = re.findall(rb"event: (\w+)\ndata: (.+)\n\n", stream)
    assert all(data.startswith(b'{"type":"%s"' % name) for name, data in found)
    assert b"".join(b"event: %s\ndata: %s\n\n" % each for each in found) == stream
    blanked = [re.sub(r'"id":"[^"]+"', '"id":"ID"', data.decode()) for _, data in found]
    return [re.sub(r'"input_tokens":\d+', '"input_tokens":N', data) for data in blanked]


def whole(between: list[str], reason: str) -> list[str]:
    """The sequence with the events that every answer has."""
    counts = '"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":'
    fields = f'"type":"message","role":"assistant","content":[],"model":"{MODEL}","stop_reason":null,"stop_sequence":null'
    begun = f'{{"type":"message_start","message":{{"id":"ID",{fields},"usage":{{"input_tokens":N,{counts}0}}}}}}'
    stopped = f'{{"stop_reason":"{reason}","stop_sequence":null}}'
    ended = f'{{"type":"message_delta","delta":{stopped},"usage":{{"input_tokens":N,{counts}7}}}}'
    return [begun, *between, ended, '{"type":"message_stop"}']


@public("library")
@proves("req:S3-1", "req:S3-2", "req:S3-6", "req:S3-7", "req:S3-8", "req:S3-15", "req:S3-26", "req:S3-31")
@pytest.mark.parametrize(("how", "said", "expected"), BOTH)
def test_a_program_gets_the_published_sequence(how: str, said: bytes, expected: list[str]) -> None:
    translator = clew.Translator(model=MODEL, start="eager" if how == "eager" else "lazy", signature="empty")
    told = translator.begin() + b"".join(translator.feed(each + b"\n\n") for each in said.split(b"\n\n")[:-1])
    assert events(told + translator.flush()) == whole(expected, "tool_use" if said is TOOLS else "end_turn")


def config(url: str, *, how: str = "lazy") -> str:
    row = backend("grok", f"{url}/v1", 'dialect = "openai-chat"\n').replace('auth = "key"', 'auth = "bearer"')
    thinking = f'[thinking]\nstream_start = "{how}"\nsignature = "empty"\n'
    return f'active = "grok"\n{row}\n{thinking}'


@public("gateway", "cli")
@proves("req:S3-1", "req:S3-2", "req:S3-6", "req:S3-7", "req:S3-8", "req:S3-15", "req:S3-26", "req:S3-31")
@pytest.mark.parametrize(("how", "said", "expected"), BOTH)
def test_a_client_gets_the_published_sequence(how: str, said: bytes, expected: list[str]) -> None:
    parts = [each + b"\n\n" for each in said.split(b"\n\n")[:-1]]
    with telling(*parts) as teller, Served(config(teller.url, how=how)) as gateway:
        status, _, body = gateway.ask().response()
    assert status == 200
    assert events(body) == whole(expected, "tool_use" if said is TOOLS else "end_turn")
