"""The vendor's error shape, judged by the vendor's own SDK."""

import json
from typing import get_args

import pytest
from anthropic.types.shared import ErrorType

from clew import errors
from clew.dialects.anthropic.answers import write_error
from clew.dialects.anthropic.streams import AnthropicStreamWriter
from clew.dialects.shape import AnswerContext
from clew.model.events import StreamFailed
from clew.model.failure import ERROR_TYPES, Failure, error_type_of


def test_a_body_has_the_vendors_shape() -> None:
    assert json.loads(write_error(Failure(404, "not_found_error", 'no "such" thing'), "req_1")) == {
        "type": "error",
        "error": {"type": "not_found_error", "message": 'no "such" thing'},
        "request_id": "req_1",
    }


def test_an_event_is_one_event_whatever_the_message_says() -> None:
    """A line break in the message must not end the event."""
    event = AnthropicStreamWriter(AnswerContext(model="")).write(
        StreamFailed({"type": "api_error", "message": "two\n\nlines"})
    )
    assert event == b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"two\\n\\nlines"}}\n\n'


@pytest.mark.parametrize(
    ("status", "error_type"), [*ERROR_TYPES.items(), (418, "invalid_request_error"), (502, "api_error")]
)
def test_each_status_has_its_type(status: int, error_type: str) -> None:
    assert error_type_of(status) == error_type


def test_every_type_is_one_that_the_sdk_knows() -> None:
    """All but R62's, which the vendor's edge says in front of the API."""
    assert set(ERROR_TYPES.values()) - set(get_args(ErrorType)) == {"request_too_large"}


def test_every_error_of_ours_has_a_type_of_the_vendors() -> None:
    types = {
        each.error_type for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.ClewError)
    }
    assert types <= set(ERROR_TYPES.values())
