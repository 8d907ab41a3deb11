"""Anthropic's own safeguard settings go to Anthropic alone."""

import json

import pytest

from clew.model.change import Change
from clew.model.origin import Origin
from clew.pipeline.parameters import safeguards
from clew.pipeline.step import Facts
from clew.wire.requests import encode
from tests.build import GLM, OPUS, SONNET, request, target, user

SETTINGS = {"mode": "auto", "unknown": [1.0, {"a": None}]}


@pytest.mark.parametrize("origin", [OPUS, SONNET])
def test_to_anthropic_they_go_as_they_came(origin: Origin) -> None:
    asked = request(user("Hello."), safeguards=SETTINGS)
    assert safeguards(asked, target(origin), Facts()) == (asked, ())


def test_to_everybody_else_they_do_not_go_and_it_is_said() -> None:
    """Law 6."""
    asked = request(user("Hello."), safeguards=SETTINGS)
    before = encode(asked)
    going, changes = safeguards(asked, target(GLM), Facts())
    assert changes == (Change("safeguards", "safeguards", "removed", "only Anthropic knows them, not glm"),)
    assert json.loads(encode(going)) == {name: value for name, value in json.loads(before).items() if name != "safeguards"}
    assert encode(asked) == before
    assert safeguards(going, target(GLM), Facts()) == (going, ())


def test_a_request_without_them_is_left_alone() -> None:
    asked = request(user("Hello."))
    assert safeguards(asked, target(GLM), Facts()) == (asked, ())
