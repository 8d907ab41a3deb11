"""npm of the Python environment, in this directory: `python -m tests.clients.npm ci` installs what the lock says.

npm takes an optional package that it could not fetch for one that this machine has no use for, and says nothing. So the
installation is not believed but looked at.
"""

import subprocess
import sys

from tests.clients.installed import HERE, NEW, NODE, NPM, OLD, claude, codex, opencode


def main(arguments: list[str]) -> int:
    done = subprocess.run([NODE, NPM, *arguments, "--prefix", HERE, "--no-progress", "--loglevel", "error"])
    if done.returncode == 0 and arguments == ["ci"]:
        for client in (claude(OLD), claude(NEW), codex(), opencode()):
            subprocess.run([client, "--version"], check=True, stdout=subprocess.DEVNULL)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
