"""Paths in the client's request, whatever was moved in between."""

from clew.model.blocks import text_block
from clew.model.request import Edited, blocks_of, with_blocks
from clew.pipeline.values import block_path, message_path
from tests.build import assistant, request, user


def test_a_message_is_named_as_the_client_sent_it() -> None:
    given = request(user("a"), assistant("b"), user("c"))
    moved = given.with_messages((given.messages[0], given.messages[2]))
    assert message_path(moved, 1) == "messages.2"


def test_a_message_that_was_put_in_is_named_by_its_place() -> None:
    given = request(user("a"))
    longer = given.with_messages((*given.messages, Edited("user", (text_block("b"),))))
    assert message_path(longer, 1) == "messages.1"
    assert block_path(longer, 1, blocks_of(longer.messages[1])[0]) == "messages.1.content.0"


def test_a_block_is_named_as_the_client_sent_it() -> None:
    given = request(user("a"), assistant("b", "c"))
    message = given.messages[1]
    shorter = given.with_messages((given.messages[0], with_blocks(message, blocks_of(message)[1:])))
    assert block_path(shorter, 1, blocks_of(shorter.messages[1])[0]) == "messages.1.content.1"


def test_a_block_that_was_made_is_named_by_its_place_in_the_message() -> None:
    given = request(user("a"), assistant("b", "c"))
    made = text_block("x")
    message = with_blocks(given.messages[1], (blocks_of(given.messages[1])[0], made))
    assert block_path(given.with_messages((message,)), 0, made) == "messages.1.content.1"
