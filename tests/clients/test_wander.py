"""Claude Code on a random walk: one conversation, and everything that can change under it changes.

Tool loops of every shape, two models, three backends, and a gateway that is killed now and then. What each model of each
backend ever thought in this conversation has to come back to it, every time, and nothing else. With another model the client
begins anew and resumes; with the same one it goes on as it is.
"""

import random
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.clients.claude import ClaudeCode, Run
from tests.clients.scene import Scene, scene
from tests.clients.sitting import Sitting
from tests.clients.test_claude_code import YES, Installed, all_is_well, client_of
from tests.counts import examples
from tests.numbers import note

pytestmark = pytest.mark.slow

SHAPES = [
    "thinking",
    "text",
    "redacted",
    "interleaved",
    "parallel",
    "loop",
    "updates",
    "omitted",
    "trailing-thinking",
    "pings",
    "small-pieces",
]
MODELS = ("claude-opus-4-8", "claude-sonnet-5")
"""Neither reads what the other thought: so each request has one right answer to what goes with it."""
TURNS = examples(5, soak=9)


@pytest.mark.parametrize("seed", range(examples(1)))
@pytest.mark.soak
def test_a_wandering_conversation_loses_nothing(claude_code: Installed, tmp_path: Path, seed: int) -> None:
    """No error reaches the client, no backend refuses anything, and each gets back exactly what is due."""
    with scene(YES, tmp_path) as stage:
        wander(stage, client_of(stage, claude_code), random.Random(seed))

        for witness in (stage.a, stage.b, stage.c):
            assert witness.given_back() == witness.due()
            note("blocks back at their makers through Claude Code", sum(map(len, witness.due())))


def wander(stage: Scene, client: ClaudeCode, chance: random.Random) -> None:
    active, talk = "a", Talk(client)
    with talk.stack:
        for turn in range(TURNS):
            if chance.random() < 0.6:
                active = chance.choice([name for name in "abc" if name != active])
                stage.gateway.use(active)
            if chance.random() < 0.2:
                stage.gateway.kill()
                stage.gateway.start()
            prompt = f"[[scenario:{chance.choice(SHAPES)}]] Turn {turn}."
            run = talk.ask(prompt, chance.choice(MODELS))
            assert all_is_well(stage, run, run.result), prompt


class Talk:
    """One conversation, in one sitting for each stretch with one model."""

    def __init__(self, client: ClaudeCode) -> None:
        self.stack = ExitStack()
        self._client = client
        self._model = ""
        self._session: list[str] = []

    def ask(self, prompt: str, model: str) -> Run:
        if model != self._model:
            self.stack.close()
            self._sitting = self.stack.enter_context(Sitting(self._client, "--model", model, *self._session))
            self._model = model
        run = self._sitting.ask(prompt)
        self._session = ["--resume", run.session]
        return run
