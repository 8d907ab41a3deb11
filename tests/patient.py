"""`clew` in a process of its own, with patience for the disk.

An answer goes out though its turn is not kept yet where the disk takes longer than a quarter of a second (law 8). Then it says so
in its log, a moment later; but a process that is killed in that moment says nothing any more. What is shown by killing it must
not depend on how busy the machine's disk is, so such a gateway waits for as long as it takes.
"""

import sys

__all__ = ["PATIENT"]

_CODE = """
import sys, clew.store.commits
sys.modules["clew.store.commits"].COMMIT_LIMIT = 30.0
from clew.cli import main
main(prog_name="clew")
"""

PATIENT = (sys.executable, "-c", _CODE)
"""The beginning of a command, in place of `clew`."""
