"""What real clients send breaks no rule about a request by itself: only their made-up blobs and model names are refused."""

import json
from pathlib import Path

import pytest

from clew.simulator.openai_responses.judge.case import RESPONSES_RULES, ResponsesCase
from clew.simulator.openai_responses.judge.judging import CHECKS
from clew.simulator.openai_responses.memory import OutputMemory
from clew.simulator.openai_responses.vendors import responses_vendors
from clew.simulator.server import stance

CAPTURES = sorted((Path(__file__).parents[2] / "fixtures/responses").glob("*.json"))
MADE_UP = {"responses.model-unknown", "responses.blob-invalid", "responses.blob-missing"}


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
def test_a_captured_request_keeps_all_rules_but_those_about_what_is_made_up(capture: Path) -> None:
    vendor, memory = responses_vendors()["openai-responses"], OutputMemory(b"secret")
    body = json.loads(capture.read_text())["body"]
    case = ResponsesCase(body=body, vendor=vendor, stance=stance(), memory=memory, account="a")
    broken = {breach.rule for check in CHECKS for breach in check(case)}
    assert {rule for rule in broken if RESPONSES_RULES.is_in_force(rule, vendor, stance())} <= MADE_UP
