"""Headers, size, JSON (R2–R4, R62, R63)."""

from tests.build import user
from tests.conversations.asked import Asked, ask, bare
from tests.conversations.rulebook.case import case

FINE = ask()
MOST = 32 * 1024 * 1024
"""White space after a document is legal JSON, and counts."""

CASES = (
    case("R62.too-large", "", good=bare(FINE.raw.ljust(MOST)), bad=bare(FINE.raw.ljust(MOST + 1))),
    case("R2.version-missing", "", good=FINE, bad=Asked(FINE.body, {})),
    case("R2.version-unknown", "", good=ask(version="2026-10-21"), bad=ask(version="2026-10-22"), version="2026-10-22"),
    case(
        "R3.beta-unknown",
        "",
        good=ask(betas=("effort-2025-11-24", "compact-2026-01-12")),
        bad=ask(betas=("nope-1", "effort-2025-11-24", "nope-2")),
        values="`nope-1`, `nope-2`",
    ),
    case("R4.body-empty", "", good=FINE, bad=bare(b"")),
    case(
        "R4.body-not-json",
        "",
        good=FINE,
        bad=bare(b'{"model": NaN}'),
        reason="NaN is not a JSON value",
        line=1,
        column=11,
        char=10,
    ),
    case("R63.lone-surrogate", "", good=ask(user("\U0001f9f6")), bad=ask(user("\ud83e"))),
    case("R4.body-not-object", "", good=FINE, bad=bare(b"[1]")),
)
