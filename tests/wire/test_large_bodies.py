"""Large bodies: read part by part, with the same outcome, and bounded before anything is built of them."""

from collections.abc import Callable

import msgspec
import pytest

from clew.errors import BodyTooLarge, RequestInvalid
from clew.model import texts
from clew.model.blocks import string_of
from clew.model.request import Body, NotWanted, Request, RequestMessage, Wanted, blocks_of
from clew.model.texts import decode_string
from clew.wire import large_bodies
from clew.wire.large_bodies import MAX_BLOCKS, MAX_VALUES, check_values
from clew.wire.requests import array_of, encode, messages_after_last_answer, parse
from clew.wire.spans import offset_of
from clew.wire.strict_json import LARGE_BYTES

LONG = b"x" * LARGE_BYTES
_body = msgspec.json.Decoder(Body)


def body(*messages: bytes, more: bytes = b"") -> bytes:
    return b'{"model":"m",%b"messages":[%b]}' % (more, b" , ".join(messages))


def user(content: bytes) -> bytes:
    return b'{"role":"user","content":%b}' % content


def text(words: bytes) -> bytes:
    return b'{"type":"text","text":"%b"}' % words


BODIES = {
    "a long string": body(user(b'"%b"' % LONG), user(b'"b"')),
    "a long text": body(user(b"[%b,%b]" % (text(LONG), text(b"b")))),
    "escapes": body(user(b'"' + b"\\u00e9\\n\\ud83d\\ude00" * (LARGE_BYTES // 8) + b'"')),
    "many blocks": body(user(b"[" + b",".join([text(b"a")] * 50_000) + b"]")),
    "many messages": body(*[user(b'"%d"' % number) for number in range(50_000)]),
    "a thinking block": body(user(b'[{"type":"thinking","thinking":"%b","signature":"s"}]' % LONG)),
    "no content": body(b'{"role":"user","x":"%b"}' % LONG, b'{"role":"user","content":null,"x":"%b"}' % LONG),
    "fields around": body(user(b'"a"'), more=b'"system":"%b","stream":true,"tools":[],' % LONG),
    "a doubled key": b'{"messages":[],"x":"%b","messages":[%b]}' % (LONG, user(b'"b"')),
    "no message": body(more=b'"x":"%b",' % LONG),
}


@pytest.mark.parametrize("raw", BODIES.values(), ids=BODIES)
def test_a_large_body_reads_as_if_it_were_decoded_in_one_call(raw: bytes) -> None:
    request = parse(raw)
    assert msgspec.json.encode(request.body) == msgspec.json.encode(_body.decode(raw))
    assert encode(request) is raw


def test_its_values_are_views_of_the_bytes_that_came() -> None:
    raw = BODIES["a long text"]
    block = blocks_of(parse(raw).messages[0])[1]
    assert isinstance(block.text, msgspec.Raw)
    assert offset_of(block.text, raw) == raw.index(b'"b"')


def test_where_its_messages_stand_is_known_without_a_second_pass() -> None:
    request = parse(BODIES["a long string"])
    assert request.source.layout is array_of(request.source)
    assert messages_after_last_answer(request) == (user(b'"%b"' % LONG), user(b'"b"'))


@pytest.mark.parametrize(
    ("raw", "path", "words"),
    [
        (body(user(b'"%b"' % LONG), b'{"role":5}'), "messages.1.role", "messages.1.role: Expected `str`, got `int`"),
        (body(b'{"content":"%b"}' % LONG), "messages.0", "messages.0: Object missing required field `role`"),
        (
            body(user(b"[%b,%b]" % (text(LONG), b'{"type":1}'))),
            "messages.0.content.1.type",
            "messages.0.content.1.type: Expected `str`, got `int`",
        ),
        (
            body(b'{"role":"user","content":5,"x":"%b"}' % LONG),
            "messages.0.content",
            "messages.0.content: Expected `str | array | null`, got `int`",
        ),
        (body(user(b'"%b"' % LONG), b"3"), "messages.1", "messages.1: Expected `object`, got `int`"),
        (body(user(b'"a"'), more=b'"x":"%b","model":1,' % LONG), "model", "model: Expected `str`, got `int`"),
    ],
)
def test_a_wrong_value_is_named_as_in_a_small_body(raw: bytes, path: str, words: str) -> None:
    with pytest.raises(RequestInvalid) as refused:
        parse(raw)
    assert (refused.value.path, str(refused.value)) == (path, words)
    with pytest.raises(RequestInvalid) as small:
        parse(raw.replace(LONG, b""))
    assert str(small.value) == words


@pytest.mark.parametrize("fault", [b"\xff", b"\\x", b"\x01"], ids=["UTF-8", "escape", "control character"])
def test_a_fault_in_a_long_string_has_its_place_in_the_body(fault: bytes) -> None:
    raw = body(b'{"role":"user",\n"content":"%b%b%b"}' % (LONG, fault, LONG))
    with pytest.raises(RequestInvalid) as refused:
        parse(raw)
    assert refused.value.line == 2
    assert refused.value.column is not None
    assert refused.value.column > len(LONG)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each value that is built, beside the first pass."""
    sizes: list[int] = []
    for name in ("_message", "_block", "_parts", "_elements"):
        decoder = getattr(large_bodies, name)

        def decode(value: bytes, decoder: msgspec.json.Decoder[object] = decoder, name: str = name) -> object:
            if name in ("_message", "_block"):
                sizes.append(len(memoryview(value)))
            return decoder.decode(value)

        monkeypatch.setattr(large_bodies, name, type("Counted", (), {"decode": staticmethod(decode)}))
    return sizes


def test_no_call_builds_more_than_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = counted(monkeypatch)
    parse(BODIES["many blocks"])
    parse(BODIES["many messages"])
    assert len(sizes) == 100_000
    assert max(sizes) < 100


def test_too_many_blocks_are_refused_before_they_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = counted(monkeypatch)
    with pytest.raises(BodyTooLarge, match="more than the 200000 content blocks allowed"):
        parse(body(user(b"[" + b",".join([b'{"type":""}'] * (MAX_BLOCKS + 1)) + b"]")))
    assert sizes == []


def test_the_blocks_of_all_messages_count_together() -> None:
    half = user(b"[" + b",".join([b'{"type":""}'] * (MAX_BLOCKS // 2)) + b"]")
    assert isinstance(parse(body(half, half)), Request)
    with pytest.raises(BodyTooLarge):
        parse(body(half, half, user(b'[{"type":""}]')))


def test_too_many_messages_are_refused_before_they_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = counted(monkeypatch)
    with pytest.raises(RequestInvalid, match="messages: 100001 entries, more than the 100000 allowed"):
        parse(body(*[b'{"role":"user"}'] * 100_001))
    assert sizes == []


@pytest.mark.parametrize("name", ["many blocks", "many messages"])
def test_reading_stops_between_two_parts_once_it_is_not_wanted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, wanted = counted(monkeypatch), Wanted()
    check, left = Wanted.check, [100]

    def checks(self: Wanted) -> None:
        left[0] -= 1
        if not left[0]:
            self.drop()
        check(self)

    monkeypatch.setattr(Wanted, "check", checks)
    with pytest.raises(NotWanted):
        parse(BODIES[name], wanted=wanted)
    assert len(sizes) < 100


UNITS = [b"a" * 40, b"\\u00e9", b"\\\\", "é".encode(), "😀".encode(), b"\\ud83d\\ude00", b'\\"\\\\n\\u0041']


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("offset", range(12))
def test_a_long_string_in_slices_is_the_same_text(unit: bytes, offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever its slices would end."""
    raw = b'"' + b"b" * offset + unit * 1000 + b'"'
    text = msgspec.json.decode(raw, type=str)
    monkeypatch.setattr(texts, "LONG_STRING_BYTES", 512)
    assert decode_string(raw) == text
    assert string_of(msgspec.Raw(raw)) == text


@pytest.mark.parametrize("fault", [b'"', b"\\", b"\\u12", b"\\u12zz", b"\\ud83d", b"\\ude00", b"\xff", b"\x01"])
@pytest.mark.parametrize("unit", [b"a", b"\\\\", b"\\u00e9"])
def test_a_long_string_with_a_fault_is_refused_as_a_whole_one_is(
    fault: bytes, unit: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = b'"' + unit * 400 + fault + unit * 400 + b'"'
    expected = outcome(msgspec.json.Decoder(str).decode, raw)
    monkeypatch.setattr(texts, "LONG_STRING_BYTES", 512)
    assert outcome(decode_string, raw) == expected
    assert outcome(decode_string, raw[:-1] + b"5") is msgspec.DecodeError


def outcome(decode: Callable[[bytes], str], raw: bytes) -> object:
    try:
        return decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return type(error)


def test_a_message_read_later_is_read_in_parts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = counted(monkeypatch)
    message = large_bodies.read_message(user(b"[" + b",".join([text(b"a")] * 50_000) + b"]"), Wanted().check)
    assert isinstance(message, RequestMessage)
    assert len(blocks_of(message)) == len(sizes) == 50_000


def test_commas_in_strings_are_no_values() -> None:
    csv = b'1,2,3\\n\\"' * (MAX_VALUES // 2)
    assert parse(body(user(b'"%b"' % csv), user(b"[%b]" % text(csv)))).messages


@pytest.mark.parametrize("inside", [b"[%b]", b'{"a":"\\",","b":[%b]}'])
def test_too_many_values_are_refused_before_they_are_decoded(inside: bytes) -> None:
    values = inside % (b"0," * MAX_VALUES + b"0")
    with pytest.raises(BodyTooLarge, match="more than the 1000000 JSON values allowed"):
        parse(body(user(b'"a"'), more=b'"metadata":%b,' % values))


def test_a_document_that_ends_in_a_string_is_counted_to_its_end() -> None:
    raw = b'{"messages":["' + b",,,," * MAX_VALUES
    for end in (b"", b"\\", b'\\"'):
        check_values(raw + end)
