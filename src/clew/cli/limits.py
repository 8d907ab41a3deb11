"""`clew limits`: how much the holder of a key, a principal or a team may use."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

import click

from clew.cli.command import Failed, json_option, operator, report_errors, report_followed, report_wrong_usage
from clew.cli.installation import find_installation, store_for_reading, store_for_writing
from clew.cli.output import Page, TextLine, print_result, printable, printable_table
from clew.limits.keys import current_keys
from clew.limits.ledger import LimitUse, limit_uses
from clew.limits.limit import Limit, read_limit, read_scope
from clew.settings.named_keys import NamedKeys
from clew.settings.rollout import roll_out_limits
from clew.store import Store

WRITE_SECONDS: Final = 10.0

_EXAMPLES: Final = """\b
Examples:
  clew limits set key:anna 5usd/1d              5 dollars a day
  clew limits set team:web 200usd/30d --hard    room is reserved before each request
  clew limits set principal:ci 2000000tokens/5h
  clew limits set key:anna 60requests/1m        a rate
  clew limits set key:anna 4parallel            4 requests at the same time
  clew limits list
  clew limits remove key:anna usd/1d
  clew limits remove key:anna                   all of them

\b
When the command ends, the running gateways have applied the change.
Exit status: 0 done, 1 failed or a gateway has not applied it, 2 wrong usage, 5 a file that cannot be used.
"""


@click.group(short_help="Limit what keys, principals and teams may use.", epilog=_EXAMPLES)
def limits() -> None:
    """Limits on money, tokens, requests and parallel requests, for key:NAME, principal:NAME or team:NAME.

    Windows are 1h, 5h, 1d, 7d and 30d; 1m is for a rate of requests. They begin at full hours, at midnight and on Monday,
    in UTC. A request above a limit is answered with status 429 and the time until the window ends.

    A soft limit refuses once its cap is reached, so what is under way then may exceed it. A hard limit (--hard) reserves the
    most that a request can use before its backend is asked, by an estimate of the prompt.
    """


@limits.command("set")
@click.argument("scope", metavar="SCOPE")
@click.argument("amount", metavar="AMOUNT")
@click.option("--hard", is_flag=True, help="Reserve the most that a request can use; refuse it if there is no room.")
@json_option
def set_(scope: str, amount: str, hard: bool, json_: bool) -> None:
    """Set a limit, or change it.

    SCOPE is key:NAME, principal:NAME or team:NAME. AMOUNT is, for example, 5usd/1d: 5 dollars a day.

    \b
    Examples:
      clew limits set key:anna 5usd/1d
      clew limits set team:web 1000requests/1h --hard
    """
    with report_wrong_usage():
        limit = read_limit(read_scope(scope), amount, hard=hard, made=time.time(), made_by=operator())
    with report_errors():
        installation = find_installation()
        with store_for_writing(installation) as store:
            # A limit for a key or a team that is not there limits nobody: that is nearly always a slip.
            rows = current_keys(NamedKeys(installation.home, store).all())
            names = {"key": [row.name for row in rows], "team": sorted({row.team for row in rows if row.team})}
            known, (kind, name) = names.get(limit.scope.kind), (limit.scope.kind, limit.scope.name)
            if known is not None and name not in known:
                raise Failed(f"there is no {kind} {name!r} (there are: {', '.join(known) or 'none'})")
            store.limits.set(limit).result(WRITE_SECONDS)
            followed = roll_out_limits(installation.home, store)
    line = TextLine(printable(f"{limit.scope}: {limit.words}{', hard' if limit.hard else ''}."))
    print_result({"set": limit_json(limit), "followed": followed}, [line], as_json=json_)
    report_followed(followed, json_=json_)


@limits.command("list")
@json_option
def list_(json_: bool) -> None:
    """List the limits, and how much of each is used."""
    with report_errors(), store_for_reading(find_installation()) as store:
        uses = uses_in(store) if store else []
    page: Page = [TextLine("There are no limits: `clew limits set key:NAME 5usd/1d` sets one.")]
    if uses:
        columns = ("scope", "limit", "kind", "used", "left", "window ends")
        page = [printable_table(columns, [_cells(each) for each in uses])]
    print_result([use_json(each) for each in uses], page, as_json=json_)


@limits.command()
@click.argument("scope", metavar="SCOPE")
@click.argument("what", metavar="[UNIT[/WINDOW]]", required=False)
@json_option
def remove(scope: str, what: str | None, json_: bool) -> None:
    """Remove the limits of SCOPE.

    With UNIT or UNIT/WINDOW, for example usd or usd/1d, only these are removed.

    \b
    Examples:
      clew limits remove key:anna
      clew limits remove key:anna usd/1d
    """
    with report_wrong_usage():
        named = read_scope(scope)
    with report_errors():
        installation = find_installation()
        with store_for_writing(installation) as store:
            found = [limit for limit in store.limits.all() if limit.scope == named]
            if what is not None:  # the unit, the unit with the window, or the whole amount
                found = [each for each in found if what in (each.unit, each.amount.lstrip("0123456789."), each.amount)]
            if not found:
                raise Failed(f"there is no such limit of {printable(scope)}: `clew limits list` shows the limits")
            for limit in found:
                store.limits.remove(limit, at=time.time(), by=operator()).result(WRITE_SECONDS)
            followed = roll_out_limits(installation.home, store)
    lines = [TextLine(printable(f"{limit.scope}: {limit.words} is removed.")) for limit in found]
    print_result({"removed": [limit_json(limit) for limit in found], "followed": followed}, lines, as_json=json_)
    report_followed(followed, json_=json_)


def uses_in(store: Store) -> list[LimitUse]:
    limits, now = store.limits.all(), time.time()
    return limit_uses(limits, store.limits.totals(now) if limits else {}, now)


def limit_json(limit: Limit) -> dict[str, object]:
    return {
        "scope": str(limit.scope),
        "amount": limit.amount,
        "unit": limit.unit,
        "cap": limit.cap,
        "seconds": limit.seconds,
        "hard": limit.hard,
        "made": limit.made,
        "made_by": limit.made_by,
    }


def use_json(use: LimitUse) -> dict[str, object]:
    return limit_json(use.limit) | {"used": use.used, "ends": use.ends}


def _cells(use: LimitUse) -> Sequence[str]:
    limit = use.limit
    kind = "rate" if limit.is_rate else "parallel" if limit.unit == "parallel" else "hard" if limit.hard else "soft"
    ends = time.strftime("%Y-%m-%d %H:%M", time.localtime(use.ends)) if use.ends else ""
    return str(limit.scope), limit.words, kind, use.used_words, use.left_words, ends
