"""Work on a long history stops inside of a message, once nobody waits for it."""

import json

import pytest

from clew.model.request import NotWanted, Wanted
from clew.pipeline.step import Facts
from clew.pipeline.tool_structure import tool_structure
from clew.wire.requests import parse
from tests.build import assistant, target, tool_use, user

CALLS = 1000


class Leaving(Wanted):
    """Of a client that leaves after so many looks."""

    __slots__ = ("looks",)

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    def check(self) -> None:
        self.looks -= 1
        if self.looks == 0:
            self.drop()
        super().check()


@pytest.mark.parametrize("looks", [2, CALLS, 2 * CALLS, 3 * CALLS])
def test_calls_of_one_message_without_results(looks: int) -> None:
    messages = [user("Go."), assistant(*(tool_use(f"toolu_{at}") for at in range(CALLS))), user("Well?")]
    request = parse(json.dumps({"model": "m", "max_tokens": 9, "messages": messages}).encode())
    request.source.wanted = Leaving(looks)
    with pytest.raises(NotWanted):
        tool_structure(request, target(), Facts())
