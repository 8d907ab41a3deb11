"""Empty and blank text, empty summaries, large images (R16, R22, R54, R64)."""

from tests.build import Json, assistant, text, tool_result, tool_use, user
from tests.conversations.asked import ask
from tests.conversations.rulebook.case import case
from tests.conversations.rulebook.shapes import MARK

LIMIT = 5 * 1024 * 1024


def image(size: int) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * size}}


def summary(content: str | None) -> tuple[Json, ...]:
    return (assistant({"type": "compaction", "content": content}), user("a"))


CASES = (
    case(
        "R54.compaction-empty",
        "messages.0.content.0.compaction.content",
        good=ask(*summary(None), betas=("compact-2026-01-12",)),
        bad=ask(*summary(""), betas=("compact-2026-01-12",)),
    ),
    case(
        "R22.empty-text-cached",
        "messages.0.content.1.text",
        good=ask(user(text("a"), text(" ", cache_control=MARK))),
        bad=ask(user(text("a"), text("", cache_control=MARK))),
    ),
    case("R22.empty-text", "messages.0.content.1", good=ask(user(text("a"), text(" "))), bad=ask(user(text("a"), text("")))),
    case("R22.blank-text", "messages.0", good=ask(user(text("a"), text(" "))), bad=ask(user(text(" "), text("\n")))),
    case(
        "R22.blank-text-beside",
        "messages.0.content.1",
        good=ask(user(text("a"), text("b"))),
        bad=ask(user(text("a"), text(" "))),
        stance={"C-3": "reject"},
    ),
    case("R22.user-empty", "messages.0", good=ask(user("a")), bad=ask({"role": "user", "content": ""})),
    case("R16.empty-text-cached", "system.0", good=ask(system=[]), bad=ask(system=[text("", cache_control=MARK)])),
    case("R16.empty-text", "system.1", good=ask(system=""), bad=ask(system=[text("a"), text("")])),
    case("R16.blank-text", "system", good=ask(system=[text("a"), text(" ")]), bad=ask(system="  ")),
    case(
        "R64.image-too-large",
        "messages.0.content.0.image.source.base64",
        good=ask(user(image(LIMIT))),
        bad=ask(user(image(LIMIT + 1))),
        bytes=LIMIT + 1,
    ),
    case(
        "R64.image-too-large",
        "messages.1.content.0.tool_result.content.0.image.source.base64",
        good=ask(assistant(tool_use("t1")), user(tool_result("t1", [image(10)]))),
        bad=ask(assistant(tool_use("t1")), user(tool_result("t1", [image(LIMIT + 1)]))),
        bytes=LIMIT + 1,
    ),
)
