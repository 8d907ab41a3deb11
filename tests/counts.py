"""How many examples a test tries: few in `make test`, the full counts in `make soak` (CLEW_SOAK=1)."""

import os

SOAK = os.environ.get("CLEW_SOAK") == "1"


def examples(small: int, *, soak: int | None = None) -> int:
    """`small` in the suite; in the soak `soak`, or twenty times as many."""
    return (soak or small * 20) if SOAK else small
