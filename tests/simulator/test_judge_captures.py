"""What real clients sent, held to the judge: their requests are legal up to what only the vendor's secret decides.

The captures are of 2026-11-15, redacted: long texts stand as `<redacted 306 chars>`, signatures end in `...<288 chars>`, schemas as `<redacted 5>`, credentials as
`<fake>`. They are filled in again here, so that sizes are as they were.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from clew.model.facts import rules
from clew.simulator.anthropic.judge import static_violations
from tests.manifest import accepts, proves
from tests.simulator.judging import ask

CAPTURES = sorted((Path(__file__).parent.parent / "fixtures" / "captures").glob("*.json"))
SIGNATURE = re.compile(r"\.\.\.<(\d+) chars>")
TEXT = re.compile(r"<redacted (\d+) chars>")
SCHEMA = re.compile(r"<redacted \d+>")


def filled(value: Any) -> Any:
    match value:
        case dict():
            return {key: filled(member) for key, member in value.items()}
        case list():
            return [filled(member) for member in value]
        case str() if SCHEMA.fullmatch(value):
            return {}
        case str():
            return SIGNATURE.sub("x", TEXT.sub(lambda match: "x" * int(match[1]), value))
        case _:
            return value


def read(path: Path) -> tuple[bytes, dict[str, str], str]:
    capture = json.loads(path.read_text())
    pairs = (line.split(": ", 1) for line in capture["headers"])
    return json.dumps(filled(capture["body"])).encode(), {name.lower(): value for name, value in pairs}, capture["path"]


UNSIGNED = {"R33.empty-signature"}
REFUSED = {
    "cc_unsigned_thinking_returned": UNSIGNED,
    "cc_model_switch_unsigned_kept": UNSIGNED,
    "cc_thinking_disabled_sonnet45": {"R38.thinking-while-off"},
}
"""Captures of what clients do wrong: unsigned thinking sent back, and thinking left in a loop after it was switched off."""

LATE = ("layout", "signature")


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
@accepts("rule:R3.beta-unknown", "rule:R4.field-unknown", "rule:R4.key-unknown", "rule:R32.output-config-gated")
@proves("rule:R33.empty-signature", "rule:R38.thinking-while-off")
def test_what_a_real_client_sends_breaks_no_rule_of_schema_parameters_and_structure(capture: Path) -> None:
    """R3, R4, R32: the lists of betas, fields and blocks hold what clients use; only thinking is refused, and only here."""
    body, headers, path = read(capture)
    found = static_violations(body, headers, path=path.partition("?")[0])
    assert {one.rule for one in found} == REFUSED.get(capture.stem, set())
    assert all(rules()[one.rule].phase in LATE for one in found)


@accepts("rule:R5.model-unknown")
def test_a_custom_model_is_unknown_to_the_vendor_and_legal_elsewhere() -> None:
    """R5: the capture of `qwen3-32b`."""
    body, headers, _ = read(next(path for path in CAPTURES if path.stem == "cc_custom_model_qwen"))
    terms = {"version": headers["anthropic-version"], "betas": headers["anthropic-beta"].split(",")}
    violation = ask(body, **terms).violation
    assert violation is not None
    assert violation.rule == "R5.model-unknown"
    assert ask(body, kind="compat", **terms).violation is None
