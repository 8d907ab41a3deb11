"""A coding team: a lead that plans, a coder that writes, and a reviewer that reads.

The lead gives tasks to the other two. Each has a conversation of its own, and its thinking goes back to its model with every
request, as the model gave it. What the agents think and do is printed. A file is written only if the user says yes; any
other answer than yes or no is a reason, which the coder reads.

    pip install clew
    python team.py --demo
    python team.py --in my-project "Write a function for the factorial, with a test." "Now in two lines."

`--demo` needs no key: scripts play the models. Without it, clew's active backend answers (`clew use`), or the backend whose
key is in the environment.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from clew import (
    Agent,
    CallDenied,
    ClewError,
    Denied,
    FromAgent,
    Limits,
    Message,
    StepFinished,
    ToolCall,
    ToolFailed,
    ToolFinished,
    extract_thinking_blocks,
    log_thinking_metrics,
    tool,
)
from clew.testing import Simulator

MODEL = "claude-opus-5-5"
SHOWN = {"type": "adaptive", "display": "summarized"}
DEMO = Path(__file__).parent / "demo"
DEMO_PROMPTS = ["Write a function for the factorial, with a test.", "Write it once more, from scratch."]


class Workspace:
    """The tools of the team, on the files of one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def _path(self, path: str) -> Path:
        found = (self.root / path).resolve()
        if not found.is_relative_to(self.root):
            raise ToolFailed(f"{path!r} is outside of the project")
        return found

    def list_files(self) -> list[str]:
        """Lists the files of the project."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*.py"))

    def read_file(self, path: str) -> str:
        """Reads a file of the project."""
        return self._path(path).read_text()

    def write_file(self, path: str, text: str) -> str:
        """Writes a file of the project, in place of what was there."""
        target = self._path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return f"{path} is written"

    def run_tests(self) -> str:
        """Runs the tests of the project."""
        command = [sys.executable, "-m", "unittest", "discover", "--pattern", "test*.py"]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise ToolFailed(done.stderr)
        return done.stderr.splitlines()[-1]


def ask_user(call: ToolCall, tool: object) -> bool | Denied:
    """The user's decision about a call. It runs in a thread of its own, so it may wait."""
    try:
        answer = input(f"\n{call.name} {call.arguments}\nRun it? [y/N, or why not] ").strip()
    except EOFError:
        return Denied("there are no backends here")
    if answer.lower() in ("y", "yes"):
        return True
    return Denied(answer if answer.lower() not in ("", "n", "no") else "the user said no")


def coding_team(root: Path, *, model: str = MODEL, approve=ask_user, backends: Mapping[str, str] | None = None) -> Agent:
    """The lead, which has the others as its tools. `backends` names a backend for each; else the active one answers."""
    workspace, own = Workspace(root), backends or {}
    look = [workspace.list_files, workspace.read_file]
    coder = Agent(
        name="coder",
        description="Writes code, and runs the tests.",
        system="You write small, plain Python, with tests. Look around before you write.",
        tools=[*look, tool(approval=True)(workspace.write_file), tool(timeout=90)(workspace.run_tests)],
        model=model,
        backend=own.get("coder", ""),
    )
    reviewer = Agent(
        name="reviewer",
        description="Reads code, and says what is wrong with it.",
        system="You review code. You change nothing.",
        tools=look,
        model=model,
        backend=own.get("reviewer", ""),
    )
    return Agent(
        name="lead",
        system="You lead a team. Give the coder and the reviewer whole tasks: they know nothing but what you tell them.",
        tools=[coder, reviewer],
        model=model,
        backend=own.get("lead", ""),
        thinking=SHOWN,
        approve=approve,
        limits=Limits(steps=60, seconds=900),
    )


class Screen:
    """Prints what the team thinks, says and does, each line with the name of the agent."""

    def __init__(self, agent: str = "lead") -> None:
        self.agent = agent

    def info(self, text: str) -> None:
        """A line of the log: `log_thinking_metrics` calls it."""
        print(f"[{self.agent}] {text}")

    def show(self, event: object) -> None:
        match event:
            case FromAgent(agent, _, inner):
                Screen(agent).show(inner)
            case StepFinished(_, Message() as message, turn, _):
                tokens = turn.usage.thinking if turn and turn.usage else None
                log_thinking_metrics(self, tokens, extract_thinking_blocks(message.raw_content))
                if message.content:
                    self.info(message.content)
            case CallDenied(call, reason):
                self.info(f"✋ {call.name}: {reason}")
            case ToolFinished(call, output, is_error, _):
                self.info(f"{'✗' if is_error else '✓'} {call.name}: {output}")
            case _:
                pass


def run(team: Agent, prompts: list[str], **place) -> str:
    """Each prompt is a question in the same conversation. The last answer."""
    output = ""
    with team.open(**place) as opened:
        for prompt in prompts:
            print(f"\n> {prompt}")
            result = opened.run(prompt, listen=Screen().show)
            if result.ending != "answered":
                raise SystemExit(f"the team came to no answer: {result.limit or result.ending}")
            output = result.output or ""
    return output


def run_demo(root: Path, prompts: list[str], *, model: str = MODEL, approve=ask_user) -> str:
    """The same with a script in place of each model, on simulators that check every request as Claude does."""
    names = ("lead", "coder", "reviewer")
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="coding-team-"))
        played = {name: stack.enter_context(Simulator(scenario=str(DEMO / f"{name}.scenario"))) for name in names}
        team = coding_team(root, model=model, approve=approve, backends={name: name for name in names})
        backends = {name: simulator.backend for name, simulator in played.items()}
        return run(team, prompts, home=home, environ={}, backends=backends)


def main() -> None:
    parser = argparse.ArgumentParser(description="A lead, a coder and a reviewer work on the files of a folder.")
    parser.add_argument("prompts", nargs="*", help="what to ask, one after another")
    parser.add_argument("--in", dest="folder", type=Path, help="the folder; a new one if left out")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--yes", action="store_true", help="write files without asking")
    parser.add_argument("--demo", action="store_true", help="without a key: scripts play the models")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="coding-team-"))
    approve = (lambda call, tool: True) if given.yes else ask_user
    if not given.prompts and not given.demo:
        parser.error("say what the team is to do, or --demo")
    try:
        if given.demo:
            run_demo(folder, given.prompts or DEMO_PROMPTS, model=given.model, approve=approve)
        else:
            run(coding_team(folder, model=given.model, approve=approve), given.prompts)
    except ClewError as error:
        raise SystemExit(f"coding_team: {error}") from None
    print(f"\nThe files are in {folder}")


if __name__ == "__main__":
    main()
