"""What stands in the place of a signature, written and read again."""

import pytest

from clew.model.blocks import payload_of, signature_of
from clew.model.json import JsonObject


@pytest.mark.parametrize("payload", [{}, {"field": "reasoning"}, {"reasoning_details": [{"data": "é", "index": 0}]}])
def test_a_payload_is_read_as_it_was_written(payload: JsonObject) -> None:
    assert payload_of(signature_of(payload)) == payload


@pytest.mark.parametrize("signature", ["", "ErUBCkYIBRgCIkD", "[]", "{", '{"field":', "{\ud800}"])
def test_a_vendors_own_signature_is_none(signature: str) -> None:
    assert payload_of(signature) is None
