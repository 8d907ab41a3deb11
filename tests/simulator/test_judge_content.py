"""Empty content, cache marks, images and PDFs, rule by rule (R16, R22, R58, R64)."""

import base64
import json
import struct
from typing import Any

import pytest

from clew.model.facts import rules
from clew.simulator.anthropic.judge import static_violations
from clew.simulator.server import stance
from tests.manifest import accepts, refuses
from tests.simulator.judging import (
    CACHED,
    HOUR,
    TOOL,
    ask,
    assistant,
    call,
    headers,
    picture,
    request,
    result,
    row,
    text,
    thought,
    user,
)

HI, OK = user("Hi."), assistant("Hello.")


def say(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), "tools": [TOOL], **more}


def png(width: int, height: int) -> str:
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    return base64.b64encode(header + b"\x08\x02\x00\x00\x00").decode()


def pdf(pages: int) -> dict[str, Any]:
    data = base64.b64encode(b"%PDF-1.4\n/Type /Pages\n" + b"<< /Type /Page >>\n" * pages).decode()
    return {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}}


def marked(*marks: Any) -> list[dict[str, Any]]:
    return [user(*(text(f"Part {n}.", cache_control=mark) for n, mark in enumerate(marks)))]


EMPTY = "messages: text content blocks must be non-empty"
BLANK = "messages: text content blocks must contain non-whitespace text"
ROWS = [
    row(
        "R22.empty-text-cached",
        say(user("Hi.", text("", cache_control=CACHED))),
        say(user("Hi.", text("There.", cache_control=CACHED))),
        "messages.0.content.1.text",
        "{path}: cache_control cannot be set for empty text blocks",
    ),
    row("R22.empty-text", say(user("Hi.", "")), say(user("Hi.", " ")), "messages.0.content.1", EMPTY),
    row("R22.blank-text", say(user(text(" \n"))), say(user(" \n", "Hi.")), "messages.0", BLANK),
    row(
        "R22.blank-text-beside",
        say(user("Hi.", " ")),
        say(user("Hi.", " ")),
        "messages.0.content.1",
        BLANK,
        stance=stance({"C-3": "reject"}),
        good_stance=stance(),
        conflict="C-3",
    ),
    row(
        "R22.user-empty",
        say(HI, OK, {"role": "user", "content": ""}),
        say(HI, assistant(), HI),
        "messages.2",
        "{path}: user messages must have non-empty content",
    ),
    row(
        "R16.empty-text-cached",
        {"system": [text("Be."), text("", cache_control=CACHED)]},
        {"system": [text("Be.", cache_control=CACHED)]},
        "system.1",
        "{path}: cache_control cannot be set for empty text blocks",
    ),
    row(
        "R16.empty-text", {"system": [text("")]}, {"system": ""}, "system.0", "system: text content blocks must be non-empty"
    ),
    row(
        "R16.blank-text",
        {"system": "  "},
        {"system": [text("  "), text("Be.")]},
        "system",
        "system: text content blocks must contain non-whitespace text",
    ),
    row(
        "R58.too-many-marks",
        say(*marked(*[CACHED] * 4), tools=[{**TOOL, "cache_control": CACHED}]),
        say(*marked(*[CACHED] * 3), tools=[{**TOOL, "cache_control": CACHED}]),
        "",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    row(
        "R58.automatic-fifth",
        say(*marked(*[CACHED] * 4, None), cache_control=CACHED),
        say(*marked(*[CACHED] * 4), cache_control=CACHED),
        "cache_control",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    row(
        "R58.automatic-ttl",
        say(*marked(CACHED), cache_control=HOUR),
        say(*marked(HOUR), cache_control=HOUR),
        "cache_control.ttl",
        "cache_control.ttl: the automatic cache_control conflicts with the ttl of the last block's cache_control",
    ),
    row(
        "R58.ttl-order",
        say(*marked(None, HOUR), system=[text("Be.", cache_control=CACHED)]),
        say(*marked(None, CACHED), system=[text("Be.", cache_control=HOUR)]),
        "messages.0.content.1.cache_control.ttl",
        "{path}: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "
        "Note that blocks are processed in the following order: tools, system, messages.",
    ),
    row(
        "R64.image-too-large",
        say(user(picture("A" * 6_096_280))),
        say(user(picture())),
        "messages.0.content.0.image.source.base64",
        "{path}: image exceeds 5 MB maximum: 6096280 bytes > 5242880 bytes",
    ),
    row(
        "R64.image-dimensions",
        say(user(*[picture()] * 20, picture(png(2001, 5)))),
        say(user(*[picture()] * 20, picture(png(5, 2000)))),
        "messages.0.content.20.image.source.base64.data",
        "{path}: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
    ),
    row(
        "R64.image-unreadable",
        say(user(picture("aGVsbG8="))),
        say(user(picture())),
        "messages.0.content.0.image.source.base64.data",
        "Could not process image",
    ),
    row(
        "R64.pdf-pages",
        say(user(pdf(60), pdf(41))),
        say(user(pdf(60), pdf(40))),
        "",
        "A maximum of 100 PDF pages may be provided.",
    ),
]


EMPTINESS = [
    ("assistant [] in the middle", [HI, assistant(), HI], None),
    ("assistant empty string in the middle", [HI, {"role": "assistant", "content": ""}, HI], None),
    ("assistant [] first", [assistant(), HI], None),
    ("assistant blank alone", [HI, assistant(text(" ")), HI], "R22.blank-text"),
    ("assistant empty text", [HI, assistant(text("")), HI], "R22.empty-text"),
    ("user blank string", [user("\n")], "R22.blank-text"),
    ("user empty list", [{"role": "user", "content": []}], "R22.user-empty"),
    ("blank beside a call", [HI, assistant(" ", call()), user(result())], None),
    ("result empty string", [HI, assistant(call()), user(result(content=""))], None),
    ("result empty list", [HI, assistant(call()), user(result(content=[]))], None),
    ("result blank", [HI, assistant(call()), user(result(content=" "))], None),
    ("result empty text", [HI, assistant(call()), user(result(content=[text("")]))], None),
    ("result without content", [HI, assistant(call()), user({"type": "tool_result", "tool_use_id": "toolu_1"})], None),
]


@pytest.mark.parametrize(("messages", "rule"), [shape[1:] for shape in EMPTINESS], ids=[shape[0] for shape in EMPTINESS])
@accepts("rule:R22.empty-text", "rule:R22.blank-text", "rule:R22.user-empty")
@refuses("rule:R22.empty-text", "rule:R22.blank-text", "rule:R22.user-empty")
def test_the_measured_matrix_of_empty_content(messages: list[Any], rule: str | None) -> None:
    """R22: matrix M2, September 2026."""
    violation = ask(request(**say(*messages))).violation
    assert (violation and violation.rule) == rule


FOUR = [text(f"Part {n}.", cache_control=CACHED) for n in range(4)]
MARKS = [
    (
        "marks inside a tool result count",
        say(HI, assistant(call()), user(result(content=FOUR, cache_control=CACHED))),
        ["R58.too-many-marks"],
    ),
    (
        "the automatic mark falls on the result, not inside it",
        say(HI, assistant(call()), user(result(content=FOUR)), cache_control=CACHED),
        ["R58.automatic-fifth"],
    ),
    ("the automatic mark walks back over thinking", say(user(*FOUR), assistant(thought()), cache_control=CACHED), []),
    ("the automatic mark walks back over an empty text", say(user(*FOUR, ""), cache_control=CACHED), ["R22.empty-text"]),
    (
        "a mark inside a result comes after the result's own",
        say(HI, assistant(call()), user(result(content=[text("a", cache_control=HOUR)], cache_control=CACHED))),
        ["R58.ttl-order"],
    ),
    ("a null is no mark", say(user(*FOUR, text("Last.", cache_control=None))), []),
]


@pytest.mark.parametrize(("changes", "found"), [case[1:] for case in MARKS], ids=[case[0] for case in MARKS])
@accepts("rule:R58.automatic-fifth")
@refuses("rule:R58.too-many-marks", "rule:R58.automatic-fifth", "rule:R58.ttl-order")
def test_marks_are_counted_and_the_automatic_one_placed(changes: dict[str, Any], found: list[str]) -> None:
    """R58: in the structure, before the layout looks at how the request ends."""
    every = static_violations(json.dumps(request(**changes)).encode(), headers())
    assert [one.rule for one in every if rules()[one.rule].phase == "structure"] == found


@accepts("rule:R64.image-too-large")
def test_an_image_of_exactly_five_megabytes_passes() -> None:
    """R64: 5242880 characters of base64."""
    data = base64.b64decode(png(5, 5))
    whole = base64.b64encode(data + bytes(5_242_880 // 4 * 3 - len(data))).decode()
    assert len(whole) == 5_242_880
    assert ask(request(messages=[user(picture(whole))])).violation is None


@refuses("rule:R64.image-too-large")
def test_an_image_inside_a_tool_result_has_its_own_path() -> None:
    """R64: the path holds both tags."""
    violation = ask(request(**say(HI, assistant(call()), user(result(content=[picture("A" * 5_242_881)]))))).violation
    assert violation is not None
    assert violation.path == "messages.2.content.0.tool_result.content.0.image.source.base64"


JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08" + struct.pack(">HH", 3000, 10) + b"\x03"
GIF = b"GIF89a" + struct.pack("<HH", 3000, 10)
WEBP = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + (2999).to_bytes(3, "little") + (9).to_bytes(3, "little")
LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + (2999 | 9 << 14).to_bytes(4, "little") + b"\0" * 8
LOSSY = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 3000, 10)


NO_IMAGES = [
    (base64.b64decode(png(9, 9))[:23], "png"),
    (b"x" * 40, "png"),
    (GIF[:9], "gif"),
    (b"x" * 40, "gif"),
    (JPEG[:12], "jpeg"),
    (b"x" * 40, "jpeg"),
    (WEBP[:29], "webp"),
    (WEBP.replace(b"RIFF", b"RAFF"), "webp"),
    (WEBP.replace(b"WEBP", b"WAVE"), "webp"),
    (GIF + b"x" * 40, "png"),
]


@pytest.mark.parametrize(("data", "kind"), NO_IMAGES)
@refuses("rule:R64.image-unreadable")
def test_what_is_cut_short_or_of_another_type_is_no_image(data: bytes, kind: str) -> None:
    """R64: the first bytes must say what the media type says."""
    violation = ask(request(messages=[user(picture(base64.b64encode(data).decode(), f"image/{kind}"))])).violation
    assert violation is not None
    assert violation.rule == "R64.image-unreadable"


@pytest.mark.parametrize(
    ("data", "kind"), [(JPEG, "jpeg"), (GIF, "gif"), (WEBP, "webp"), (LOSSLESS, "webp"), (LOSSY, "webp")]
)
@refuses("rule:R64.image-dimensions")
def test_the_size_of_every_image_type_is_read(data: bytes, kind: str) -> None:
    """R64: 3000 pixels are too many among more than twenty images."""
    wide = picture(base64.b64encode(data).decode(), f"image/{kind}")
    assert ask(request(messages=[user(wide)])).violation is None
    violation = ask(request(messages=[user(wide, *[picture()] * 20)])).violation
    assert violation is not None
    assert violation.rule == "R64.image-dimensions"
