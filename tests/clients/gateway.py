"""A gateway as a user starts it: `clew serve` with a config file, in a process of its own.

Each has a home of its own under a short name (a socket's path has a limit), which outlives the process: so a test can kill
the gateway and start it again.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self
from urllib.error import URLError
from urllib.request import urlopen

from tests.forking import ClewProcess, run_clew
from tests.ports import own_port
from tests.waiting import until

CLEW = Path(sys.executable).with_name("clew")
KEY = "a-gateway-key-for-tests"
MOST_SECONDS = 200
USE = """
seen=$(grep -c '"backend switch"' {log})
echo "$1" > {choices}
looks=0
until [ $(grep -c '"backend switch"' {log}) -gt $seen ]; do
  looks=$((looks + 1)); [ $looks -gt 4000 ] && exit 1
  sleep 0.05
done
"""
"""Have the backend switched, and wait until the gateway says that it has. A second is promised; a machine that is busy with tests
gets two hundred."""


AGAIN = """
seen=$(wc -l < {starts})
looks=0
until [ $(grep -c '"event":"request"' {log}) -ge "${{1:-0}}" ]; do
  looks=$((looks + 1)); [ $looks -gt 600 ] && exit 1
  sleep 0.05
done
kill -9 $(cat {pid})
looks=0
until [ $(wc -l < {starts}) -gt $seen ]; do
  looks=$((looks + 1)); [ $looks -gt 4000 ] && exit 1
  sleep 0.05
done
"""


class Gateway:
    """`with Gateway(config) as gateway:` runs one. `variables` are what the config refers to."""

    def __init__(self, config: str, variables: Mapping[str, str]) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="clew-client-")
        self._variables = variables
        self._process: subprocess.Popen[bytes] | None = None
        self.home = Path(self._directory.name)
        self.port = own_port()
        self.config = self.home / "clew.toml"
        self.config.write_text(config)

    def __enter__(self) -> Self:
        os.mkfifo(self.choices_file)
        self.start()
        self._switching = Thread(target=self._switch)
        self._switching.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()
        self.choices_file.write_text("\n")
        self._switching.join()
        self._directory.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """What `clew` gets to see, here and in the commands beside it."""
        own = {"CLEW_HOME": str(self.home), "CLEW_KEY": KEY, **self._variables}
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **own}

    @property
    def pid_file(self) -> Path:
        return self.home / "serve.pid"

    @property
    def log_file(self) -> Path:
        return self.home / "serve.log"

    @property
    def starts_file(self) -> Path:
        """A line for each time that it took requests."""
        return self.home / "serve.starts"

    @property
    def choices_file(self) -> Path:
        """A pipe, for names of backends; an empty one ends it."""
        return self.home / "choices"

    def start(self) -> None:
        """Start it, and wait until it takes requests."""
        with self.log_file.open("a") as log:
            self._process = ClewProcess(
                ["serve", "--port", str(self.port), "--no-admin"],
                patient=True,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.pid_file.write_text(str(self._process.pid))
        self._wait(self._process)
        with self.starts_file.open("a") as starts:
            starts.write(f"{self._process.pid}\n")

    def kill(self) -> None:
        """`kill -9`: nothing is said, nothing is put in order."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def restart_when_it_dies(self, client: subprocess.Popen[str] | None = None) -> None:
        """Wait until somebody killed it, and start it again: as anyone who watches over services does. Not after the client."""
        process = self._process
        assert process is not None
        until(lambda: process.poll() is not None or (client is not None and client.poll() is not None))
        if process.poll() is not None:
            self.start()

    def use(self, backend: str) -> None:
        """Switch, and wait until it is followed."""
        self.leave_commands(self.home)
        subprocess.run(["sh", "use", backend], cwd=self.home, check=True, capture_output=True, timeout=MOST_SECONDS)

    def log(self) -> list[dict[str, Any]]:
        """What `clew log` says of each request."""
        return [json.loads(line) for line in self.clew("log", "--json", "-n", "1000").splitlines()]

    def clew(self, *arguments: str) -> str:
        """Run a command beside it."""
        done = run_clew(arguments, env=self.environment, timeout=MOST_SECONDS)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def leave_commands(self, directory: Path) -> None:
        """Put `use`, `kill9` and `again` where a client's tools run: `sh use b` has `clew use b` run, as by a user in another terminal.

        `again` kills it and waits until it is back, which is for the test to see to. `again 4` kills it when four answers have
        come to their end: some clients run a tool before the answer that calls it is over.
        """
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "use").write_text(USE.format(log=self.log_file, choices=self.choices_file))
        (directory / "kill9").write_text(f"kill -9 $(cat {self.pid_file})\n")
        (directory / "again").write_text(AGAIN.format(starts=self.starts_file, pid=self.pid_file, log=self.log_file))

    def _switch(self) -> None:
        """Run `clew use` for each name that comes through the pipe."""
        with os.fdopen(
            os.open(self.choices_file, os.O_RDWR)
        ) as names:  # not read alone: it would end with the first who writes
            for name in iter(lambda: names.readline().strip(), ""):
                run_clew(["use", name], env=self.environment, timeout=MOST_SECONDS)

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        until(lambda: process.poll() is not None or self._is_ready())
        assert process.poll() is None, "the gateway did not start:\n" + self.log_file.read_text()[-2000:]

    def _is_ready(self) -> bool:
        try:
            with urlopen(f"{self.url}/readyz", timeout=MOST_SECONDS):
                return True
        except (URLError, ConnectionError, TimeoutError):
            return False
