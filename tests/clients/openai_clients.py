"""The clients that speak OpenAI's dialects: each a small program that holds a conversation and says what it heard.

All have one tool, `run`, which runs a shell command, and the model decides what is run. `apis` are the ways in which a client
speaks: Chat Completions; Responses with the whole history in each request; and Responses where a request names what the server
keeps (`stored`).
"""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.clients.conversation import Heard
from tests.clients.gateway import KEY, Gateway
from tests.clients.installed import HERE, NODE, clients_python

MODEL = "gpt-5.5"
MOST_SECONDS = 150


@dataclass(frozen=True, slots=True)
class OpenaiClient:
    """A client: its program, and how it can speak."""

    program: str
    apis: Sequence[str]

    def converse(self, gateway: Gateway, api: str, prompts: Sequence[str], home: Path, *, deaths: int = 0) -> Heard:
        """Ask one prompt after the other in one conversation; meanwhile the gateway dies, and is started again, so often."""
        home.mkdir(exist_ok=True)
        gateway.leave_commands(home)
        process = subprocess.Popen(
            [NODE if self.program.endswith(".mjs") else clients_python(), HERE / "sdks" / self.program],
            env={"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"},
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps({"url": gateway.url, "key": KEY, "model": MODEL, "prompts": prompts, "api": api}))
        process.stdin.close()
        process.stdin = None
        for _ in range(deaths):
            gateway.restart_when_it_dies(process)
        said, errors = process.communicate(timeout=MOST_SECONDS)
        assert process.returncode == 0, errors
        return Heard(**json.loads(said))


CLIENTS = {
    "openai-python": OpenaiClient("openai_python.py", ("chat", "responses", "stored")),
    "openai-js": OpenaiClient("openai_js.mjs", ("chat", "responses")),
    "ai-sdk": OpenaiClient("ai_sdk_openai.mjs", ("chat", "responses", "stored")),
    "agents": OpenaiClient("agents_python.py", ("chat", "responses", "stored")),
    "langchain": OpenaiClient("langchain_python.py", ("chat", "responses", "stored")),
    "pydantic-ai": OpenaiClient("pydantic_ai_python.py", ("chat", "responses", "stored")),
    "llm": OpenaiClient("llm_cli.py", ("chat", "responses")),
}
