"""The page for users of the SDKs: its programs run, through a gateway, two turns each."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.claude import QUIET
from tests.clients.conversation import MOST_SECONDS
from tests.clients.gateway import KEY
from tests.clients.installed import MODULES, NODE
from tests.clients.scene import scene
from tests.clients.test_claude_code import YES

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs/howto/use-the-sdks.md"
PROGRAMS = re.findall(r"^## (.+?)$.*?^```(python|js)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)

TURNS = {
    "anthropic (Python)": """
messages = []
for prompt in ("One.", "Two."):
    messages.append({"role": "user", "content": prompt})
    print(answer(messages).content[-1].text)
""",
    "@anthropic-ai/sdk (JavaScript)": """
const messages = [];
for (const prompt of ["One.", "Two."]) {
  messages.push({ role: "user", content: prompt });
  console.log((await answer(messages)).content.at(-1).text);
}
""",
    "ai and @ai-sdk/anthropic": """
const messages = [];
for (const prompt of ["One.", "Two."]) {
  messages.push({ role: "user", content: prompt });
  console.log(await answered(messages));
}
""",
    "claude-agent-sdk (Python)": """
import asyncio

for prompt in ("One.", "Two."):
    print(asyncio.run(answered(prompt)))
""",
}
"""What a reader would add below each program."""


def test_every_program_of_the_page_is_known_here() -> None:
    assert [title for title, _, _ in PROGRAMS] == list(TURNS)


@pytest.mark.parametrize(("title", "language", "code"), PROGRAMS, ids=[title for title, _, _ in PROGRAMS])
def test_the_programs_of_the_page_run(title: str, language: str, code: str, tmp_path: Path) -> None:
    """And what they keep of one turn goes back to its maker in the next."""
    runtime, name = (sys.executable, "page.py") if language == "python" else (NODE, "page.mjs")
    (tmp_path / "node_modules").symlink_to(MODULES)
    (tmp_path / name).write_text(code + TURNS[title])
    with scene(YES, tmp_path) as stage:
        environment = {"HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **QUIET}
        variables = {"ANTHROPIC_BASE_URL": stage.gateway.url, "ANTHROPIC_AUTH_TOKEN": KEY}
        done = subprocess.run(
            [runtime, name],
            cwd=tmp_path,
            env={**environment, **variables},
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )

        assert (done.returncode, done.stdout) == (0, "Yes.\nYes.\n"), done.stderr
        again = [] if title.startswith("claude-agent") else stage.a.made[:1]  # each query is a conversation of its own
        assert (stage.refusals(), stage.a.given_back()) == ([], [[], again])
