"""`clew keys`: named keys for those who share a gateway, and the secret behind the seals."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

import click

from clew.backends.address import is_local
from clew.cli.command import Failed, fail_if_behind, followed_line, json_option, operator, report_errors, report_followed
from clew.cli.installation import Installation, find_installation, store_for_reading, store_for_writing
from clew.cli.output import TextLine, TextTable, print_json, print_result, printable, printable_table
from clew.errors import SettingsInvalid
from clew.limits.key_text import key_json, key_state, read_rights, read_span
from clew.limits.keys import LOCAL, NAME_LENGTH, KeyRights, NamedKey, current_keys, is_key_name, key_named
from clew.settings.home import home_of
from clew.settings.named_keys import NamedKeys, known_keys
from clew.settings.own_keys import KEY_VARIABLE, rotate_keyring
from clew.settings.processes import registered_gateways
from clew.settings.rollout import Rollout, roll_out_keys, roll_out_seal_key

_EXAMPLES: Final = """\b
Examples:
  clew keys add anna                        for a colleague, who gets conversations of her own
  clew keys add laptop --principal local    for yourself: it gives access to all your conversations
  clew keys add ci --models 'claude-haiku-*' --backends claude --expires 30d
  clew keys list
  clew keys show ci
  clew keys edit ci --expires 2027-01-31
  clew keys rotate anna --overlap 24h       a new secret; the old one stays valid for a day
  clew keys remove anna
  clew keys rotate-secret                   make new seals with a new secret; old seals stay valid

\b
When the command ends, the running gateways have applied the change.
Exit status: 0 done, 1 failed or a gateway has not applied it, 2 wrong usage, 5 a file that cannot be used.
"""

_HOW_TO_USE: Final = """\
A client that uses it needs the address of this gateway and the key:
  Claude Code, Anthropic's SDKs   ANTHROPIC_BASE_URL={address} ANTHROPIC_AUTH_TOKEN=KEY
  Codex, OpenAI's SDKs            OPENAI_BASE_URL={address}/v1 OPENAI_API_KEY=KEY"""
_THIS_MACHINE: Final = "This gateway listens on this machine only. For other machines: `clew serve --host ADDRESS`."


@click.group(short_help="Add, list, edit, rotate and remove keys of the gateway.", epilog=_EXAMPLES)
def keys() -> None:
    """Manage the keys of other users of the gateway. A client sends its key as x-api-key, Bearer or x-clew-key.

    Each key belongs to a principal, the owner of the conversations: a principal never sees those of another one. By
    default the principal has the name of the key. The gateway's own key is CLEW_KEY, or one that the first start made; its
    principal is `local`.

    Named keys are kept in the store, as hashes, so all gateways of a store have the same keys.
    """


def _rights_options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option("--team", metavar="T", help="The team whose limits it shares: `clew limits set team:T …`."),
        click.option(
            "--models", metavar="NAMES", help="The models that this key may ask for; * stands for any text; or all."
        ),
        click.option("--backends", metavar="NAMES", help="The backends that may answer this key; or all."),
        click.option("--expires", metavar="WHEN", help="30d, 12h, a day such as 2027-01-31 (to its end, in UTC); or never."),
        click.option("--scopes", metavar="NAMES", help="One or more of inference, read, admin. Default: inference."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@keys.command()
@click.argument("name")
@click.option(
    "--principal",
    metavar="P",
    help="The owner of the conversations. Default: NAME. `local` is the owner of the gateway.",
)
@click.option("--parent", metavar="KEY", default="", help="Make it a child of that key: it never has more rights.")
@_rights_options
@json_option
def add(name: str, principal: str | None, parent: str, team: str | None, json_: bool, **typed: str | None) -> None:
    """Make a key called NAME and print it.

    It is printed only once, because clew keeps only a hash of it. Your colleague sets the key and the gateway's address:
    ANTHROPIC_BASE_URL and ANTHROPIC_AUTH_TOKEN for Claude Code, OPENAI_BASE_URL (with /v1) and OPENAI_API_KEY for OpenAI's
    clients.

    If you remove the last key of a principal, its conversations stay; a new key of that principal gives access to them
    again. With the scopes read and admin, a key also gives access to the admin API.

    \b
    Examples:
      clew keys add ci --models 'claude-haiku-*,glm-5' --expires 30d
      clew keys add laptop --principal local
      clew keys add anna --team web
      clew keys add annas-bot --parent anna --expires 7d
      clew keys add prometheus --scopes read
    """
    if not is_key_name(name):
        raise click.BadParameter(f"a key's name has 1 to {NAME_LENGTH} printable characters", param_hint="NAME")
    if principal is None and not parent and name == LOCAL:  # the owner's principal is never a matter of a key's name
        raise click.UsageError(
            f"{LOCAL!r} is the principal of the gateway's owner. Choose another name, or use `--principal {LOCAL}`."
        )
    if principal is not None and (not principal.strip() or not principal.isprintable()):
        raise click.BadParameter("the name of a principal has printable characters only", param_hint="--principal")
    _check_team(team)
    rights = _typed_rights(KeyRights(), typed)
    with report_errors(), _keys_to_change() as (installation, table):
        rows = current_keys(table.all())
        if any(row.name == name for row in rows):
            raise Failed(f"there is a key {name!r} already: `clew keys rotate {name}` gives it a new secret")
        owner = principal or (_named(rows, parent).principal if parent else name)
        with _refused():
            row, key = table.add(name, principal=owner, team=team or "", rights=rights, parent=parent, by=operator())
        followed = roll_out_keys(installation.home, table)
    _print_key(row, key, followed, json_, shared=owner in {LOCAL, *(row.principal for row in rows)})


@keys.command("list")
@json_option
def list_(json_: bool) -> None:
    """List the keys, with their principals, rights and ages.

    The keys themselves are never shown.
    """
    with report_errors():
        rows = _rows_to_read()
    where = f" is in {KEY_VARIABLE}." if os.environ.get(KEY_VARIABLE) else f": {home_of(os.environ).key}"
    page: list[TextLine | TextTable] = [TextLine("There are no named keys: `clew keys add NAME` makes one.")]
    current = current_keys(rows)
    if current:
        now = time.time()
        columns = ("name", "id", "principal", "team", "rights", "expires", "last used", "made")
        page = [printable_table(columns, [_cells(row, now) for row in current])]
    page.append(TextLine(f"The gateway's own key{where}", "quiet"))
    print_result([key_json(row, rows) for row in current], page, as_json=json_)


@keys.command()
@click.argument("name")
@json_option
def show(name: str, json_: bool) -> None:
    """Show the key called NAME: its rights, expiry and last use."""
    with report_errors():
        rows = _rows_to_read()
        key, now = _named(rows, name), time.time()
    told = {
        "id": key.kid,
        "principal": key.principal,
        "team": key.team or "none",
        "parent": key.parent or "none",
        "scopes": ", ".join(key.rights.scopes),
        "models": ", ".join(key.rights.models) or "all",
        "backends": ", ".join(key.rights.backends) or "all",
        "expires": key_state(key, now) or "never",
        "made": f"{_day(key.created)}{f' by {key.made_by}' if key.made_by else ''}",
        "last used": _day(key.last_used) if key.last_used else "never",
    }
    old = [row for row in rows if row.replaced_by and row.name == name and (row.rights.expires or 0) > now]
    if old:
        told["old secret"] = "; ".join(f"{row.kid} {key_state(row, now)}" for row in old)
    page = [TextLine(printable(f"{what:10} {value}")) for what, value in told.items()]
    print_result(key_json(key, rows), page, as_json=json_)


@keys.command()
@click.argument("name")
@_rights_options
@json_option
def edit(name: str, team: str | None, json_: bool, **typed: str | None) -> None:
    """Change the rights of the key called NAME.

    Rights that you do not name do not change, and the secret does not change.

    \b
    Examples:
      clew keys edit ci --expires 30d --models all
      clew keys edit anna --team ''
    """
    if team is None and not any(value is not None for value in typed.values()):
        raise click.UsageError("Name a change: --team, --models, --backends, --expires or --scopes.")
    _check_team(team)
    _typed_rights(KeyRights(), typed)
    with report_errors(), _keys_to_change() as (installation, table):
        _named(table.all(), name)
        with _refused():
            row = table.edit(
                name,
                lambda old: (_typed_rights(old.rights, typed), old.team if team is None else team),
                by=operator(),
            )
        followed = roll_out_keys(installation.home, table)
        rows = table.all()
    line = TextLine(printable(f"{row.name}: {row.rights.words or 'all models and backends'}{_until(row)}."))
    print_result(key_json(row, rows) | {"followed": followed}, [line], as_json=json_)
    report_followed(followed, json_=json_)


@keys.command()
@click.argument("name")
@json_option
def remove(name: str, json_: bool) -> None:
    """Revoke the key called NAME and its child keys.

    Conversations that were recorded with them are kept.
    """
    with report_errors(), _keys_to_change() as (installation, table):
        rows = table.all()
        _named(rows, name)
        row = table.remove(name, by=operator())
        followed = roll_out_keys(installation.home, table)
        left = {each.name for each in table.all()}
    children = sorted({each.name for each in rows} - left - {name})
    gone = [TextLine(printable(f'Key "{row.name}" is revoked. The recordings of {row.principal} are kept.'))]
    gone += [TextLine(printable(f"Its child keys are revoked too: {', '.join(children)}."))] if children else []
    removed = {"removed": key_json(row, rows), "children": children, "followed": followed}
    print_result(removed, gone, as_json=json_)
    report_followed(followed, json_=json_)


@keys.command("rotate")
@click.argument("name")
@click.option("--overlap", metavar="TIME", default="0", help="How long the old secret stays valid: 30m, 24h, 7d.")
@json_option
def rotate_named(name: str, overlap: str, json_: bool) -> None:
    """Give the key called NAME a new secret and print it.

    It is printed only once. The old secret stops working at once, or after --overlap.
    """
    with report_errors():
        seconds = read_span(overlap)
        with _keys_to_change() as (installation, table):
            _named(table.all(), name)
            row, key = table.rotate(name, overlap=seconds, by=operator())
            followed = roll_out_keys(installation.home, table)
    _print_key(row, key, followed, json_)
    if seconds and not json_:
        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(time.time() + seconds))
        click.echo(f"The old key is valid until {until}.", err=True)


@keys.command("rotate-secret")
@json_option
def rotate_secret(json_: bool) -> None:
    """Make new seals with a new secret.

    clew keeps the old secrets, so that it can still open the seals that clients have.
    """
    with report_errors():
        home = home_of(os.environ).make()
        ring = rotate_keyring(home.secret, os.environ)
        followed = roll_out_seal_key(home, ring.current)
    done = TextLine(
        f"New seals are made with key {ring.current}. Seals of {len(ring.keys) - 1} older keys can still be opened."
    )
    print_result({"current": ring.current, "keys": list(ring.keys), "followed": followed}, [done], as_json=json_)
    report_followed(followed, json_=json_)


@contextmanager
def _keys_to_change() -> Generator[tuple[Installation, NamedKeys]]:
    """The table in the store; where the settings switch the store off, in its file."""
    installation = find_installation()
    if installation.store is None:
        yield installation, NamedKeys(installation.home.make())
        return
    with store_for_writing(installation) as store:
        yield installation, NamedKeys(installation.home, store)


def _rows_to_read() -> tuple[NamedKey, ...]:
    """All keys. Unlike a change of the keys, this makes no file and moves none into the store."""
    installation = find_installation()
    with store_for_reading(installation) as store:
        if store is None or installation.home.keys.exists():
            return known_keys(installation.home)
        return store.keys.all()


def _named(rows: tuple[NamedKey, ...], name: str) -> NamedKey:
    """Ends the command if there is no key of this name."""
    with _refused():
        return key_named(rows, name)


@contextmanager
def _refused() -> Generator[None]:
    """No file has to be corrected where a change is refused."""
    try:
        yield
    except SettingsInvalid as error:
        if error.file:
            raise
        raise Failed(str(error)) from None


def _check_team(team: str | None) -> None:
    if team and not is_key_name(team):
        raise click.BadParameter(f"a team's name has 1 to {NAME_LENGTH} printable characters", param_hint="--team")


def _typed_rights(old: KeyRights, typed: dict[str, str | None]) -> KeyRights:
    try:
        return read_rights(old, now=time.time(), **typed)
    except SettingsInvalid as error:
        raise click.BadParameter(str(error)) from None


def _print_key(row: NamedKey, key: str, followed: Rollout, json_: bool, *, shared: bool = False) -> None:
    """On standard output the key alone: it goes into a variable or a file. `shared`: others have keys of its principal."""
    name, principal = printable(row.name), printable(row.principal)
    if json_:
        print_json(key_json(row, ()) | {"key": key, "followed": followed})
    else:
        click.echo(key)
        click.echo(f"The key of {name}, principal {principal}. It is not shown again.", err=True)
        if "inference" in row.rights.scopes:
            running = registered_gateways(home_of(os.environ))
            click.echo(_HOW_TO_USE.format(address=running[-1].url if running else "ADDRESS"), err=True)
            if running and is_local(running[-1].url):
                click.echo(_THIS_MACHINE, err=True)
        if shared:
            click.echo(f"This key gives access to all threads of {principal}.", err=True)
        click.echo(followed_line(followed), err=True)
    fail_if_behind(followed)


def _cells(row: NamedKey, now: float) -> tuple[str, ...]:
    may = row.rights.words or ("as its parent" if row.parent else "all")
    about = (row.name, row.kid, row.principal, row.team, may)
    return *about, key_state(row, now), _day(row.last_used) if row.last_used else "", _day(row.created)


def _day(at: float | None) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(at)) if at else "?"


def _until(row: NamedKey) -> str:
    state = key_state(row, time.time())
    return f", {state}" if state else ""
