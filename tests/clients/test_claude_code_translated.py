"""Claude Code on vendors that speak Chat Completions: tool loops, resumed conversations, and Claude itself in between.

What a test asks is what it asks of vendors of Claude's own dialect: the client has its answer, nobody refused anything, each
got back all that it thought, byte for byte and where it wants it, and nothing of anybody else's. And no thought is ever said.
"""

from pathlib import Path

import pytest

from tests.clients.claude import ClaudeCode, Run
from tests.clients.gateway import KEY
from tests.clients.sitting import Sitting
from tests.clients.test_claude_code import Installed
from tests.clients.translated import VENDORS, Stage, remembered_aloud, translated
from tests.counts import SOAK
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

LOOP = """
turn:
  think: A xylophone first, "quoted", näher 木琴.
  call: Bash {"command": "echo one"}
turn:
  think: Then a xylophone that nobody
  redacted: A xylophone in the dark.
  text: Two at once.
  call: Bash {"command": "echo two"}
  call: Read {"file_path": "note.txt"}
turn:
  think: Let Claude play the xylophone.
  call: Bash {"command": "sh use claude"}
turn:
  think: Claude has a xylophone of its own.
  call: Bash {"command": "echo three"}
turn:
  think: And gives the xylophone back.
  call: Bash {"command": "sh use vendor"}
turn:
  think: The last xylophone.
  text: Done.
"""

SHORT = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "32000"}
"""What it asks for by itself is more than a small server's whole window."""


def client_of(stage: Stage, claude_code: Installed) -> ClaudeCode:
    client = claude_code(stage.gateway.url, KEY)
    stage.gateway.leave_commands(client.work)
    (client.work / "note.txt").write_text("a note\n")
    return client


def is_answered(run: Run) -> bool:
    return (run.failed, run.of("system", "api_retry")) == (False, [])


@pytest.mark.parametrize("kind", VENDORS if SOAK else ["deepseek-chat"])
@public("gateway")
@proves("req:S3-34", "req:S3-40")
def test_a_vendor_and_claude_share_a_loop_and_its_resumption(claude_code: Installed, tmp_path: Path, kind: str) -> None:
    """Vendor → Claude → vendor inside one loop; resumed with the vendor when the gateway has died, and then with Claude."""
    with translated(kind, LOOP, tmp_path) as stage:
        client = client_of(stage, claude_code)
        first = client.ask("Have a look.", environment=SHORT)
        stage.gateway.kill()
        stage.gateway.start()
        with Sitting(client, "--resume", first.session, environment=SHORT) as talk:
            second = talk.ask("[[scenario:loop]] Once more.")
            stage.gateway.use("claude")
            third = talk.ask("[[scenario:thinking]] And now?")

        assert [is_answered(run) for run in (first, second, third)] == [True] * 3
        assert (first.result, first.calls) == ("Done.", ["Bash", "Bash", "Read", "Bash", "Bash", "Bash"])
        assert (len(stage.vendor.asked()), len(stage.claude.asked())) == (8, 3)
        assert stage.is_well()
        assert stage.says_nothing_aloud()
        assert remembered_aloud(client) == []
