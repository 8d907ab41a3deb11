"""Work that nobody waits for any more: whatever goes over the messages of a long history stops."""

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
from clew.wire.requests import encode
from tests.build import assistant, request, tool_use, user

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
