"""What a block may hold: text that is empty or blank (R16, R22), an empty summary (R54), too large an image (R64).

*Empty* is "", *blank* is not empty and nothing but white space. Inside a tool result both are legal.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.model.json import JsonObject, JsonValue
from clew.thinking.compliance.reading import Check, Piece, Reading, Seen, Spot, at, listed, obj, spoken

__all__ = ["RULES"]

IMAGE_BYTES = 5 * 1024 * 1024


def _is_blank(text: JsonValue) -> bool:
    return isinstance(text, str) and text.isspace()


def _is_empty_text(block: JsonObject) -> bool:
    return block.get("type") == "text" and block.get("text") == ""


def _is_blank_text(block: JsonObject) -> bool:
    return block.get("type") == "text" and _is_blank(block.get("text"))


def _listed_pieces(reading: Reading) -> Iterator[Piece]:
    """Blocks of lists. A string has no block that could be empty on its own."""
    return (piece for message in reading.messages if isinstance(message.content, list) for piece in message.pieces)


# ── messages


def _empty_text_cached(reading: Reading) -> Iterator[Spot]:
    for piece in _listed_pieces(reading):
        if _is_empty_text(piece.value) and piece.value.get("cache_control") is not None:
            yield at(f"{piece.path}.text")


def _empty_text(reading: Reading) -> Iterator[Spot]:
    return (at(piece.path) for piece in _listed_pieces(reading) if _is_empty_text(piece.value))


def _is_all_blank(message: Seen) -> bool:
    return bool(message.pieces) and all(_is_blank_text(piece.value) for piece in message.pieces)


def _blank_text(reading: Reading) -> Iterator[Spot]:
    return (at(message.path) for message in reading.messages if _is_all_blank(message))


def _blank_text_beside(reading: Reading) -> Iterator[Spot]:
    mixed = (message for message in reading.messages if not _is_all_blank(message))
    return (at(piece.path) for message in mixed for piece in message.pieces if _is_blank_text(piece.value))


def _user_empty(reading: Reading) -> Iterator[Spot]:
    return (at(each.path) for each in reading.messages if each.role == "user" and each.content in ("", []))


def _compaction_empty(reading: Reading) -> Iterator[Spot]:
    for piece in reading.pieces():
        if piece.type == "compaction" and piece.value.get("content") == "":
            yield at(f"{piece.path}.compaction.content")


# ── system


def _system(reading: Reading) -> list[JsonObject]:
    return [obj(block) for block in listed(reading.body.get("system"))]


def _system_empty_cached(reading: Reading) -> Iterator[Spot]:
    for k, block in enumerate(_system(reading)):
        if _is_empty_text(block) and block.get("cache_control") is not None:
            yield at(f"system.{k}")


def _system_empty(reading: Reading) -> Iterator[Spot]:
    return (at(f"system.{k}") for k, block in enumerate(_system(reading)) if _is_empty_text(block))


def _system_blank(reading: Reading) -> Iterator[Spot]:
    blocks = _system(reading)
    if _is_blank(reading.body.get("system")) or (blocks and all(map(_is_blank_text, blocks))):
        yield at("system")


# ── images


def _images(reading: Reading) -> Iterator[tuple[str, JsonObject]]:
    """Images, directly in a message and inside tool results, with the path that the vendor gives them."""
    for piece in reading.pieces():
        if piece.type == "image":
            yield f"{piece.path}.image", piece.value
        elif piece.type == "tool_result":
            for k, nested in enumerate(listed(piece.value.get("content"))):
                if obj(nested).get("type") == "image":
                    yield f"{piece.path}.tool_result.content.{k}.image", obj(nested)


def _image_too_large(reading: Reading) -> Iterator[Spot]:
    for path, image in _images(reading):
        source = obj(image.get("source"))
        size = len(spoken(source.get("data")))
        if source.get("type") == "base64" and size > IMAGE_BYTES:
            yield at(f"{path}.source.base64", bytes=size)


RULES: dict[str, Check] = {
    "R54.compaction-empty": _compaction_empty,
    "R22.empty-text-cached": _empty_text_cached,
    "R22.empty-text": _empty_text,
    "R22.blank-text": _blank_text,
    "R22.blank-text-beside": _blank_text_beside,
    "R22.user-empty": _user_empty,
    "R16.empty-text-cached": _system_empty_cached,
    "R16.empty-text": _system_empty,
    "R16.blank-text": _system_blank,
    "R64.image-too-large": _image_too_large,
}
