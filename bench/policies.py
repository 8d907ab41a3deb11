"""`make bench-policies`: what four ways of treating thinking lose, scenario by scenario.

Prints the table and keeps it in docs/numbers/policies.md, between its two marks. The scenarios, the client and the judge are
those of tests/policies; a test there checks that the page still says what a small run finds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.policies.table import PAGE, loss_table, markdown, with_table

ROOT = Path(__file__).parent.parent


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=100, help="conversations for each cell")
    given = options.parse_args()
    table = loss_table(given.seeds)
    text = markdown(table, given.seeds)
    print(text)
    page = ROOT / PAGE
    page.write_text(with_table(page.read_text("utf-8"), text), "utf-8")
    harmed = [scenario for scenario, tallies in table.items() if tallies["origin"].harm]
    for scenario in harmed:
        print(f"origin is not zero: {scenario}: {table[scenario]['origin']}")
    return 1 if harmed else 0


if __name__ == "__main__":
    sys.exit(main())
