"""What Claude Code asks of a gateway beside its model calls: counts, the list of models, commands that rewrite the history."""

import json
from pathlib import Path

import pytest

from tests.clients.claude import ClaudeCode
from tests.clients.installed import NEW
from tests.clients.scene import Scene, scene
from tests.clients.sitting import Sitting
from tests.clients.test_claude_code import YES, Installed, all_is_well, client_of

pytestmark = pytest.mark.slow


def test_a_burst_of_counts_is_answered_and_disturbs_nothing(claude_code: Installed, tmp_path: Path) -> None:
    """`/context` counts each part of the prompt, all at the same time (clients, 1.1)."""
    with scene(YES, tmp_path) as stage:
        with Sitting(client_of(stage, claude_code)) as talk:
            talk.ask("Are you there?")
            usage = talk.ask("/context")
            last = talk.ask("Still?")

        assert all_is_well(stage, last, "Yes.")
        assert "Context Usage" in usage.result
        counts = [entry["verdict"] for entry in stage.a.journal() if entry["path"] == "/v1/messages/count_tokens"]
        assert (len(counts) > 10, [verdict for verdict in counts if verdict != {"ok": True}]) == (True, [])
        assert stage.a.given_back() == [[], stage.a.made[:1]]


@pytest.mark.soak
def test_the_models_that_are_offered_lead_to_their_backends(claude_code: Installed, tmp_path: Path) -> None:
    """Claude Code keeps names that begin with `claude` or `anthropic` (clients, 1.1); each backend has such a name."""
    with scene(YES, tmp_path) as stage:
        client = client_of(stage, claude_code)
        first = client.ask("Which are there?", "--model", "claude-opus-4-8", environment=DISCOVERING)
        offered = discovered(client, stage)
        for model in ("anthropic/b", "anthropic/c/gamma-1", "anthropic/b", "claude-opus-4-8"):
            last = client.ask("Still?", "--resume", first.session, "--model", model)

        assert {"claude-opus-5-5", "anthropic/b", "anthropic/b/beta-1", "anthropic/c", "anthropic/c/gamma-1"} <= offered
        assert all_is_well(stage, last, "Yes.")
        a, b, c = stage.a, stage.b, stage.c
        assert (a.given_back()[-1], b.given_back(), c.given_back()) == (a.made[-2:-1], [[], b.made[:1]], [[]])


DISCOVERING = {
    "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
}
"""The older one asks for models only where traffic that is not essential is on: none of that leaves the machine."""


def discovered(client: ClaudeCode, stage: Scene) -> set[str]:
    """What it noted of `GET /v1/models`."""
    noted = json.loads((client.home / ".claude/cache/gateway-models.json").read_text())
    assert noted["baseUrl"] == stage.gateway.url
    return {model["id"] for model in noted["models"]}


def test_a_compacted_conversation_goes_on_with_either_backend(claude_code: Installed, tmp_path: Path) -> None:
    """`/compact` puts a summary in place of the history, and keeps the last answer alive behind it."""
    with scene(YES, tmp_path) as stage:
        client = client_of(stage, claude_code)
        with Sitting(client) as talk:
            talk.ask("Are you there?")
            stage.gateway.use("b")
            talk.ask("Still?")
            stage.gateway.use("a")
            compacted = talk.ask("/compact")
        with Sitting(client, "--resume", compacted.session) as talk:
            talk.ask("And now?")
            stage.gateway.use("b")
            last = talk.ask("And at the end?")

        assert all_is_well(stage, last, "Yes.")
        a, b = stage.a, stage.b
        assert (a.given_back()[0], a.given_back()[1], a.given_back()[-1]) == ([], a.made[:1], [])
        assert b.given_back() == [[], b.made[:1]]


def test_what_a_classifier_would_need_goes_to_anthropic_alone(claude_code: Installed, tmp_path: Path) -> None:
    """Auto mode sends `safeguards` with paths, names and rules of the user's machine (clients, 1.10)."""
    with scene(YES, tmp_path) as stage:
        client = client_of(stage, claude_code)
        with Sitting(client, "--permission-mode", "auto") as talk:
            talk.ask("Are you there?")
            stage.gateway.use("b")
            last = talk.ask("Still?")

        assert all_is_well(stage, last, "Yes.")
        sent = ["safeguards" in witness.asked()[-1]["body"] for witness in (stage.a, stage.b)]
        assert sent == [client.version == NEW, False]
