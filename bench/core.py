"""`make bench`: what the pure core costs, as ratios to the least that any reader of the same bytes must pay.

All cases of a group run interleaved in one process (the order reversed every other round), and medians are compared, so that
a slow moment of the machine hits all of them alike. Read the ratios; the milliseconds are one machine's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parent))

import sse
import translated
from clew.model.facts.models import profile_for
from clew.model.origin import Target
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.pipeline.thinking.binding import is_whole
from clew.thinking.history import answers_of, thoughts_of
from clew.thinking.recognise import Context, recognise
from clew.wire.requests import encode, parse
from history import CLAUDE, SEALER, Talk

Cases = dict[str, Callable[[], object]]


class _Raw(msgspec.Struct):
    messages: list[msgspec.Raw]


def history_cases(talk: Talk) -> Cases:
    """Decoding to raw values alone; the same with everything that a projection does; recognition by itself."""
    decoder = msgspec.json.Decoder(_Raw)
    target = Target(backend="claude", model=CLAUDE.model, account="me", profile=profile_for(CLAUDE.model))
    facts = Facts(recordings=talk.shelf, sealer=SEALER)
    asked = parse(talk.raw)
    answers = answers_of(asked.messages)
    native = parse(encode(project(asked, target, facts).request))
    untouched = native.source.raw
    return {
        "decode to raw": lambda: decoder.decode(talk.raw),
        "parse, project, encode": lambda: encode(project(parse(talk.raw), target, facts).request),
        "the same, nothing to alter": lambda: encode(project(parse(untouched), target, facts).request),
        "is the copy whole": lambda: is_whole(native.messages, thoughts_of(native.messages), target, facts),
        "recognise, each answer": lambda: recognise(answers, talk.shelf, Context()),
    }


def measure(cases: Cases, rounds: int) -> dict[str, float]:
    """Median seconds of CPU of each case over interleaved rounds: the clock of the process stands still while others run."""
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(rounds):
        for name in list(cases)[:: -1 if number % 2 else 1]:
            start = time.process_time()
            cases[name]()
            taken[name].append(time.process_time() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


def show(title: str, medians: dict[str, float]) -> None:
    base = next(iter(medians.values()))
    print(f"\n{title}")
    for name, seconds in medians.items():
        print(f"  {name:<32} {seconds * 1e3:9.3f} ms {seconds / base:8.2f}x")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=40)
    options.add_argument("--json", action="store_true", help="print the medians as JSON, for comparing two commits")
    given = options.parse_args()
    results: dict[str, dict[str, float]] = {}
    for megabytes in (1, 4):
        talk = Talk(megabytes * 1_000_000)
        results[f"history of {len(talk.raw) / 1e6:.2f} MB"] = measure(history_cases(talk), given.rounds)
    results["stream of 300 events"] = measure(sse.cases(), given.rounds * 5)
    results["stream of 300 events in two dialects"] = measure(translated.cases(), given.rounds * 2)
    if given.json:
        print(json.dumps(results, indent=1))
        return
    for title, medians in results.items():
        show(title, medians)


if __name__ == "__main__":
    main()
