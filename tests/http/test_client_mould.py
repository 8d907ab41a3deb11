"""A mould reads what was read before, in the same way; whatever else comes is left to others."""

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.http.client.message import ResponseLimits
from clew.http.client.mould import Mould
from clew.http.client.whole import read_at_once
from tests.counts import examples
from tests.http.test_client_whole import answers

LIMITS = ResponseLimits()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nRequest-Id: one\r\nDate: now\r\ncontent-length: 5\r\n\r\n"
WANTED = (b"request-id", b"a", b"b")
ID = b"request-id"


@given(answers(), answers(), st.booleans())
@settings(max_examples=examples(400))
def test_what_a_mould_reads_is_what_is_read_at_a_glance(first: bytes, second: bytes, again: bool) -> None:
    """Two readers that disagree would be a way to smuggle one answer into another."""
    like, data = read_at_once(first, LIMITS), first if again else second
    if like is None:
        return
    found = Mould(first[: len(first) - len(like.body)], WANTED, ID).read(data)
    whole = read_at_once(data, LIMITS)
    if found is not None:
        assert whole is not None
        assert [name for name, _ in whole.head.headers] == [name for name, _ in like.head.headers]
        wanted = b"".join(b"%b: %b\r\n" % field for field in whole.head.headers if field[0] in WANTED)
        assert found == (wanted, (whole.head.header(ID) or b"").decode("latin-1"), whole.body)
    assert found is not None or not again


def test_values_may_be_others_and_names_may_not() -> None:
    mould = Mould(HEAD, WANTED, ID)
    assert mould.read(HEAD + b"hello") == (b"request-id: one\r\n", "one", b"hello")
    others = HEAD.replace(b"one", b"two").replace(b"5", b"6").replace(b"now", b"then")
    assert mould.read(others + b"hello!") == (b"request-id: two\r\n", "two", b"hello!")
    assert Mould(HEAD, [b"date"], ID).read(HEAD + b"hello") == (b"date: now\r\n", "", b"hello")
    for other in (
        HEAD + b"hell",
        HEAD + b"hello!",
        HEAD.replace(b"a/b", b"text/html") + b"hello",
        HEAD.replace(b"Date: now\r\n", b"") + b"hello",
        HEAD.replace(b"Date: now", b"Date: now\r\nConnection: close") + b"hello",
        HEAD.replace(b"Date", b"Connection") + b"hello",
        HEAD.replace(b"200", b"201") + b"hello",
        HEAD.replace(b"now", b"now ") + b"hello",
        HEAD.replace(b"now", b"n\xe9w") + b"hello",
    ):
        assert mould.read(other) is None, other
