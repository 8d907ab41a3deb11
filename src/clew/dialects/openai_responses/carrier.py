"""What of an answer only this dialect has, on its way from a backend to a client that both speak it.

An item of a type that has no block (a search, a picture) is a block of its own type; an annotation of a text, or that it is
a refusal, is a citation of its own type. Neither ever goes to a client or a backend of another dialect: there the item
stands behind a thought without words, for its maker alone, and the annotation is left out.
"""

from __future__ import annotations

from typing import Final

from clew.dialects.openai_responses.detail import DIALECT_NAME
from clew.model.json import JsonObject, object_of
from clew.model.request import NativeRequest

ITEM: Final = "responses_item"
"""The type of a block that is an item."""
_ANNOTATION: Final = "responses_annotation"
_REFUSAL: Final = "responses_refusal"


def is_own_client(native: NativeRequest | None) -> bool:
    """Whether the client speaks this dialect."""
    return native is not None and native.dialect == DIALECT_NAME


def item_block(item: JsonObject) -> JsonObject:
    return {"type": ITEM, "item": item}


def item_of(block: JsonObject) -> JsonObject:
    """The item that a block is; {} if it is none."""
    return object_of(block.get("item")) if block.get("type") == ITEM else {}


def annotation_delta(annotation: JsonObject) -> JsonObject:
    return {"type": "citations_delta", "citation": {"type": _ANNOTATION, "annotation": annotation}}


def refusal_delta() -> JsonObject:
    """Says, before any word of a text, that it is a refusal."""
    return {"type": "citations_delta", "citation": {"type": _REFUSAL}}


def is_refusal_mark(citation: JsonObject) -> bool:
    return citation.get("type") == _REFUSAL


def annotation_in(citation: JsonObject) -> JsonObject:
    """The annotation that a citation carries; {} if it carries none."""
    return object_of(citation.get("annotation")) if citation.get("type") == _ANNOTATION else {}
