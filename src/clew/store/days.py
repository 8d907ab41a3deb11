"""Usage, times and thinking by day, put together from rows.

Prices rise with the length of a prompt. So the usage of a day is summed apart by length, between the lengths where any
vendor's price changes: the price of a group is then the price of its average call, times the calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from clew.model.turn import TokenUsage
from clew.store.rows import Row
from clew.store.values import DayAnswers, Days, DayUsage

PROMPT_STEPS: Final = (32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288)
"""Tokens of a prompt above which some vendor's price changes."""
MOST_ANSWERS: Final = 200_000
"""Answers whose times are read, the newest first."""

_UsageRow: TypeAlias = tuple[str, str, str, int, int, int, int, int, int]
_TimeRow: TypeAlias = tuple[str, str, str, int, float | None, float]
_ThinkingRow: TypeAlias = tuple[str, str, str, int]


def days_of(usage_rows: Sequence[Row], time_rows: Sequence[Row], thinking_rows: Sequence[Row]) -> Days:
    """Each row begins with its day, backend and model. Usage: calls, the four counts, whether one is estimated. Times: is it
    whole, seconds to the first content and to the end. Thinking: how many answers had some."""
    usage = msgspec.convert(usage_rows, list[_UsageRow], strict=False)
    times = msgspec.convert(time_rows, list[_TimeRow], strict=False)
    thinking = msgspec.convert(thinking_rows, list[_ThinkingRow])
    spent: list[DayUsage] = []
    for day, backend, model, calls, input, output, read, written, estimated in usage:
        used = TokenUsage(input=input, output=output, cache_read=read, cache_written=written, estimated=bool(estimated))
        spent.append(DayUsage(day=day, backend=backend, model=model, calls=calls, usage=used))
    groups: defaultdict[tuple[str, str, str], list[_TimeRow]] = defaultdict(list)
    for row in times:
        groups[row[:3]].append(row)
    thoughts = {row[:3]: row[3] for row in thinking}
    answers = [
        DayAnswers(
            day=day,
            backend=backend,
            model=model,
            asked=len(rows),
            whole=sum(row[3] for row in rows),
            thought=thoughts.get((day, backend, model), 0),
            first_byte=tuple(sorted(row[4] for row in rows if row[4] is not None)),
            seconds=tuple(sorted(row[5] for row in rows if row[3])),
        )
        for (day, backend, model), rows in sorted(groups.items())
    ]
    return Days(spent=tuple(spent), answers=tuple(answers))
