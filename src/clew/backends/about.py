"""Descriptions of a backend for people: what it hides, where it deviates, what its models are called. Pure."""

from __future__ import annotations

from typing import Final

from msgspec import structs

from clew.backends.presets import Preset, preset_of_host, presets
from clew.backends.row import Backend, Quirks
from clew.dialects.openai_chat.options import ChatRequestOptions

_WIRE: Final = ("reasoning", "knob")


def hidden_of(row: Backend) -> str:
    """The part of a backend's reasoning that is not available, and why; "" if nothing is known to be hidden."""
    known = _known(row)
    return known.hidden if known else ""


def supports_of(row: Backend) -> dict[str, str]:
    """What the backend supports, by the table of presets; for an unknown endpoint, only how reasoning goes back."""
    known = _known(row)
    if row.dialect == "anthropic":
        reasoning = "signed thinking blocks" if row.quirks.signed else "thinking blocks"
    else:
        reasoning = f"as {row.wire.reasoning}" if row.wire.reasoning else "not taken back"
    has = {"images": known.vision, "tools": known.tools} if known else {}
    counts = {"counts tokens": "yes"} if known and known.count_tokens else {}
    return {"reasoning": reasoning, **has, **counts}


def _known(row: Backend) -> Preset | None:
    vendor = presets().get(row.preset) or preset_of_host(row.url)
    return vendor.speaking(row.dialect) if vendor else None


def models_of(row: Backend) -> str:
    """Which of its models answers for which name."""
    named = [f"{asked}={own}" for asked, own in row.models.items()]
    others = f"else {row.model}" if named else row.model
    return ", ".join([*named, *([others] if row.model else [])]) or "as asked"


def is_unmapped(row: Backend) -> bool:
    """Whether a backend gets the names of Claude models, which it does not know: no model is set for it."""
    return row.dialect != "anthropic" and not (row.model or row.models)


def deviations_of(row: Backend) -> dict[str, str]:
    """The quirks that differ from an unknown backend's; of its request options, those about reasoning."""
    usual = structs.asdict(Quirks())
    found = {name: value for name, value in structs.asdict(row.quirks).items() if value != usual[name]}
    default = ChatRequestOptions()
    found |= {name: getattr(row.wire, name) for name in _WIRE if getattr(row.wire, name) != getattr(default, name)}
    return {name: str(value).lower() if isinstance(value, bool) else str(value) or "none" for name, value in found.items()}
