"""Limits: how much the holder of a key, a principal or a team may use.

`usd`, `tokens` and `requests` are counted over a window. A soft limit refuses a request once what is known to be used
reaches the cap; a hard one reserves the most that a request can use before its backend is asked. `requests` per minute is a
rate: it is spread evenly, and is not added up. `parallel` is how many requests may be under way in one process; more of them
wait.

Windows are the spans of time that a limit counts in. They are the same on every gateway, and need no memory. A window begins
at a multiple of its length since the epoch, in UTC: an hour at the full hour, a day at midnight, seven days on Monday. So
the end of a window is known from the time alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal, InvalidOperation
from hashlib import sha256
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from clew.errors import SettingsInvalid
from clew.model.turn import TokenUsage

HOUR: Final = 3600
DAY: Final = 24 * HOUR
MINUTE: Final = 60

WINDOWS: Final[Mapping[str, int]] = {
    "1m": MINUTE,
    "1h": HOUR,
    "5h": 5 * HOUR,
    "1d": DAY,
    "7d": 7 * DAY,
    "30d": 30 * DAY,
}
"""Seconds of each window, by the name that people type."""
_NAMES: Final = {seconds: name for name, seconds in WINDOWS.items()}
_MONDAY: Final = 4 * DAY
"""From the epoch, a Thursday, to the first Monday."""


class Window(NamedTuple):
    """From `start` up to, and without, `end`. Seconds since the epoch."""

    start: int
    end: int


def window_at(now: float, seconds: int) -> Window:
    """The window of this length that a moment lies in.

    >>> window_at(7300.5, HOUR)
    Window(start=7200, end=10800)
    """
    first = _MONDAY if seconds == WINDOWS["7d"] else 0
    start = int((now - first) // seconds) * seconds + first
    return Window(start, start + seconds)


def window_name(seconds: int) -> str:
    """The name of a window as a command takes it; "" for no window."""
    return _NAMES.get(seconds, f"{seconds}s" if seconds else "")


# Money as whole millionths of a US dollar: sums of them are exact, in Python and in every database.


MICRO: Final = 1_000_000
"""Micro-dollars of a dollar."""
_LEAST_SHOWN: Final = 100
"""Micro-dollars. Smaller amounts are not shown exactly."""


def micro_usd(usd: Decimal) -> int:
    """An amount of money that was spent, to the nearest micro-dollar.

    >>> micro_usd(Decimal("0.0123456"))
    12346
    """
    return int((usd * MICRO).to_integral_value(ROUND_HALF_EVEN))


def micro_usd_at_most(usd: Decimal) -> int:
    """An amount of money that may be spent, rounded up to a micro-dollar."""
    return int((usd * MICRO).to_integral_value(ROUND_CEILING))


def dollars(micro: int) -> str:
    """For people: at least two places, and all that are not zero.

    >>> dollars(5_000_000), dollars(12_346), dollars(-1)
    ('$5.00', '$0.012346', '-$0.000001')
    """
    whole, part = divmod(abs(micro), MICRO)
    places = f"{part:06d}".rstrip("0").ljust(2, "0")
    return f"{'-' if micro < 0 else ''}${whole:,}.{places}"


def rounded_dollars(micro: int) -> str:
    """For people who compare: cents from a dollar on, four places below it. A small amount is never shown as nothing.

    >>> rounded_dollars(4_938_842), rounded_dollars(61_158), rounded_dollars(11), rounded_dollars(0)
    ('$4.94', '$0.0612', '<$0.0001', '$0.00')
    """
    if 0 < micro < _LEAST_SHOWN:
        return f"<${_LEAST_SHOWN / MICRO:.4f}"
    sign, amount = "-" if micro < 0 else "", abs(micro) / MICRO
    return f"{sign}${amount:,.2f}" if amount == 0 or amount >= 1 else f"{sign}${amount:.4f}"


Unit: TypeAlias = Literal["usd", "tokens", "requests", "parallel"]
ScopeKind: TypeAlias = Literal["key", "principal", "team"]
MOST: Final = 2**62
"""No cap is higher: sums stay within what a database holds."""

_KINDS: Final[Mapping[str, ScopeKind]] = {"key": "key", "principal": "principal", "team": "team"}
_UNITS: Final[Mapping[str, Unit]] = {
    "usd": "usd",
    "tokens": "tokens",
    "requests": "requests",
    "parallel": "parallel",
    "token": "tokens",
    "request": "requests",
}
_AMOUNT: Final = re.compile(r"(?P<number>[\d_.]+)\s*(?P<unit>[a-z]+)(?:\s*/\s*(?P<window>\w+))?")
_HOW: Final = (
    "write a number, a unit and a window, such as 5usd/1d, 2000000tokens/5h, 1000requests/1h, 60requests/1m, or 4parallel; "
    f"windows are {', '.join(WINDOWS)}"
)


class LimitScope(NamedTuple):
    """Whom a limit is about: the holder of a key, by the key's name; a principal; or a team of keys."""

    kind: ScopeKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


class Limit(Struct, frozen=True, kw_only=True):
    """One limit. There is at most one for a scope, unit and window. `cap` is in micro-dollars where the unit is `usd`."""

    scope: LimitScope
    unit: Unit
    cap: int
    seconds: int = 0
    """The window; 0 for `parallel`."""
    hard: bool = False
    made: float = 0.0
    made_by: str = ""

    @property
    def is_rate(self) -> bool:
        return self.unit == "requests" and self.seconds == MINUTE

    @property
    def is_budget(self) -> bool:
        """Whether the limit is on a sum over its window."""
        return self.unit != "parallel" and not self.is_rate

    @property
    def amount(self) -> str:
        """The amount as a command takes it: 5usd/1d."""
        number = str(Decimal(self.cap) / MICRO) if self.unit == "usd" else str(self.cap)
        return f"{number}{self.unit}/{window_name(self.seconds)}" if self.seconds else f"{number}{self.unit}"

    @property
    def words(self) -> str:
        """The amount as text: $5.00 per 1d."""
        what = dollars(self.cap) if self.unit == "usd" else f"{self.cap:,} {_UNIT_WORDS[self.unit]}"
        return f"{what} per {window_name(self.seconds)}" if self.seconds else what


_UNIT_WORDS: Final = {"usd": "dollars", "tokens": "tokens", "requests": "requests", "parallel": "parallel requests"}


class Amounts(NamedTuple):
    """How much was used, in every unit that is added up."""

    micro_usd: int = 0
    tokens: int = 0
    requests: int = 0

    def of(self, unit: Unit) -> int:
        return {"usd": self.micro_usd, "tokens": self.tokens, "requests": self.requests, "parallel": 0}[unit]

    def plus(self, other: Amounts) -> Amounts:
        return Amounts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def amounts_of(usage: TokenUsage | None, micro: int | None) -> Amounts:
    """What one call used. A call without a known price costs nothing here: a hard limit never lets one pass."""
    if usage is None:
        return Amounts()
    return Amounts(micro or 0, usage.prompt + usage.output, 1)


def limits_digest(limits: Sequence[Limit]) -> str:
    """Another text for each change; "" for no limits."""
    return sha256(msgspec.json.encode(limits)).hexdigest()[:16] if limits else ""


def read_scope(text: str) -> LimitScope:
    """`key:NAME`, `principal:NAME` or `team:NAME`. Raises SettingsInvalid."""
    typed, _, name = text.partition(":")
    kind = _KINDS.get(typed)
    if kind is None or not name.strip() or not name.isprintable():
        raise SettingsInvalid(f"{text!r} is not a scope: use key:NAME, principal:NAME or team:NAME", key="scope")
    return LimitScope(kind, name)


def read_limit(scope: LimitScope, text: str, *, hard: bool = False, made: float = 0.0, made_by: str = "") -> Limit:
    """A limit from what was typed. Raises SettingsInvalid.

    >>> read_limit(LimitScope("key", "anna"), "5usd/1d").words
    '$5.00 per 1d'
    """
    found = _AMOUNT.fullmatch(text.strip().lower())
    unit = _UNITS.get(found["unit"]) if found else None
    if found is None or unit is None:
        raise SettingsInvalid(f"{text!r} is not a limit: {_HOW}", key="amount")
    number = found["number"]
    try:
        amount = Decimal(number) * (MICRO if unit == "usd" else 1)
    except InvalidOperation:
        raise SettingsInvalid(f"{number!r} in {text!r} is not a number: {_HOW}", key="amount") from None
    if amount != amount.to_integral_value() or not 0 <= amount <= MOST or (unit == "parallel" and not amount):
        smallest = "a millionth of a dollar" if unit == "usd" else "one"
        raise SettingsInvalid(f"{number!r} in {text!r}: the smallest step is {smallest}, the most is {MOST}", key="amount")
    cap, seconds = int(amount), _seconds(text, unit, found["window"])
    if hard and (unit == "parallel" or seconds == MINUTE):
        raise SettingsInvalid(
            f"{text!r} is counted by each gateway for itself, and cannot be hard: use it without --hard", key="hard"
        )
    return Limit(scope=scope, unit=unit, cap=cap, seconds=seconds, hard=hard, made=made, made_by=made_by)


def _seconds(text: str, unit: Unit, window: str | None) -> int:
    if unit == "parallel":
        if window:
            raise SettingsInvalid(f"{text!r}: parallel requests have no window: {_HOW}", key="amount")
        return 0
    seconds = WINDOWS.get(window or "")
    if seconds is None or (seconds == MINUTE and unit != "requests"):
        why = f"{window!r} is not a window for {unit}" if window else "a window is missing"
        raise SettingsInvalid(f"{text!r}: {why}: {_HOW}", key="amount")
    return seconds
