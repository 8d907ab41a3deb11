"""Parse and encode: untouched is untouched, and an edit is the smallest edit."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.blocks import made, text_block
from clew.model.request import Edited, RequestMessage, blocks_of, with_blocks, with_content
from clew.wire.requests import encode, messages_after_last_answer, parse, raw_of
from tests.build import assistant, raw, request, text, thinking, tool_result, tool_use, user
from tests.counts import examples

ODD = (
    b' { "model" : "claude-opus-5-5",\n\t"x-unknown": {"a": 1e400, "big": 123456789012345678901234567890},'
    b' "messages" : [ {"role":"user","content":"\\u00e9\\/"} ,\n {"content":[ {"type":"thinking","thinking":"",'
    b'"signature":"S\\u002f"} , {"type":"text","text":"ok" } ],"role":"assistant", "id": "m1"},{"role":"user","content":[]}'
    b' ] , "max_tokens": 10 } '
)


def test_a_request_that_nothing_altered_is_the_very_bytes_that_came() -> None:
    asked = parse(ODD)

    assert encode(asked) is ODD


def test_leaving_out_one_block_leaves_every_other_byte_alone() -> None:
    asked = parse(ODD)
    answer = asked.messages[1]

    going = asked.with_messages((asked.messages[0], with_blocks(answer, blocks_of(answer)[1:]), asked.messages[2]))

    assert encode(going) == ODD.replace(b'{"type":"thinking","thinking":"","signature":"S\\u002f"} , ', b"")


def test_setting_a_field_before_and_one_behind_the_messages_leaves_every_other_byte_alone() -> None:
    asked = parse(ODD)

    going = asked.with_fields(model="m2", max_tokens=Raw(b"99"), thinking=Raw(b'{"type":"disabled"}'))

    want = ODD.replace(b'"claude-opus-5-5"', b'"m2"').replace(
        b'"max_tokens": 10', b'"max_tokens": 99,"thinking":{"type":"disabled"}'
    )
    assert encode(going) == want


def test_a_field_and_a_message_are_edited_in_one_go() -> None:
    asked = request(user("hi"), assistant(thinking("t"), "ok"), user("more"), thinking={"type": "adaptive"})
    messages = (asked.messages[0], with_blocks(asked.messages[1], blocks_of(asked.messages[1])[1:]), asked.messages[2])

    going = asked.with_messages(messages).with_fields(thinking=UNSET, model="claude-opus-4-8")

    assert json.loads(encode(going)) == {
        "model": "claude-opus-4-8",
        "max_tokens": 1000,
        "messages": [user("hi"), assistant("ok"), user("more")],
    }


def test_a_message_that_clew_puts_in_and_one_that_it_leaves_out() -> None:
    asked = request(user("a"), assistant("b"), user("c"))
    new = Edited("assistant", (text_block("new"),))

    going = asked.with_messages((asked.messages[0], new, asked.messages[2]))

    assert json.loads(encode(going))["messages"] == [user("a"), assistant("new"), user("c")]


def test_a_block_may_move_into_another_message() -> None:
    asked = request(assistant(tool_use("t1")), user("first"), user(tool_result("t1", "é")))
    result = blocks_of(asked.messages[2])[0]
    moved = with_content(asked.messages[1], (result, text_block("first")))

    going = asked.with_messages((asked.messages[0], moved))

    assert json.loads(encode(going))["messages"] == [assistant(tool_use("t1")), user(tool_result("t1", "é"), "first")]


def test_string_content_becomes_blocks_and_other_keys_of_the_message_stay() -> None:
    asked = parse(b'{"messages":[{"role":"assistant","content":"x","id":7}]}')

    going = asked.with_messages((with_content(asked.messages[0], (text_block("y"),)),))

    assert encode(going) == b'{"messages":[{"role":"assistant","content":[{"type":"text","text":"y"}],"id":7}]}'


def test_a_nested_key_of_the_same_name_is_not_taken_for_the_messages() -> None:
    decoy = b'{"metadata":{"messages":[{"role":"user","content":"x"}]},'
    behind = b',"a":"\\"messages\\":["}'
    body = decoy + b'"messages":[{"role":"user","content":"x"}]' + behind
    asked = parse(body)

    going = asked.with_messages((with_content(asked.messages[0], "y"),))

    assert encode(going) == decoy + b'"messages":[{"role":"user","content":"y"}]' + behind


def test_an_escaped_key_is_still_the_messages() -> None:
    asked = parse(b'{"mess\\u0061ges":[ {"role":"user","content":"x"} ]}')

    going = asked.with_messages((with_content(asked.messages[0], "y"),))

    assert encode(going) == b'{"mess\\u0061ges":[ {"role":"user","content":"y"} ]}'


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b"}]}',
        b'{"messages":[{"role":"user","content":"b"}],"messages":[{"role":"user","content":"b"}]}',
        b'{"messages":[{"role":"user","content":"b","content":"b"}]}',
    ],
)
def test_a_doubled_key_passes_until_it_would_have_to_be_edited(body: bytes) -> None:
    asked = parse(body)
    assert encode(asked) == body

    with pytest.raises(RequestInvalid, match="duplicate key"):
        encode(asked.with_messages((with_content(asked.messages[0], "y"),)))


def test_big_integers_pass_as_they_came_beside_an_edit() -> None:
    asked = parse(ODD)

    assert b"123456789012345678901234567890" in encode(asked.with_fields(model="m"))


@pytest.mark.parametrize(
    ("body", "path", "words"),
    [
        (b"", "", "zero-length"),
        (b"{", "", "line 1 column"),
        (b'{"messages": 5}', "messages", "array"),
        (b"[]", "", "object"),
        (b"{}", "", "messages"),
        (b'{"messages":[{"role":"user","content":[{"text":"no type"}]}]}', "messages.0.content.0", "type"),
        (b'{"messages":[{"role":1}]}', "messages.0.role", "str"),
        (b'{"messages":[{"role":"user","content":"\xff"}]}', "", ""),
        (b'{"messages":[{"role":"user","content":NaN}]}', "", "NaN"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(body: bytes, path: str, words: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        parse(body)

    assert caught.value.path == path
    assert words in str(caught.value)


def test_ten_thousand_levels_are_refused_in_a_clear_way() -> None:
    deep = b'{"messages":[],"tools":' + b"[" * 10_000 + b"]" * 10_000 + b"}"

    with pytest.raises((BodyTooLarge, RequestInvalid), match=r"deep|nested|levels"):
        parse(deep)


def test_a_million_messages_are_refused_in_a_clear_way() -> None:
    body = b'{"messages":[' + b",".join([b'{"role":"user"}'] * 1_000_000) + b"]}"

    with pytest.raises(RequestInvalid, match="1000000 entries"):
        parse(body)


def test_the_bytes_of_a_block_are_its_own() -> None:
    asked = parse(ODD)
    first, second = blocks_of(asked.messages[1])

    assert raw_of(asked, first) == b'{"type":"thinking","thinking":"","signature":"S\\u002f"}'
    assert raw_of(asked, second) == b'{"type":"text","text":"ok" }'
    assert raw_of(asked, made(b'{"type":"x"}')) == b'{"type":"x"}'


@settings(max_examples=examples(24, soak=1200), deadline=None)
@given(st.data())
def test_any_choice_of_blocks_is_encoded_as_that_choice(data: st.DataObject) -> None:
    """Law 5, for every subset, order and insertion: values equal, kept values keep their bytes."""
    blocks = [text(f"b{i}") for i in range(data.draw(st.integers(0, 5)))]
    indent = data.draw(st.sampled_from([None, 1, 3]))
    body = json.dumps({"messages": [user("q"), {"role": "assistant", "content": blocks}, user("z")]}, indent=indent).encode()
    asked = parse(body)
    own = blocks_of(asked.messages[1])
    chosen = data.draw(
        st.permutations([*own, text_block("new")]).flatmap(lambda p: st.integers(0, len(p)).map(lambda n: p[:n]))
    )

    going = asked.with_messages((asked.messages[0], with_content(asked.messages[1], tuple(chosen)), asked.messages[2]))

    want = [blocks[own.index(each)] if each in own else text("new") for each in chosen]
    assert json.loads(encode(going))["messages"][1]["content"] == want
    assert all(raw_of(asked, each) in encode(going) for each in chosen)


def test_a_message_knows_its_place_and_a_made_one_has_none() -> None:
    asked = request(user("a"), assistant("b"))

    assert asked.source.index_of(with_content(asked.messages[1], "x")) == 1
    assert asked.source.index_of(Edited("user", "new")) is None
    assert asked.source.place_of(blocks_of(asked.messages[1])[0]) == (1, 0)
    assert asked.source.place_of(text_block("new")) is None
    assert isinstance(asked.messages[0], RequestMessage)
    assert msgspec.json.decode(raw(user("a")))["messages"] == [user("a")]


ANSWERED = b'{"role":"user","content":"a"},{"role":"assistant","content":"b"}'
NEW = b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"c","new":1}]}'


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(b'{"model":"m","messages":[%b,%b]}' % (ANSWERED, NEW), (NEW,), id="one"),
        pytest.param(b'{"messages":[%b,%b,%b],"model":"m"}' % (ANSWERED, NEW, NEW), (NEW, NEW), id="two"),
        pytest.param(b'{"model":"m","messages":[%b]}' % NEW, (NEW,), id="no answer"),
        pytest.param(b'{"model":"m","messages":[%b]}' % ANSWERED, (), id="nothing new"),
        pytest.param(b'{"model":"m","messages":[%b,%b]}' % (ANSWERED, b",".join([NEW] * 30)), (NEW,) * 30, id="many"),
        pytest.param(
            b'{"model":"m","messages":[%b, { "role" : "user" , "content":"c" } ]}' % ANSWERED,
            (b'{ "role" : "user" , "content":"c" }',),
            id="spaces",
        ),
        pytest.param(
            b'{"model":"m","messages":[%b,{"content":"c","role":"user"}]}' % ANSWERED,
            (b'{"content":"c","role":"user"}',),
            id="another order",
        ),
        pytest.param(
            b'{"model":"m","messages":[%b,%b],"tools":[{"role":"user","content":"a"}]}' % (ANSWERED, NEW),
            (NEW,),
            id="another array with such elements",
        ),
        pytest.param(
            b'{"model":"m","messages":[%b,%b],"tools":[{"x":{"role":"user"}},{"properties":{"role":{"role":0}}}]}'
            % (ANSWERED, NEW),
            (NEW,),
            id="such objects elsewhere",
        ),
        pytest.param(
            b'{"model":"m","messages":[%b,{"role":"user","content":[],"x":[{"role":"user","content":[]}]}]}' % ANSWERED,
            (b'{"role":"user","content":[],"x":[{"role":"user","content":[]}]}',),
            id="one inside another",
        ),
    ],
)
def test_what_was_said_since_the_last_answer_is_quoted_as_it_stands(body: bytes, said: tuple[bytes, ...]) -> None:
    """Found from the end where that is possible, and always the same."""
    assert messages_after_last_answer(parse(body)) == said


@given(data=st.data())
@settings(max_examples=examples(19, soak=1600), deadline=None)
def test_any_messages_since_the_last_answer_are_quoted(data: st.DataObject) -> None:
    """As the client writes JSON: dense or with spaces, roles first or last, text that looks like a message."""
    words = st.sampled_from(["x", '{"role":"user"}', '},{"role":', "é"])
    message = st.tuples(st.sampled_from(["user", "assistant", "system"]), words, st.booleans()).map(
        lambda each: dict(list({"role": each[0], "content": each[1]}.items())[:: 1 if each[2] else -1])
    )
    messages = data.draw(st.lists(message, min_size=1, max_size=12))
    apart = data.draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    body = json.dumps({"model": "m", "messages": messages, "metadata": {"role": "x"}}, separators=apart).encode()
    last = max((i for i, each in enumerate(messages) if each["role"] == "assistant"), default=-1)

    said = messages_after_last_answer(parse(body))

    assert said == tuple(json.dumps(each, separators=apart).encode() for each in messages[last + 1 :])
