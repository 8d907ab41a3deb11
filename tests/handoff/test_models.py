"""Every model that a vendor lists: a tool loop and a second question, with its own reasoning back in its own form."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.simulator.openai_chat.vendors import chat_vendors
from clew.testing.plugin import StartSimulator
from tests.build import Json
from tests.counts import SOAK
from tests.engine.gate import Gate
from tests.engine.talk import Talk, refusals, thoughts
from tests.handoff.seats import KINDS, seated
from tests.manifest import proves

pytestmark = pytest.mark.slow

MODELS = [(kind, model) for kind, vendor in chat_vendors().items() if kind in KINDS for model in vendor.listed]
CASES = [(kind, model, stream) for kind, model in MODELS for stream in (True, False)]
"""The suite takes each model once, streamed and whole in turn."""


def _is_unsigned(thought: Json) -> bool:
    """Text of Gemini's bears no signature, and stays out: only what signs its calls must be back."""
    return thought["fate"] == "missing" and thought["maker"].startswith("google/")


@proves("case:54")
@pytest.mark.parametrize(
    ("kind", "model", "stream"),
    CASES if SOAK else [case for at, case in enumerate(CASES) if at % 4 in (0, 3)],
    ids=lambda value: {True: "streamed", False: "whole"}.get(value, value),
)
def test_a_model_goes_on_with_its_own(
    simulators: StartSimulator, tmp_path: Path, kind: str, model: str, stream: bool
) -> None:
    """dialects 2.3: behind an aggregator each maker's reasoning has its own form, signed, encrypted or plain."""
    vendor = simulators(kind=kind, realm=kind)
    with Gate(tmp_path, seated(KINDS[kind], vendor, model)) as gate:
        talk = Talk(gate, stream=stream)
        talk.says("[[scenario:loop]] Three steps.")
        talk.says("[[scenario:thinking]] And the end?")

    assert refusals(vendor) == []
    came = [thought for thought in vendor.journal()[-1]["thinking"] if not _is_unsigned(thought)]
    assert all(thought["whose"] in ("own", "placeholder") and thought["fate"] == "kept" for thought in came)
    signed_apart = model.startswith("google/")  # known by its proof, not by its text
    assert signed_apart or all(thought["same"] for thought in came if thought["whose"] == "own")
    assert all(block["signature"].startswith("clew1.") for block in thoughts(talk.messages))
