"""What openai-js adds to items, and sends back with the history."""

import msgspec
from msgspec import Raw

from clew.dialects.openai_responses.request_reader import without_sdk_fields


def without(item: object) -> object:
    return msgspec.json.decode(without_sdk_fields(Raw(msgspec.json.encode(item))))


def test_what_the_sdk_parsed_does_not_go_on() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "run", "arguments": '{"parsed":1}'}
    said = {"type": "output_text", "text": "Yes.", "annotations": []}
    message = {"type": "message", "role": "assistant", "content": [said]}
    assert without({**call, "parsed_arguments": {"a": 1}}) == call
    assert without({**message, "content": [{**said, "parsed": None}]}) == message


def test_everything_else_is_the_very_same() -> None:
    for raw in (b'{"type":"reasoning","summary":[]}', b'{"content":"parsed_arguments"}', b"7"):
        assert bytes(without_sdk_fields(Raw(raw))) == raw
    words = Raw(b'{"role":"user","content":"say \\"parsed\\""}')
    assert msgspec.json.decode(without_sdk_fields(words)) == {"role": "user", "content": 'say "parsed"'}
