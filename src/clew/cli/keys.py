"""`clew keys`: named keys for those who share a gateway, and the secret behind the seals."""

from __future__ import annotations

import os
import time
from typing import Final

import click

from clew.cli.command import Failed, fail_if_behind, followed_line, json_option, report_errors, report_followed
from clew.cli.output import TextLine, TextTable, print_json, print_result, printable, printable_table
from clew.settings.home import Home, home_of
from clew.settings.own_keys import (
    KEY_VARIABLE,
    LOCAL,
    NAME_LENGTH,
    NamedKey,
    add_key,
    is_key_name,
    named_keys,
    remove_key,
    rotate_key,
    rotate_keyring,
)
from clew.settings.rollout import Rollout, roll_out_keys, roll_out_seal_key

_EXAMPLES: Final = """\b
Examples:
  clew keys add anna                        for somebody else, with conversations of her own
  clew keys add laptop --principal local    for yourself: it opens all your conversations
  clew keys list
  clew keys rotate anna                     a new key for the name; the old one opens nothing any more
  clew keys remove anna
  clew keys rotate-secret                   seal with a new secret from now on; old seals stay valid

\b
Gateways that run have applied the change when the command ends.
Exit status: 0 done, 1 failed or a gateway has not applied it, 2 wrong usage, 5 a file that cannot be used.
"""


@click.group(short_help="Add, list, rotate and remove keys of the gateway.", epilog=_EXAMPLES)
def keys() -> None:
    """Keys with which others may use the gateway, as x-api-key, Bearer or x-clew-key.

    A key belongs to a principal, the owner of what is recorded: nothing is found across principals. That principal has the
    name of the key, unless you say otherwise. The gateway's own key is CLEW_KEY, or one that the first start made; its
    principal is `local`.
    """


@keys.command()
@click.argument("name")
@click.option(
    "--principal",
    metavar="P",
    help="Whose conversations it opens: NAME's own, if not given. `local` is the owner of the gateway.",
)
@click.option("--team", default="", metavar="T", help="The team whose limits it shares: `clew limits set team:T …`.")
@json_option
def add(name: str, principal: str | None, team: str, json_: bool) -> None:
    """Make a key called NAME and print it, this once: only a hash of it is kept.

    A principal's conversations stay when its last key is removed; a new key of that principal opens them again.

    \b
    Examples:
      clew keys add ci
      clew keys add laptop --principal local
      clew keys add anna --team web
    """
    if not is_key_name(name):
        raise click.BadParameter(f"a key's name has 1 to {NAME_LENGTH} printable characters", param_hint="NAME")
    if principal is None and name == LOCAL:  # the owner's principal is never a matter of a key's name
        raise click.UsageError(
            f"{LOCAL!r} is the principal of the gateway's owner. Choose another name, or say `--principal {LOCAL}`."
        )
    owner = name if principal is None else principal
    if not owner.strip() or not owner.isprintable():
        raise click.BadParameter("a principal has a name that can be read", param_hint="--principal")
    if team and not is_key_name(team):
        raise click.BadParameter(f"a team's name has 1 to {NAME_LENGTH} printable characters", param_hint="--team")
    with report_errors():
        home = home_of(os.environ).make()
        rows = named_keys(home)
        if any(row.name == name for row in rows):
            raise Failed(f"there is a key {name!r} already: `clew keys rotate {name}` gives it a new secret")
        row, key = add_key(home, name, principal=owner, team=team)
        followed = roll_out_keys(home)
    _print_key(row, key, followed, json_, shared=owner in {LOCAL, *(row.principal for row in rows)})


@keys.command("list")
@json_option
def list_(json_: bool) -> None:
    """List the keys: their names, principals and ages, never the keys themselves."""
    home = home_of(os.environ)
    with report_errors():
        rows = named_keys(home)
    where = f" is in {KEY_VARIABLE}." if os.environ.get(KEY_VARIABLE) else f": {home.key}"
    page: list[TextLine | TextTable] = [TextLine("There are no named keys: `clew keys add NAME` makes one.")]
    if rows:
        days = [time.strftime("%Y-%m-%d", time.localtime(row.created)) if row.created else "?" for row in rows]
        cells = [(row.name, row.kid, row.principal, row.team, day) for row, day in zip(rows, days, strict=True)]
        page = [printable_table(("name", "kid", "principal", "team", "made"), cells)]
    page.append(TextLine(f"The gateway's own key{where}", "quiet"))
    print_result([_row_json(row) for row in rows], page, as_json=json_)


@keys.command()
@click.argument("name")
@json_option
def remove(name: str, json_: bool) -> None:
    """Take the key called NAME back: from now on it opens nothing. What was recorded with it stays."""
    home = _home_with(name)
    with report_errors():
        row, followed = remove_key(home, name), roll_out_keys(home)
    gone = TextLine(printable(f"{row.name} opens nothing any more; what {row.principal} recorded stays."))
    print_result({"removed": _row_json(row), "followed": followed}, [gone], as_json=json_)
    report_followed(followed, json_=json_)


@keys.command("rotate")
@click.argument("name")
@json_option
def rotate_named(name: str, json_: bool) -> None:
    """Give NAME a new key and print it, this once; the old one opens nothing any more."""
    home = _home_with(name)
    with report_errors():
        row, key = rotate_key(home, name)
        followed = roll_out_keys(home)
    _print_key(row, key, followed, json_)


@keys.command("rotate-secret")
@json_option
def rotate_secret(json_: bool) -> None:
    """Seal with a new secret from now on. The old ones go on opening what they sealed: clients hold those seals."""
    with report_errors():
        home = home_of(os.environ).make()
        ring = rotate_keyring(home.secret, os.environ)
        followed = roll_out_seal_key(home, ring.current)
    done = TextLine(f"seals are made with key {ring.current} now; {len(ring.keys) - 1} older still open theirs.")
    print_result({"current": ring.current, "keys": list(ring.keys), "followed": followed}, [done], as_json=json_)
    report_followed(followed, json_=json_)


def _home_with(name: str) -> Home:
    """The home. Ends the command if there is no key of this name in it."""
    home = home_of(os.environ)
    with report_errors():
        names = [row.name for row in named_keys(home)]
    if name not in names:
        raise Failed(f"there is no key {name!r} (there are: {', '.join(names) or 'none'})")
    return home


def _print_key(row: NamedKey, key: str, followed: Rollout, json_: bool, *, shared: bool = False) -> None:
    """On standard output the key alone: it goes into a variable or a file. `shared`: others have keys of its principal."""
    name, principal = printable(row.name), printable(row.principal)
    if json_:
        print_json(_row_json(row) | {"key": key, "followed": followed})
    else:
        click.echo(key)
        click.echo(f"The key of {name}, principal {principal}. It is not shown again.", err=True)
        if shared:
            click.echo(f"This key opens all threads of {principal}.", err=True)
        click.echo(followed_line(followed), err=True)
    fail_if_behind(followed)


def _row_json(row: NamedKey) -> dict[str, object]:
    return {"name": row.name, "kid": row.kid, "principal": row.principal, "team": row.team, "created": row.created}
