"""Without any recording, a history whose thinking a vendor signed goes as it came."""

from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.model.request import blocks_of
from clew.pipeline import thinking as steps
from clew.pipeline.step import Facts, Options
from clew.pipeline.thinking import keep_thinking
from clew.wire.requests import encode
from tests.build import assistant, request, thinking, user
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
@settings(max_examples=examples(19, soak=1600), deadline=None)
def test_it_goes_as_it_would_if_each_answer_were_decided_about(
    messages: list[Any], odd: Any, name: str, options: Options
) -> None:
    body = request(*messages, *([assistant(odd, "yes"), user("so")] if odd else []))
    facts = Facts(options=options)
    going, changes = keep_thinking(body, model(name), facts)
    with patch.object(steps, "is_whole", lambda *given: False):
        wanted, why = keep_thinking(body, model(name), facts)
    assert (encode(going), changes) == (encode(wanted), why)


def test_what_a_vendor_signed_is_the_very_same_and_nothing_else_goes() -> None:
    signed = request(*SIGNED)
    assert keep_thinking(signed, model("claude-opus-5-5"), Facts()) == (signed, ())

    for odd in ODD:
        going, changes = keep_thinking(
            request(*SIGNED, assistant(odd, "yes"), user("so")), model("claude-opus-5-5"), Facts()
        )
        assert [block.type for block in blocks_of(going.messages[3])] == ["text"]
        assert [change.path for change in changes] == ["messages.3.content.0"]
