"""Claude Code and the simulator, with nothing between: what it sends is legal, and its tool loops come to their end.

The simulator refuses what the vendor refuses. So these tests hold the simulator to real traffic, and they are the measure
for the same conversations through a gateway.
"""

from pathlib import Path

import pytest

from tests.clients.conftest import both_versions
from tests.clients.witness import Witness

pytestmark = pytest.mark.slow

LOOP = """
turn:
  think: The file first.
  call: Bash {"command": "echo one"}
turn:
  redacted: Nobody reads this.
  text: Two at once.
  call: Bash {"command": "echo two"}
  call: Read {"file_path": "note.txt"}
turn:
  think: That is all.
  text: Done.
"""

AGENTS = """
turn:
  think: Two can do this at once.
  call: Agent {"description": "first", "prompt": "[[scenario:redacted]] one", "subagent_type": "general-purpose", "run_in_background": false}
  call: Agent {"description": "second", "prompt": "[[scenario:loop]] two", "subagent_type": "general-purpose", "run_in_background": false}
turn:
  think: Both are back.
  text: Both are done.
"""


@both_versions
def test_a_loop_of_several_tools_gives_all_thinking_back(claude_code, tmp_path: Path) -> None:
    """Thinking and redacted thinking come back unchanged, complete and in order (clients, 1.5)."""
    with Witness(LOOP, tmp_path) as sim:
        client = claude_code(sim.url, sim.key)
        (client.work / "note.txt").write_text("a note\n")
        run = client.ask("Have a look.")

        assert (run.failed, run.result, run.calls) == (False, "Done.", ["Bash", "Bash", "Read"])
        assert sim.refusals() == []
        assert sim.given_back() == [[], sim.made[:1], sim.made[:2]]
        assert run.proofs == sim.made


def test_a_resumed_conversation_gives_back_what_the_first_run_heard(claude_code, tmp_path: Path) -> None:
    """`--resume` reads the transcript, and sends all thinking of it (clients, 1.5)."""
    with Witness("think: Short.\ntext: Yes.", tmp_path) as sim:
        client = claude_code(sim.url, sim.key)
        first = client.ask("Are you there?")
        second = client.ask("Still?", "--resume", first.session)

        assert (first.result, second.result, sim.refusals()) == ("Yes.", "Yes.", [])
        assert sim.given_back() == [[], sim.made[:1]]


def test_two_sub_agents_are_conversations_of_their_own(claude_code, tmp_path: Path) -> None:
    """They share the session's id and have an id each (clients, 1.10)."""
    with Witness(AGENTS, tmp_path) as sim:
        run = claude_code(sim.url, sim.key).ask("Let two of them look.")

        assert (run.failed, run.result, run.calls) == (False, "Both are done.", ["Agent", "Agent"])
        assert (sim.refusals(), sim.foreign()) == ([], [])
        assert sorted(map(len, sim.counts_by_agent().values())) == [2, 2, 4]
