"""Claude Code that stays for several prompts: one process, one conversation, as in a terminal that is left open.

To start it costs a second of CPU, and a prompt more next to nothing. So a test whose subject is the conversation, and not how
it is taken up again, holds it in one sitting.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from threading import Timer
from types import TracebackType
from typing import Any, Self

from tests.clients.claude import MOST_SECONDS, ClaudeCode, Run


class Sitting:
    """`with Sitting(client) as talk: talk.ask("…")`. `options` are those of the command, as `--resume`."""

    def __init__(self, client: ClaudeCode, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self._client = client
        self._options = options
        self._environment = environment or {}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._client.sitting(*self._options),
            env={**self._client.environment, **self._environment},
            cwd=self._client.work,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self._end()
        said, _ = self._process.communicate(timeout=MOST_SECONDS)
        assert kind or self._process.returncode == 0, said

    def ask(self, prompt: str) -> Run:
        """Say it, and hear all until it has its result; at most some minutes."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"type": "user", "message": {"role": "user", "content": prompt}}) + "\n")
        self._process.stdin.flush()
        others: list[str] = []
        events = list(self._events(others))
        return Run(status=self._process.poll() or 0, events=events, errors="".join(others))

    def _events(self, others: list[str]) -> Iterator[dict[str, Any]]:
        """Until the result, or the end of the process. Lines that are no events go to `others`."""
        assert self._process.stdout is not None
        patience = Timer(MOST_SECONDS, self._end)
        patience.start()
        try:
            for line in self._process.stdout:
                if not line.startswith("{"):
                    others.append(line)
                    continue
                yield (event := json.loads(line))
                if event["type"] == "result":
                    return
        finally:
            patience.cancel()

    def _end(self) -> None:
        """With what its tools started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
