"""The process from which `tests.forking` gets its processes: it has imported clew, and forks itself for each start.

Run as `python -mtests.forking_server clew FD`: other programs see that it is clew. FD is a socket. A message on it is JSON
(arguments, environment, directory, whether it begins a session, whether its commits have patience) with four files: the three
standard streams, and a pipe on which the process's number is told at once and its status at its end. It ends when the socket is closed.
"""

import array
import atexit
import gc
import json
import os
import select
import signal
import socket
import sys
import termios
import threading
import time
from contextlib import suppress
from fcntl import ioctl
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import clew
from clew.cli import main

LONGEST = 1 << 20
BESIDE = ("uvloop", "uvicorn.lifespan.off")
"""What `serve` imports only once it runs, beside clew."""


def serve(requests: socket.socket) -> dict[str, Any] | None:
    """Returns what was asked for in each new process, and None in this one, at its end."""
    told: dict[int, int] = {}
    wake, woken = socket.socketpair()
    for end in (wake, woken):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests, and they close the socket
    while True:
        ready, _, _ = select.select([requests, wake], [], [])
        if wake in ready:
            wake.recv(4096)
            _tell_ends(told)
        if requests in ready:
            message, files = _receive(requests)
            if not message:
                return None
            pid = os.fork()
            if pid == 0:
                _become(asked := json.loads(message), files[:3])
                return asked
            told[pid] = files[3]
            _write(files[3], pid)
            for file in files[:3]:
                os.close(file)


def _receive(requests: socket.socket) -> tuple[bytes, list[int]]:
    files = array.array("i")
    message, beside, _, _ = requests.recvmsg(LONGEST, socket.CMSG_LEN(4 * files.itemsize))
    for _level, _kind, data in beside:
        files.frombytes(data)
    return message, list(files)


def _tell_ends(told: dict[int, int]) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            pipe = told.pop(ended[0])
            _write(pipe, ended[1])
            os.close(pipe)


def _write(pipe: int, number: int) -> None:
    with suppress(BrokenPipeError):  # nobody wants to know any more
        os.write(pipe, b"%d\n" % number)


def _become(asked: dict[str, Any], streams: list[int]) -> None:
    """Be a process as it is when Python has started. It hears Ctrl-C and that its terminal is gone, though a suite in the
    background of a shell does not. One that begins a session on a terminal has it for its own."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    if asked["session"]:
        os.setsid()
        if os.isatty(0):
            ioctl(0, termios.TIOCSCTTY, 0)
    os.closerange(3, 1024)
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    os.chdir(asked["cwd"])
    sys.argv = ["clew", *asked["arguments"]]
    lenient = {"encoding": "utf-8", "errors": "surrogateescape", "closefd": False}
    sys.stdin, sys.stdout = os.fdopen(0, **lenient), os.fdopen(1, "w", **lenient)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
    if asked["patient"]:
        # The limit itself was read when the module that has the function was imported.
        sys.modules["clew.engine.runtime"].build_runtime.__kwdefaults__["commit_seconds"] = 30.0  # type: ignore[attr-defined]
        sys.modules["clew.store.postgres.spooling"].LIMIT = 20.0  # type: ignore[attr-defined]


def _leave(ended: SystemExit) -> None:
    """End as Python does, but give the memory back whole: to take each object apart costs three times what most commands do. Returns
    where Python has something to say about it."""
    if ended.code is not None and not isinstance(ended.code, int):
        return
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code or 0)


if __name__ == "__main__":
    own = [module.name for module in walk_packages(clew.__path__, "clew.")]
    for name in (*own, *BESIDE):
        if name not in ("clew.__main__", "clew.testing.plugin"):  # the one runs, the other is for pytest
            import_module(name)
    gc.collect()
    gc.freeze()
    if serve(socket.socket(fileno=int(sys.argv[2]))) is not None:
        try:
            main(prog_name="clew")
        except SystemExit as ended:
            _leave(ended)
            raise
