"""Without any recording, a history whose thinking a vendor signed goes as it came: seen at a glance, or by the long way."""

from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.anthropic.requests import encode
from clew.model.recording import Shelf
from clew.pipeline import thinking as steps
from clew.pipeline.options import Options
from clew.pipeline.step import Facts
from clew.pipeline.thinking import keep_thinking
from clew.pipeline.thinking.usual import is_unknown
from tests.build import Scribe, assistant, request, thinking, user
from tests.counts import examples
from tests.pipeline.histories import histories, wild_histories
from tests.pipeline.targets import model

SIGNED = [user("hi"), assistant(thinking("h", "sig"), "yes"), user("more")]
ODD: list[Any] = [thinking("h", None), thinking("h", ""), thinking("h", "clew1.x"), {"type": "redacted_thinking"}]


@given(
    st.one_of(histories, wild_histories),
    st.sampled_from([None, *ODD]),
    st.sampled_from(["claude-opus-5-5", "claude-sonnet-4-5"]),
    st.sampled_from([Options(), Options(restore=False), Options(policy="strip")]),
)
@settings(max_examples=examples(80), deadline=None)
def test_a_glance_finds_what_the_long_way_finds(messages: list[Any], odd: Any, name: str, options: Options) -> None:
    """Law 2: what is skipped would have changed nothing."""
    body = request(*messages, *([assistant(odd, "yes"), user("so")] if odd else []))
    facts = Facts(options=options)
    going, changes = keep_thinking(body, model(name), facts)
    with patch.object(steps, "is_unknown", lambda *given: False):
        wanted, why = keep_thinking(body, model(name), facts)
    assert (encode(going), changes) == (encode(wanted), why)


def test_it_is_a_glance_only_where_nothing_is_recorded_and_all_is_signed() -> None:
    """Else the property above would hold for nothing."""
    signed = request(*SIGNED).messages
    unsigned = [request(*SIGNED, assistant(odd, "yes"), user("so")).messages for odd in ODD]
    scribe, first = Scribe(), request(SIGNED[0])
    scribe.record(first, first, SIGNED[1])
    assert (is_unknown(signed, Shelf()), is_unknown(signed, scribe.shelf)) == (True, False)
    assert [is_unknown(each, Shelf()) for each in unsigned] == [False] * len(unsigned)
