"""Who may say what, and where (R18, R19, R21, R23, R32)."""

from tests.build import Json, assistant, text, thinking, tool_result, tool_use, user
from tests.conversations.asked import ask
from tests.conversations.rulebook.case import case
from tests.conversations.rulebook.shapes import SET_OUTPUT, system

DIRECTIVE = system(content=[], output_config={"effort": "low"})
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://pictures.example/1.png"}}

CALL = assistant(tool_use("t1"))
RESULT = user(tool_result("t1"))


def talk(*more: Json) -> tuple[Json, ...]:
    return (user("a"), assistant("b"), *more)


FIRST = (
    case("R18.no-messages", "messages", good=ask(user("a")), bad=ask(messages=[])),
    case(
        "R19.first-not-user",
        "messages.0",
        good=ask(user("a"), assistant("b"), user("c")),
        bad=ask(assistant("b"), user("c")),
        stance={"C-16": "reject"},
    ),
    case("R19.leading-system", "messages.0", good=ask(DIRECTIVE, user("a"), betas=SET_OUTPUT), bad=ask(system(), user("a"))),
    case(
        "R19.leading-system",
        "messages.0",
        good=ask(DIRECTIVE, user("a"), betas=SET_OUTPUT),
        bad=ask(system(output_config={"effort": "low"}), user("a"), betas=SET_OUTPUT),
    ),
    case("R19.leading-system", "messages.0", good=ask(user("a")), bad=ask(system(content=[]), user("a"))),
    case(
        "R21.not-alternating",
        "messages.3",
        good=ask(user("a"), system(), assistant("b"), user("c")),
        bad=ask(*talk(user("c"), user("d"))),
        stance={"C-2": "reject"},
        role="user",
    ),
)

PLACES = (
    case(
        "R32.no-content",
        "messages.1",
        good=ask(user("a"), DIRECTIVE, betas=SET_OUTPUT),
        bad=ask(user("a"), system(content=[])),
    ),
    case(
        "R32.between-tool-use-and-result",
        "messages.2",
        good=ask(user("a"), CALL, DIRECTIVE, RESULT, system(), betas=SET_OUTPUT),
        bad=ask(user("a"), CALL, system(), RESULT),
    ),
    case(
        "R32.follows-wrong-turn",
        "messages.2",
        good=ask(user("a"), assistant(SEARCH, FOUND), system()),
        bad=ask(user("a"), assistant(SEARCH, FOUND, text("b")), system()),
    ),
    case(
        "R32.precedes-wrong-turn",
        "messages.1",
        good=ask(user("a"), system(), system(), assistant("b"), user("c")),
        bad=ask(user("a"), system(), user("c")),
    ),
    case(
        "R32.content-not-text",
        "messages.1.content.1",
        good=ask(user("a"), system(content=[text("b")])),
        bad=ask(user("a"), system(content=[text("b"), IMAGE])),
        tag="image",
    ),
)

BLOCKS = (
    case(
        "R23.tool-result-in-assistant",
        "messages.1",
        good=ask(user("a"), CALL, RESULT),
        bad=ask(user("a"), assistant(tool_result("t1")), user("b")),
    ),
    case(
        "R23.thinking-in-user",
        "messages.0",
        good=ask(*talk(user("c"))),
        bad=ask(user(text("a"), thinking("hm"))),
        tag="thinking",
    ),
    case(
        "R23.block-role",
        "messages.1.content.0",
        good=ask(user(IMAGE)),
        bad=ask(user("a"), assistant(IMAGE), user("b")),
        tag="image",
        roles="`user`",
    ),
)

CASES = (*FIRST, *PLACES, *BLOCKS)
