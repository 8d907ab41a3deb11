"""`clew run -- claude`: a gateway for the time of one command, and what it says when that is over."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.claude import MOST_SECONDS, ClaudeCode
from tests.clients.installed import MODULES, NODE, clients_python
from tests.clients.scene import CONFIG
from tests.clients.test_claude_code import YES
from tests.clients.test_claude_code_alone import LOOP
from tests.clients.translated import translated
from tests.clients.witness import Witness
from tests.forking import run_clew
from tests.manifest import proves

pytestmark = pytest.mark.slow


PASSTHROUGH = """
active = "a"

[backends.a]
url = "{url}"
realm = "anthropic"
auth = "passthrough"
"""


def run(client: ClaudeCode, config: str, *command: str, backend: str = "", **own: str) -> subprocess.CompletedProcess[str]:
    """The client's environment says nothing of any address; `own` is what its user has set."""
    home = client.home / "clew"
    home.mkdir(parents=True, mode=0o700, exist_ok=True)
    (home / "clew.toml").write_text(config)
    environment = {name: value for name, value in client.environment.items() if not name.startswith("ANTHROPIC_")}
    return run_clew(
        ["run", *(["--backend", backend] if backend else []), "--", *command],
        env={**environment, "CLEW_HOME": str(home), "SIM_KEY": Witness.key, **own},
        cwd=client.work,
        timeout=MOST_SECONDS,
    )


def with_keys(sim: Witness) -> str:
    return CONFIG.format(more="", a=sim.url, b=sim.url, c=sim.url)


def test_the_client_has_the_terminal_and_clew_the_last_word(
    claude_code: Callable[[str, str], ClaudeCode], tmp_path: Path
) -> None:
    """No address, no key in the client's environment: `run` brings both, and passes the exit code."""
    with Witness(LOOP, tmp_path) as sim:
        client = claude_code("", "")
        (client.work / "note.txt").write_text("a note\n")
        done = run(client, with_keys(sim), str(client.binary), "-p", "Have a look.", "--allowedTools", "Bash,Read")

        assert (done.returncode, done.stdout) == (0, "Done.\n")
        assert done.stderr == "clew: 3 requests to a; 2 blocks kept, 0 restored, 0 left out\n"
        assert (sim.refusals(), sim.given_back()) == ([], [[], sim.made[:1], sim.made[:2]])


def test_a_client_is_started_on_a_vendor_of_another_dialect(
    claude_code: Callable[[str, str], ClaudeCode], tmp_path: Path
) -> None:
    """`--backend` overrides the config; and what is in the transcript now is said, since Claude alone would refuse it.

    One of the thoughts is empty: this vendor wants to be told so."""
    with translated("deepseek-chat", LOOP, tmp_path) as stage:
        client = claude_code("", "")
        (client.work / "note.txt").write_text("a note\n")
        config = stage.gateway.config.read_text().replace('active = "vendor"', 'active = "claude"')
        command = (str(client.binary), "-p", "Have a look.", "--allowedTools", "Bash,Read")
        done = run(client, config, *command, backend="vendor")

        assert (done.returncode, done.stdout) == (0, "Done.\n")
        summary, transcript = done.stderr.splitlines()
        assert summary == "clew: 3 requests to vendor; 2 blocks kept, 0 restored, 0 left out"
        assert transcript.startswith("clew: 3 sealed blocks of other vendors went into the client's transcript.")
        assert (stage.is_well(), stage.claude.asked()) == (True, [])


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_the_client_keeps_its_own_credential_where_the_backend_takes_it(
    claude_code: Callable[[str, str], ClaudeCode], tmp_path: Path, variable: str
) -> None:
    """The gateway's key travels beside it, in a header of its own, and no further than the gateway."""
    with Witness(YES, tmp_path) as sim:
        client = claude_code("", "")
        config = PASSTHROUGH.format(url=sim.url)
        done = run(client, config, str(client.binary), "-p", "Are you there?", **{variable: "sim-mine-1"})

        assert (done.returncode, done.stdout) == (0, "Yes.\n")
        [entry] = sim.asked()
        assert (entry["account"], "x-clew-key" in dict(entry["headers"])) == ("mine", False)


PROGRAMS = {
    "@anthropic-ai/sdk": """
import Anthropic from "@anthropic-ai/sdk";
const messages = [{ role: "user", content: "Are you there?" }];
const answer = await new Anthropic().messages.create({ model: "claude-opus-5-5", max_tokens: 2000, messages });
console.log(answer.content.at(-1).text);
""",
    "@ai-sdk/anthropic": """
import { anthropic } from "@ai-sdk/anthropic";
import { generateText } from "ai";
console.log((await generateText({ model: anthropic("claude-opus-5-5"), prompt: "Are you there?" })).text);
""",
}
"""As simple as their READMEs show them: everything comes from the environment. The second reads only ANTHROPIC_API_KEY."""


@pytest.mark.parametrize("sdk", PROGRAMS)
def test_an_sdk_works_with_a_vendors_key_in_the_environment(sdk: str, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(MODULES)
    (tmp_path / "page.mjs").write_text(PROGRAMS[sdk])
    client = ClaudeCode(version="", home=tmp_path, url="", token="")  # only its environment is used
    with Witness(YES, tmp_path) as sim:
        config = with_keys(sim).replace("SIM_KEY", "ANTHROPIC_API_KEY")
        done = run(client, config, str(NODE), str(tmp_path / "page.mjs"), ANTHROPIC_API_KEY=Witness.key)

        assert (done.returncode, done.stdout) == (0, "Yes.\n"), done.stderr
        assert (len(sim.asked()), sim.refusals()) == (1, [])


OPENAI_PROGRAMS = {
    "openai.py": """
from openai import OpenAI
print(OpenAI().responses.create(model="gpt-5.5", input="Are you there?").output_text)
""",
    "openai.mjs": """
import OpenAI from "openai";
const messages = [{ role: "user", content: "Are you there?" }];
console.log((await new OpenAI().chat.completions.create({ model: "gpt-5.5", messages })).choices[0].message.content);
""",
    "ai.mjs": """
import { openai } from "@ai-sdk/openai";
import { generateText } from "ai";
console.log((await generateText({ model: openai("gpt-5.5"), prompt: "Are you there?" })).text);
""",
}
"""Everything comes from the environment; the last sends nothing but OPENAI_API_KEY."""


@pytest.mark.parametrize("program", OPENAI_PROGRAMS)
def test_an_sdk_of_openais_works_with_a_vendors_key_in_the_environment(program: str, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(MODULES)
    (tmp_path / f"my_{program}").write_text(OPENAI_PROGRAMS[program])
    client = ClaudeCode(version="", home=tmp_path, url="", token="")  # only its environment is used
    runtime = clients_python() if program.endswith(".py") else NODE
    with Witness(YES, tmp_path) as sim:
        config = with_keys(sim).replace('realm = "anthropic"', 'realm = "anthropic"\nmodel = "claude-opus-5-5"')
        own = {"OPENAI_API_KEY": "sk-of-something-else"}
        done = run(client, config, str(runtime), str(tmp_path / f"my_{program}"), **own)

        assert (done.returncode, done.stdout) == (0, "Yes.\n"), done.stderr
        assert (len(sim.asked()), sim.refusals()) == (1, [])


AGENT = """
import asyncio
from claude_agent_sdk import ResultMessage, query

async def main():
    async for message in query(prompt="Are you there?"):
        if isinstance(message, ResultMessage):
            print(message.result)

asyncio.run(main())
"""


def test_the_agent_sdk_works_with_a_vendors_key_in_the_environment(tmp_path: Path) -> None:
    client = ClaudeCode(version="", home=tmp_path, url="", token="")
    with Witness(YES, tmp_path) as sim:
        done = run(client, with_keys(sim), sys.executable, "-c", AGENT, ANTHROPIC_API_KEY="sk-ant-of-something-else")

        assert (done.returncode, done.stdout) == (0, "Yes.\n"), done.stderr
        assert (len(sim.asked()), sim.refusals()) == (1, [])


@pytest.mark.soak
def test_claude_code_works_with_a_vendors_key_in_the_environment(
    claude_code: Callable[[str, str], ClaudeCode], tmp_path: Path
) -> None:
    with Witness(YES, tmp_path) as sim:
        client = claude_code("", "")
        own = {"ANTHROPIC_API_KEY": "sk-ant-of-something-else"}
        done = run(client, with_keys(sim), str(client.binary), "-p", "Are you there?", **own)

        assert (done.returncode, done.stdout) == (0, "Yes.\n"), done.stderr
        assert (len(sim.asked()), sim.refusals()) == (1, [])


@proves("req:S1-51")
def test_a_client_that_fails_fails_with_its_own_code(claude_code: Callable[[str, str], ClaudeCode], tmp_path: Path) -> None:
    """And where nothing was asked, nothing is said about it."""
    with Witness(LOOP, tmp_path) as sim:
        client = claude_code("", "")
        done = run(client, with_keys(sim), str(client.binary), "--no-such-option")

        assert (done.returncode, done.stdout) == (1, "")
        assert "--no-such-option" in done.stderr
        assert "clew:" not in done.stderr
