"""Days: what was used, how long it took and how much of it thought, for each local day, backend and model.

Prices rise with the length of a prompt, so calls are summed apart by it, between the lengths where any vendor's price
changes: what a group cost is then what its average call cost, times the calls.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

import msgspec

from clew.store.sqlite.database import Database
from clew.store.values import DayAnswers, Days, DaySpent, Usage

__all__ = ["days"]

STEPS: Final = (32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288)
"""Tokens of a prompt above which a price is another one, somewhere."""
MOST: Final = 200_000
"""Answers whose times are looked at, the newest first."""

_DAY = "date({}, 'unixepoch', 'localtime')"
_PROMPT = "input + cache_read + cache_written"
_LENGTH = " + ".join(f"({_PROMPT} > {step})" for step in STEPS)
_SPENT = f"""
SELECT {_DAY.format("at")} AS day, backend, model, count(*), sum(input), sum(output), sum(cache_read), sum(cache_written),
    max(estimated)
FROM usage WHERE principal = ? AND at >= ?
GROUP BY day, backend, model, {_LENGTH} ORDER BY day, backend, model
"""  # noqa: S608  (only constants are put in)
_TIMES = f"""
SELECT {_DAY.format("ended")}, backend, model, outcome = 'whole', first_byte, ended - started
FROM exchanges WHERE principal = ? AND ended >= ? AND kind = 'messages' AND outcome <> 'open' ORDER BY seq DESC LIMIT {MOST}
"""  # noqa: S608  (only constants are put in)
_THOUGHT = f"""
SELECT {_DAY.format("made")} AS day, said.backend, said.model, count(DISTINCT marks.recording)
FROM marks JOIN recordings AS said ON said.seq = marks.recording
WHERE marks.principal = ? AND kind = 'key' AND made >= ? AND said.whole GROUP BY day, said.backend, said.model
"""  # noqa: S608  (only constants are put in)

_Spent = tuple[str, str, str, int, int, int, int, int, int]
_Time = tuple[str, str, str, int, float | None, float]
_Thought = tuple[str, str, str, int]


def days(connection: Database, principal: str, since: float) -> Days:
    wanted = (principal, since)
    return Days(
        spent=tuple(_spent(*row) for row in msgspec.convert(connection.execute(_SPENT, wanted).fetchall(), list[_Spent])),
        answers=_answers(
            msgspec.convert(connection.execute(_TIMES, wanted).fetchall(), list[_Time]),
            msgspec.convert(connection.execute(_THOUGHT, wanted).fetchall(), list[_Thought]),
        ),
    )


def _spent(day: str, backend: str, model: str, calls: int, *counts: int) -> DaySpent:
    input, output, read, written, estimated = counts
    usage = Usage(input=input, output=output, cache_read=read, cache_written=written, estimated=bool(estimated))
    return DaySpent(day=day, backend=backend, model=model, calls=calls, usage=usage)


def _answers(times: list[_Time], thought: list[_Thought]) -> tuple[DayAnswers, ...]:
    found: defaultdict[tuple[str, str, str], list[_Time]] = defaultdict(list)
    for row in times:
        found[row[:3]].append(row)
    thoughts = {row[:3]: row[3] for row in thought}
    return tuple(_answers_of(key, found[key], thoughts.get(key, 0)) for key in sorted(found))


def _answers_of(key: tuple[str, str, str], rows: list[_Time], thought: int) -> DayAnswers:
    day, backend, model = key
    return DayAnswers(
        day=day,
        backend=backend,
        model=model,
        asked=len(rows),
        whole=sum(row[3] for row in rows),
        thought=thought,
        first_byte=tuple(sorted(row[4] for row in rows if row[4] is not None)),
        seconds=tuple(sorted(row[5] for row in rows if row[3])),
    )
