"""What Claude Code needs beside its loops, on vendors that speak Chat Completions: counts, probes, and errors that it acts on."""

import json
from pathlib import Path

import pytest

from tests.clients.conversation import SDKS
from tests.clients.gateway import KEY, Gateway
from tests.clients.sitting import Sitting
from tests.clients.test_claude_code import Installed
from tests.clients.test_claude_code_translated import client_of, is_answered
from tests.clients.translated import remembered_aloud, translated
from tests.manifest import proves
from tests.waiting import until

pytestmark = pytest.mark.slow

YES = "think: A short xylophone.\ntext: Yes."
AT_ONCE = "[retry]\nretries = 0\n"
"""The gateway leaves it to the client to try again."""


def answered(gateway: Gateway) -> int:
    """How many requests of any kind the gateway answered, as its log has it."""
    lines = [json.loads(line) for line in gateway.log_file.read_text().splitlines() if line.startswith("{")]
    return sum(line.get("event") == "request" and line["outcome"] == "whole" for line in lines)


@proves("req:S3-41")
def test_a_burst_of_counts_is_answered_without_the_vendor(claude_code: Installed, tmp_path: Path) -> None:
    """`/context` counts each part of the prompt, all at the same time; this vendor cannot count, so nobody asks it."""
    with translated("kimi-chat", YES, tmp_path) as stage:
        with Sitting(client_of(stage, claude_code)) as talk:
            talk.ask("Are you there?")
            before = answered(stage.gateway)
            usage = talk.ask("/context")

        assert ("Context Usage" in usage.result, len(stage.vendor.journal())) == (True, 1)
        until(lambda: answered(stage.gateway) - before > 10)  # the log is written a moment later


@pytest.mark.soak
def test_a_model_that_is_set_is_probed_with_one_token(tmp_path: Path) -> None:
    """The agent SDK asks for one token to see whether a model is there; the vendor is asked, and what it thinks stays."""
    models = ["claude-opus-4-8", "claude-sonnet-5", "claude-opus-4-8"]
    with translated("deepseek-chat", YES, tmp_path) as stage:
        agent = SDKS["claude-agent-sdk"]
        heard = agent.converse(stage.gateway.url, KEY, ["One.", "Two.", "Three."], tmp_path / "home", models=models)

        assert (heard.answers, stage.vendor.refusals()) == (["Yes."] * 3, [])
        assert [entry["body"]["max_tokens"] == 1 for entry in stage.vendor.asked()] == [True, False, True, False, False]
        assert [len(entry["thinking"]) for entry in stage.vendor.asked()] == [0, 0, 0, 1, 2]
        assert stage.vendor.wrong() == []


ROOM = (
    "This model's maximum context length is {limit} tokens. However, you requested {sum} tokens ({given} in the messages, "
    "{answer} in the completion). Please reduce the length of the messages or completion."
)


def too_long(limit: int, given: int, answer: int) -> str:
    """The vendor\'s words, as a fault."""
    words = ROOM.format(limit=limit, sum=given + answer, given=given, answer=answer)
    return f'status 400 message="{words}"'


@proves("case:58", "case:65b")
def test_a_full_context_is_said_in_the_words_that_make_it_act(claude_code: Installed, tmp_path: Path) -> None:
    """No room for the answer: less is asked for. No room for the conversation: it compacts, and no stale thought goes along."""
    with translated("deepseek-chat", YES, tmp_path) as stage:
        client = client_of(stage, claude_code)
        with Sitting(client) as talk:
            stage.vendor.fault(too_long(65536, 12000, 64000))
            first = talk.ask("Are you there?")
            talk.ask("Still?")
            stage.vendor.fault(too_long(131072, 139000, 64000))
            last = talk.ask("And now?")

        assert (first.result, last.result, is_answered(first), is_answered(last)) == ("Yes.", "Yes.", True, True)
        assert len(last.of("system", "compact_boundary")) == 1
        assert stage.vendor.asked()[1]["body"]["max_tokens"] == 65536 - 12000 - 1000
        assert (stage.vendor.refusals(), stage.vendor.wrong(), remembered_aloud(client)) == ([], [], [])


@pytest.mark.soak
def test_a_vendor_that_wants_to_be_left_alone_is_asked_again(claude_code: Installed, tmp_path: Path) -> None:
    """A 429 keeps its `retry-after`; a 503 is the 529 that Anthropic would say. The client waits and tries again."""
    with translated("deepseek-chat", YES, tmp_path, more=AT_ONCE) as stage:
        client = client_of(stage, claude_code)
        stage.vendor.fault("status 429 retry-after=1")
        stage.vendor.fault("status 503 retry-after=0")
        run = client.ask("Are you there?")

        assert (run.failed, run.result) == (False, "Yes.")
        retries = [(event["error_status"], event["retry_delay_ms"]) for event in run.of("system", "api_retry")]
        assert (retries[0], [status for status, _ in retries]) == ((429, 1000), [429, 529])
