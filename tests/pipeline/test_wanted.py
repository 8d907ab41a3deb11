"""Work on a long history that nobody waits for any more stops, between its messages and inside of one."""

import json
from collections.abc import Callable

import pytest

from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.requests import write_request as encode_chat
from clew.model.facts.models import profile_for
from clew.model.origin import Target
from clew.model.request import NotWanted, Request, Wanted
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.pipeline.tool_structure import tool_structure
from clew.wire.requests import encode, parse
from tests.build import assistant, request, target, tool_use, user

CLAUDE = Target(backend="claude", model="claude-opus-5-5", profile=profile_for("claude-opus-5-5"))

WORK: dict[str, Callable[[Request], object]] = {
    "projecting": lambda given: project(given, CLAUDE),
    "pairing calls": lambda given: tool_structure(given, CLAUDE, Facts()),
    "writing": encode,
    "writing in another dialect": lambda given: encode_chat(given, ChatOptions()),
}


def unpaired() -> Request:
    """A history in which something has to be altered, and was."""
    given = request(user("Hi"), assistant(tool_use("toolu_0")), user("And?"))
    return tool_structure(given, CLAUDE, Facts())[0]


@pytest.mark.parametrize("name", WORK)
def test_work_stops_when_nobody_waits_for_it(name: str) -> None:
    given = unpaired() if name == "writing" else request(user("Hi"), assistant(tool_use("toolu_0")), user("And?"))
    given.source.wanted = wanted = Wanted()
    WORK[name](given)  # as long as somebody does
    wanted.drop()
    with pytest.raises(NotWanted):
        WORK[name](given)


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
