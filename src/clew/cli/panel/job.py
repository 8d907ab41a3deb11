"""A client as a job of a terminal of its own: `python -I -S job.py SOCKET COMMAND…`.

This program stands between clew and the client. It leads the terminal's session and has the client as a job in the
foreground, as a shell has it. Without it the client's process group would be an orphan, and the kernel lets nobody stop an
orphan by Ctrl-Z. When the client stops, this says so on SOCKET (a file descriptor), and it lets the client go on when it
hears from there. Signals that are sent to it go on to the client. It ends as the client ends.

It is run as a file, without clew and without site packages, since it has to start fast.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import termios
from contextlib import suppress

STOPPED = b"s"
GO_ON = b"g"
PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT, signal.SIGQUIT)
NOT_RUNNABLE = 126


def main(socket: int, command: list[str]) -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # tcsetpgrp from the background
    child = os.fork()
    if child == 0:
        os.close(socket)
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        try:
            os.execvp(command[0], command)  # noqa: S606  (the command that the person gave)
        except OSError as error:
            os.write(2, f"Error: {command[0]} cannot be started: {error.strerror}\r\n".encode())
            os._exit(NOT_RUNNABLE)
    with suppress(OSError):  # the child does the same, and may have been first
        os.setpgid(child, child)
    os.tcsetpgrp(0, child)
    for number in PASSED_ON:
        signal.signal(number, lambda received, _: os.killpg(child, received))
    # As a shell gives it.
    code = os.waitstatus_to_exitcode(_wait_for(child, socket))
    os._exit(code if code >= 0 else 128 - code)


def _wait_for(child: int, socket: int) -> int:
    """Wait until the client ends, and return its status."""
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return status
        os.write(socket, STOPPED)
        if os.read(socket, 1) == GO_ON:
            os.tcsetpgrp(0, child)
        os.killpg(child, signal.SIGCONT)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
