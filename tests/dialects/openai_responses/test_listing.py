"""Pages of input items, as OpenAI's clients go through them."""

import json
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from clew.dialects.openai_responses.stored import list_input, write_deletion
from clew.errors import RequestInvalid

ITEMS = [
    Raw(msgspec.json.encode(item))
    for item in (
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "id": "msg_own", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
        {"role": "assistant", "content": "Hello."},
        {"type": "function_call_output", "call_id": "call_1", "output": "done"},
    )
]


def page(query: str = "") -> Any:
    return json.loads(list_input(ITEMS, "1a", query))


def test_the_newest_item_comes_first_and_every_item_has_a_type_an_id_and_parts() -> None:
    assert page() == {
        "object": "list",
        "data": [
            {"type": "function_call_output", "call_id": "call_1", "output": "done", "id": "item_1a_3"},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Hello."}],
                "id": "item_1a_2",
            },
            {"type": "message", "id": "msg_own", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
            {
                "type": "message",
                "role": "developer",
                "content": [{"type": "input_text", "text": "Be brief."}],
                "id": "item_1a_0",
            },
        ],
        "first_id": "item_1a_3",
        "last_id": "item_1a_0",
        "has_more": False,
    }


def test_pages_go_on_after_an_id_in_either_order() -> None:
    first = page("order=asc&limit=3")
    assert ([item["id"] for item in first["data"]], first["has_more"]) == (["item_1a_0", "msg_own", "item_1a_2"], True)
    rest = page(f"order=asc&limit=3&after={first['last_id']}")
    assert ([item["id"] for item in rest["data"]], rest["has_more"]) == (["item_1a_3"], False)
    assert page("after=item_1a_0")["data"] == []
    assert page("after=item_1a_0")["first_id"] is None


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "limit=-1", "limit=99999999999", "order=up", "after=z"]
)
def test_a_query_that_makes_no_sense_is_refused_with_its_name(query: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        page(query)
    assert caught.value.path == query.partition("=")[0]


def test_a_deletion_is_told_in_openais_shape() -> None:
    assert json.loads(write_deletion("resp_1a")) == {"id": "resp_1a", "object": "response", "deleted": True}
