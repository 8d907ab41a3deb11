"""`clew` in processes of their own that have imported it when they begin.

To import clew takes a quarter of a second of a processor, and a run of the tests starts it a thousand times. So one process for each test
process imports it, and forks for each start (`tests.forking_server`). What comes of it is a process like any other, with a number, an
environment, files and signals of its own. Only how Python starts and ends is not shown by it: tests of that run the program itself.
"""

import atexit
import inspect
import json
import os
import select
import socket
import subprocess
import sys
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


class ClewProcess(subprocess.Popen[Any]):
    """`ClewProcess(["use", "b"], env=…)`: as `Popen` of the program with these arguments.

    An answer goes out though its turn is not kept yet where the disk takes longer than a quarter of a second (law 8). Then the gateway
    says so in its log, a moment later; but one that is killed in that moment says nothing any more. What is shown by killing it
    must not depend on how busy the machine's disk is: with `patient` it waits for as long as it takes.
    """

    def __init__(self, arguments: Sequence[str | Path], *, patient: bool = False, **options: Any) -> None:
        self._patient = patient
        self._news = -1
        super().__init__(["clew", *map(str, arguments)], **options)

    def _execute_child(self, *given: Any) -> None:
        """Instead of a fork and an exec by this process. The names of Popen's arguments are those of its own method."""
        asked = inspect.signature(super()._execute_child).bind(*given).arguments  # type: ignore[misc]
        env: Mapping[str, str] = os.environ if asked["env"] is None else asked["env"]
        message = {
            "arguments": asked["args"][1:],
            "env": {str(name): str(value) for name, value in env.items()},
            "cwd": str(asked["cwd"] or os.getcwd()),
            "session": asked["start_new_session"],
            "patient": self._patient,
        }
        named = (("p2cread", 0), ("c2pwrite", 1), ("errwrite", 2))
        streams = [number if asked[name] == -1 else asked[name] for name, number in named]
        self._news, theirs = os.pipe()
        _server().sendmsg(
            [json.dumps(message).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [*streams, theirs]))]
        )
        os.close(theirs)
        self.pid = self._next_number()
        self._child_created = True
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(asked[name] for name in ends))  # type: ignore[attr-defined]

    def _internal_poll(self, _deadstate: int | None = None, **_: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(False):  # type: ignore[attr-defined]
            try:
                self._try_wait(os.WNOHANG)
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        """Its number and status once it has ended, like `waitpid`, which is for the parent."""
        news = select.poll()
        news.register(self._news, select.POLLIN)
        if self.returncode is None and news.poll(0 if wait_flags & os.WNOHANG else None):
            status = self._next_number()
            os.close(self._news)
            self._handle_exitstatus(status)  # type: ignore[attr-defined]
            return self.pid, status
        return 0, 0

    def _next_number(self) -> int:
        line = b""
        while not line.endswith(b"\n"):
            line += (more := os.read(self._news, 1))
            assert more, "the process that forks is gone"
        return int(line)


def run_clew(
    arguments: Sequence[str | Path],
    *,
    input: str | None = None,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` of the program, with its output captured as text."""
    stdin = subprocess.PIPE if input is not None else options.pop("stdin", None)
    pipe = subprocess.PIPE
    with ClewProcess(arguments, stdin=stdin, stdout=pipe, stderr=pipe, text=True, **options) as process:
        try:
            said, errors = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, said, errors)
    if check:
        done.check_returncode()
    return done


@lru_cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    process = subprocess.Popen(
        [sys.executable, "-mtests.forking_server", "clew", str(theirs.fileno())],
        cwd=ROOT,
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait(30)

    atexit.register(end)
    return ours
