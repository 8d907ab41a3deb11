"""The loss table: every policy through every scenario, with as many seeds as are asked for."""

from __future__ import annotations

from contextlib import suppress

from tests.policies.play import Play, Stuck, Tally
from tests.policies.policies import POLICIES
from tests.policies.scenarios import SCENARIOS

Table = dict[str, dict[str, Tally]]

PAGE = "docs/numbers/policies.md"
BEGIN, END = "<!-- table: written by make bench-policies -->\n", "<!-- end of table -->\n"


def loss_table(seeds: int) -> Table:
    """Tallies by scenario and policy."""
    return {scenario: {policy: tally_of(scenario, policy, seeds) for policy in POLICIES} for scenario in SCENARIOS}


def tally_of(scenario: str, policy: str, seeds: int) -> Tally:
    total = Tally()
    for seed in range(seeds):
        play = Play(POLICIES[policy](), seed)
        with suppress(Stuck):
            SCENARIOS[scenario](play)
        total.add(play.tally)
    return total


def markdown(table: Table, seeds: int) -> str:
    header = ["scenario", *POLICIES]
    rows = [[scenario, *map(cell, tallies.values())] for scenario, tallies in table.items()]
    lines = "".join(f"| {' | '.join(row)} |\n" for row in [header, ["---"] * len(header), *rows])
    origin = [tallies["origin"] for tallies in table.values()]
    requests, blocks, heals = (sum(getattr(each, name) for each in origin) for name in ("requests", "due", "healed"))
    return f"{lines}\n{seeds} runs a cell; of origin alone {requests:,} requests, {blocks:,} blocks due, {heals:,} heals.\n"


def cell(tally: Tally) -> str:
    """`0` where nothing went wrong; else what did."""
    lost = f"{tally.lost / tally.due:.0%} lost" if tally.lost else ""
    refused = f"{tally.refused}× 400" if tally.refused else ""
    stuck = f"{tally.stuck} stuck" if tally.stuck else ""
    return ", ".join(filter(None, [lost, refused, stuck])) or "0"


def with_table(page: str, text: str) -> str:
    """The page with another table between its marks."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + "\n" + text + "\n" + END + rest.partition(END)[2]


def read_table(page: str) -> dict[str, dict[str, frozenset[str]]]:
    """Which kinds of harm (`lost`, `400`, `stuck`) the page names in each cell."""
    lines = page.partition(BEGIN)[2].partition(END)[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines if line.startswith("|")]
    header, _, *body = rows
    return {row[0]: dict(zip(header[1:], map(harm_in, row[1:]), strict=True)) for row in body}


def harm_in(words: str) -> frozenset[str]:
    return frozenset(part.split()[-1] for part in words.split(", ") if part != "0")
