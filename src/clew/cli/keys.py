"""`clew keys`: named keys for those who share a gateway, and the secret behind the seals."""

from __future__ import annotations

import os
import time
from typing import Final

import click

from clew.cli.endings import Failed, told
from clew.cli.followed import end_behind, followed_line, say_followed
from clew.cli.json_output import say_json
from clew.cli.pages import Line, Page, Table, printable, show
from clew.settings.following import Followed, keys_followed, seal_key_followed
from clew.settings.gateway_key import (
    KEY_VARIABLE,
    LOCAL,
    NAME_LENGTH,
    NamedKey,
    add_key,
    is_key_name,
    named_keys,
    remove_key,
    rotate_key,
)
from clew.settings.home import Home, home_of
from clew.settings.secret import rotate

__all__ = ["keys"]

_json_option = click.option("--json", "json_", is_flag=True, help="Print JSON.")

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


@click.group(short_help="Give keys for the gateway to others, and take them back.", epilog=_EXAMPLES)
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
@_json_option
def add(name: str, principal: str | None, json_: bool) -> None:
    """Make a key called NAME and print it, this once: only a hash of it is kept.

    A principal's conversations stay when its last key is removed; a new key of that principal opens them again.

    \b
    Examples:
      clew keys add ci
      clew keys add laptop --principal local
    """
    _check_name(name)
    principal = _principal(name, principal)
    home = _home()
    shared = principal == LOCAL or principal in _principals(home)
    if name in _names(home):
        raise Failed(f"there is a key {name!r} already: `clew keys rotate {name}` gives it a new secret")
    with told():
        row, key = add_key(home, name, principal=principal)
        followed = keys_followed(home)
    _say_key(row, key, followed, json_, shared=shared)


def _principal(name: str, given: str | None) -> str:
    """The one that was asked for, else one of the key's own. The owner's is never a matter of a key's name."""
    if given is None and name == LOCAL:
        raise click.UsageError(
            f"{LOCAL!r} is the principal of the gateway's owner. Choose another name, or say `--principal {LOCAL}`."
        )
    principal = name if given is None else given
    if not principal.strip() or not principal.isprintable():
        raise click.BadParameter("a principal has a name that can be read", param_hint="--principal")
    return principal


def _principals(home: Home) -> set[str]:
    with told():
        return {row.principal for row in named_keys(home)}


def _check_name(name: str) -> None:
    if not is_key_name(name):
        raise click.BadParameter(f"a key's name has 1 to {NAME_LENGTH} printable characters", param_hint="NAME")


@keys.command("list")
@_json_option
def list_(json_: bool) -> None:
    """List the keys: their names, principals and ages, never the keys themselves."""
    home = home_of(os.environ)
    with told():
        rows = named_keys(home)
    if json_:
        say_json([_plain(row) for row in rows])
    else:
        show(_page(rows, home))


@keys.command()
@click.argument("name")
@_json_option
def remove(name: str, json_: bool) -> None:
    """Take the key called NAME back: from now on it opens nothing. What was recorded with it stays."""
    home = _known(name)
    with told():
        row, followed = remove_key(home, name), keys_followed(home)
    if json_:
        say_json({"removed": _plain(row), "followed": followed})
    else:
        show([Line(printable(f"{row.name} opens nothing any more; what {row.principal} recorded stays."))])
    say_followed(followed, json_=json_)


@keys.command("rotate")
@click.argument("name")
@_json_option
def rotate_named(name: str, json_: bool) -> None:
    """Give NAME a new key and print it, this once; the old one opens nothing any more."""
    home = _known(name)
    with told():
        row, key = rotate_key(home, name)
        followed = keys_followed(home)
    _say_key(row, key, followed, json_)


@keys.command("rotate-secret")
@_json_option
def rotate_secret(json_: bool) -> None:
    """Seal with a new secret from now on. The old ones go on opening what they sealed: clients hold those seals."""
    home = _home()
    with told():
        ring = rotate(home.secret, os.environ)
        followed = seal_key_followed(home, ring.current)
    if json_:
        say_json({"current": ring.current, "keys": list(ring.keys), "followed": followed})
    else:
        show([Line(f"seals are made with key {ring.current} now; {len(ring.keys) - 1} older still open theirs.")])
    say_followed(followed, json_=json_)


def _home() -> Home:
    with told():
        return home_of(os.environ).make()


def _known(name: str) -> Home:
    """The home, if there is such a key in it."""
    home = home_of(os.environ)
    names = _names(home)
    if name not in names:
        raise Failed(f"there is no key {name!r} (there are: {', '.join(names) or 'none'})")
    return home


def _names(home: Home) -> list[str]:
    with told():
        return [row.name for row in named_keys(home)]


def _say_key(row: NamedKey, key: str, followed: Followed, json_: bool, *, shared: bool = False) -> None:
    """On standard output the key alone: it goes into a variable or a file. `shared`: others have keys of its principal."""
    if json_:
        say_json(_plain(row) | {"key": key, "followed": followed})
    else:
        click.echo(key)
        click.echo(
            f"The key of {printable(row.name)}, principal {printable(row.principal)}. It is not shown again.", err=True
        )
        if shared:
            click.echo(f"This key opens all threads of {printable(row.principal)}.", err=True)
        click.echo(followed_line(followed), err=True)
    end_behind(followed)


def _plain(row: NamedKey) -> dict[str, object]:
    return {"name": row.name, "kid": row.kid, "principal": row.principal, "created": row.created}


def _page(rows: tuple[NamedKey, ...], home: Home) -> Page:
    own = (
        f"The gateway's own key is in {KEY_VARIABLE}."
        if os.environ.get(KEY_VARIABLE)
        else f"The gateway's own key: {home.key}"
    )
    if not rows:
        return [Line("There are no named keys: `clew keys add NAME` makes one."), Line(own, "quiet")]
    cells = tuple((printable(row.name), row.kid, printable(row.principal), _day(row.created)) for row in rows)
    return [Table(("name", "kid", "principal", "made"), cells), Line(own, "quiet")]


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(moment)) if moment else "?"
