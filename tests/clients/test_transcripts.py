"""Claude Code's own transcripts come in, and what goes out as one is resumed by the real client."""

from pathlib import Path

import pytest

from clew.model.blocks import made
from clew.thinking.keys import proof_of
from tests.chat.formats.stored import exported, imported, stored
from tests.clients.witness import Witness

pytestmark = pytest.mark.slow


def test_a_transcript_is_imported_written_anew_and_resumed(claude_code, tmp_path: Path) -> None:
    """What the simulator signed is recorded as it was signed, and the client sends it back from the file that clew wrote.

    A client whose attachments are part of what it sends has lost these, which is among the losses of the format: the block
    is refused for what stood before it, and for nothing else, and the client goes on without.
    """
    with Witness("think: Short.\ntext: Yes.", tmp_path) as sim, stored(tmp_path / "clew.db") as store:
        client = claude_code(sim.url, sim.key)
        first = client.ask("Are you there?")
        [file] = (client.home / ".claude" / "projects").rglob(f"{first.session}.jsonl")
        tally = imported(store, file.read_bytes(), "claude-code")
        [thread] = store.threads("local")
        [passage] = store.passages("local", thread.id)
        assert (tally.turns, tally.broken, thread.session, thread.title) == (1, 0, first.session, "Are you there?")
        assert passage.recording is not None
        assert [proof for raw in passage.recording.blocks if (proof := proof_of(made(raw)))] == sim.made

        file.write_bytes(exported(store, "claude-code"))
        second = client.ask("Still?", "--resume", first.session)
        assert (second.failed, second.result) == (False, "Yes.")
        assert {refusal["rule"] for refusal in sim.refusals()} <= {"R44.conversation"}
        assert sim.given_back()[1] == sim.made[:1]

        tally = imported(store, file.read_bytes(), "claude-code")
        assert (tally.turns, tally.known, tally.broken) == (1, 1, 0)
