"""What stands in place of a signature on the thinking of other makers never reaches Claude, wherever it comes from."""

from __future__ import annotations

import json

import pytest

import clew
from clew.settings.values import ThinkingSettings
from clew.testing import Simulator
from tests.build import Json, assistant, text, thinking, user
from tests.engine.conftest import Gating
from tests.engine.gate import claude
from tests.engine.talk import MODEL, last_asked, refusals
from tests.manifest import proves, public


def translated() -> Json:
    """A thinking block as `Translator` makes it of another maker's answer."""
    answer = {"role": "assistant", "reasoning_content": "Hm.", "content": "Yes."}
    body = {"id": "c", "model": "deepseek-v4-pro", "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}]}
    message: Json = clew.Translator(backend="deepseek", served="deepseek-v4-pro").message(json.dumps(body).encode())
    [block] = [block for block in message["content"] if block["type"] == "thinking"]
    return block


FOREIGN = {
    "translated": translated(),
    "sealed by a newer version": thinking("Hm.", "clew9.AbCdEf"),
    "sealed": thinking("Hm.", "clew1.AbCdEf"),
}


def asking(block: Json) -> Json:
    return {
        "model": MODEL,
        "max_tokens": 4000,
        "thinking": {"type": "adaptive"},
        "messages": [user("One."), assistant(block, text("Yes.")), user("Two.")],
    }


@public("gateway")
@proves("req:S3-34")
@pytest.mark.slow
@pytest.mark.parametrize("block", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("policy", [ThinkingSettings(), ThinkingSettings(policy="session")], ids=lambda each: each.policy)
def test_the_gateway_leaves_it_out_without_a_refusal(
    gating: Gating, a: Simulator, block: Json, policy: ThinkingSettings
) -> None:
    gate = gating(claude(a), thinking=policy)
    answer = gate.ask(asking(block))
    assert answer.status == 200
    assert last_asked(a)["messages"][1]["content"] == [text("Yes.")]
    assert refusals(a) == []
    assert "left-out=1" in answer.headers["x-clew-thinking"]


@public("library")
@proves("req:S3-34")
@pytest.mark.parametrize("block", FOREIGN.values(), ids=FOREIGN)
def test_check_names_it_and_project_leaves_it_out(block: Json) -> None:
    found = clew.check(asking(block))
    assert [(violation.rule, violation.path) for violation in found] == [("R33.foreign-signature", "messages.1.content.0")]
    target = clew.Target(backend="claude", model=MODEL, profile=clew.profile_for(MODEL))
    projection = clew.project(json.dumps(asking(block)).encode(), target)
    assert [(change.what, change.path) for change in projection.changes] == [("left out", "messages.1.content.0")]
    assert clew.check(json.loads(projection.body)) == ()


@public("library")
@proves("req:S3-34")
def test_a_signature_of_claudes_is_neither_named_nor_left_out() -> None:
    own = asking(thinking("Hm.", "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"))
    target = clew.Target(backend="claude", model=MODEL, profile=clew.profile_for(MODEL))
    assert list(clew.check(own)) == []
    assert clew.project(json.dumps(own).encode(), target).changes == ()
