"""`clew backends`: which backends there are, which servers run here, and whether each backend takes its reasoning back."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from msgspec import structs

from clew.backends.credential import Auth
from clew.backends.presets import Preset, deviations_of, hidden_of, is_unmapped, models_of, presets
from clew.backends.row import DIALECTS
from clew.cli.command import (
    BadConfig,
    Failed,
    NotAllowed,
    UpstreamFailed,
    config_option,
    fail_if_behind,
    followed_line,
    json_option,
    report_errors,
    report_followed,
    unknown_backend,
)
from clew.cli.installation import find_installation, note_change
from clew.cli.output import Page, TextLine, plural, print_page, print_result, printable, printable_table
from clew.settings.home import home_of
from clew.settings.load import Loaded, load
from clew.settings.processes import config_in_use
from clew.settings.rollout import roll_out_file

if TYPE_CHECKING:
    from clew.admin.trial.capabilities import LocalServer
    from clew.admin.trial.rounds import Trial


_MOST_MODELS: Final = 3
_AUTHS: Final[dict[Auth, str]] = {
    "passthrough": "the client's own",
    "key": "x-api-key",
    "bearer": "Bearer",
    "api-key": "api-key",
    "none": "none",
}

_EXAMPLES: Final = """\b
Examples:
  clew backends                 all backends, their special rules, and local model servers
  clew backends presets         the vendors and servers that clew knows
  clew backends add ollama --model qwen3:32b
  clew backends remove ollama
  clew backends test            one test call to each: thinking, a tool call, and its result
  clew backends test glm --json

\b
Exit status: 0 ok, 1 failed, 2 wrong usage, 3 a backend does not answer, 4 it refuses the key, 5 the config cannot be used.
"""


@click.group(short_help="List the backends, add, remove and test them.", invoke_without_command=True, epilog=_EXAMPLES)
@click.option("--no-discover", is_flag=True, help="Do not look for servers on this machine.")
@config_option
@json_option
@click.pass_context
def backends(ctx: click.Context, no_discover: bool, file: Path | None, json_: bool) -> None:
    """List the backends of your settings, or those whose keys are in the environment.

    It also looks for model servers on the usual ports of this machine, and prints the commands that add them. `clew use`
    shows and switches the active backend.
    """
    ctx.obj = file
    if ctx.invoked_subcommand is None:
        _print_backends(file, no_discover=no_discover, json_=json_)


@backends.command("list")
@click.option("--no-discover", is_flag=True, help="Do not look for servers on this machine.")
@config_option
@json_option
@click.pass_obj
def list_(outer: Path | None, no_discover: bool, file: Path | None, json_: bool) -> None:
    """List the backends, as `clew backends` alone does."""
    _print_backends(file or outer, no_discover=no_discover, json_=json_)


def _print_backends(file: Path | None, *, no_discover: bool, json_: bool) -> None:
    loaded = _load(file, keys=False)
    servers: Sequence[LocalServer] = ()
    if not no_discover:
        from clew.admin.trial.capabilities import find_local_servers, local_presets
        from clew.http.loops import run

        servers = run(find_local_servers(loaded.settings.backends, local_presets()))
    rows = [
        {**structs.asdict(row), "timeouts": row.timeouts.given(), "hidden": hidden_of(row)}
        for row in loaded.settings.backends.values()
    ]
    for row in rows:
        del row["keys"]
    print_result(
        {"backends": rows, "disabled": list(loaded.disabled.values()), "nearby": servers},
        [*backends_page(loaded), *servers_page(servers)],
        as_json=json_,
    )


@backends.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@config_option
@json_option
@click.pass_obj
def test(outer: Path | None, names: tuple[str, ...], file: Path | None, json_: bool) -> None:
    """Make a test call to each backend, or to those named.

    In the test, the model thinks, calls a tool and gets its result, through the gateway's own code. The result shows in
    which fields the reasoning arrives, whether the backend accepts it back, how it names tool calls, and which tokens it
    counts. The test costs a few hundred tokens. A backend that uses the client's own key is tested with ANTHROPIC_API_KEY
    or ANTHROPIC_AUTH_TOKEN.

    \b
    Examples:
      clew backends test
      clew backends test glm kimi

    Exit status: 0 all that were asked answer, 2 an unknown name, 3 one does not, 4 keys are refused and nothing else is
    wrong, 5 the config cannot be used.
    """
    from clew.admin.trial.rounds import trials
    from clew.http.loops import run

    loaded = _load(file or outer, keys=True)
    known, disabled = loaded.settings.backends, loaded.settings.disabled
    for name in names:
        if name in disabled:
            raise BadConfig(f"{disabled[name].says}. Set it, and try again.")
        if name not in known:
            raise unknown_backend(name, known)
    found = run(trials(loaded.settings, {name: known[name] for name in names} if names else known, os.environ))
    print_result(found, trials_page(found), as_json=json_)
    failed = [trial.status for trial in found if trial.ok is False]
    if failed:
        refused = all(status in (401, 403) for status in failed)
        raise click.exceptions.Exit((NotAllowed if refused else UpstreamFailed).exit_code)


@backends.command()
@click.argument("preset", required=False, default="")
@click.option("--name", default="", help="The name of the backend. Default: the vendor's usual name.")
@click.option("--model", default="", help="The model for every name that a client asks for.")
@click.option("--key", default="", metavar="WHERE", help="'${VARIABLE}', file:/path or keyring:service/name.")
@click.option("--url", default="", help="The base URL, if there is no preset, or to replace the URL of the preset.")
@click.option("--dialect", type=click.Choice(DIALECTS), help="The wire protocol, if it is not the preset's.")
@config_option
@click.pass_obj
def add(outer: Path | None, preset: str, name: str, file: Path | None, **fields: str | None) -> None:
    """Add a backend to the settings file.

    PRESET is one that clew knows (`clew backends presets`). Without it, give a --name and a --url.

    \b
    Examples:
      clew backends add ollama --model qwen3:32b
      clew backends add deepseek --dialect openai-chat
      clew backends add --name mine --url http://10.0.0.7:8000/v1 --dialect openai-chat --key 'file:~/mine.key'

    Exit status: 0 added, 1 added but disabled, since a variable is not set, or not added, 2 wrong usage, 5 it cannot be
    used.
    """
    from clew.cli.settings_edits import add_backend

    known = presets().get(preset)
    name = name or (known.backend if known else preset)
    if not name:
        raise click.UsageError("It needs a PRESET, or a --name and a --url.")
    given = {key: str(fields[key] or "") for key in ("dialect", "url", "model", "key")}
    with report_errors():
        path = add_backend(name, {"preset": preset, **given}, file or outer)
        disabled = load(path, os.environ, keys=False).disabled.get(name)
        page = [TextLine(f"added to {path}: {name}", "good"), TextLine(f"`clew backends test {name}` tries it.", "quiet")]
        print_page(page)
        note_change("backend added", f"backend:{name}", after=" ".join(filter(None, (preset, given["url"]))), file=path)
        followed = roll_out_file(home_of(os.environ), path, added=name)
    print_page([TextLine(followed_line(followed), "quiet")])
    if disabled:
        raise Failed(
            f"{disabled.says}. Set it where the gateway is started, and restart the gateway; or name a file or a keyring in "
            f'that line: key = "file:/path". Until then, requests for {name} get a 503; the other backends work.'
        )
    fail_if_behind(followed)


@backends.command()
@click.argument("name")
@config_option
@click.pass_obj
def remove(outer: Path | None, name: str, file: Path | None) -> None:
    """Remove a backend from the settings file.

    The rest of the file does not change. A backend that is active, pinned, or named by a rule or by `failover` is not
    removed. Each such place is listed, with the command that releases it.

    \b
    Examples:
      clew backends remove glm

    Exit status: 0 removed, 1 it is needed or a gateway has not applied it, 2 an unknown name, 5 the config cannot be used.
    """
    from clew.cli.settings_edits import remove_backend

    with report_errors():
        path = remove_backend(name, find_installation(file or outer))
        note_change("backend removed", f"backend:{name}", file=path)
        followed = roll_out_file(home_of(os.environ), path)
    print_page([TextLine(f"removed from {path}: {name}", "good")])
    report_followed(followed)


@backends.command("presets")
@json_option
def presets_(json_: bool) -> None:
    """List the vendors and servers that clew knows.

    These are the names for `preset = "…"`, with the variables in which clew looks for their keys.
    """
    rows = list(presets().values())
    print_result(rows, presets_page(rows), as_json=json_)


def _load(file: Path | None, *, keys: bool) -> Loaded:
    with report_errors():
        return load(file or config_in_use(home_of(os.environ), os.environ), os.environ, keys=keys)


# Pages


def backends_page(loaded: Loaded) -> Page:
    rows: list[tuple[str, ...]] = []
    notes: list[str] = []
    for row in loaded.settings.backends.values():
        deviations = ", ".join(f"{name}={value}" for name, value in deviations_of(row).items())
        rows.append((row.name, row.dialect, row.realm, row.url, _AUTHS[row.auth], models_of(row), deviations))
        if hidden := hidden_of(row):
            notes.append(f"{row.name}: {hidden}")
        if is_unmapped(row):
            notes.append(f"{row.name}: clients ask for Claude's names, which it does not know: set `model`, or `models`")
    rows += [(name, "disabled", "", "", "", "", "") for name in loaded.settings.disabled]
    where = f"from {loaded.file}" if loaded.file else "found without a config; `clew config init` writes one"
    notes += [f"warning: {warning}" for warning in loaded.warnings]
    return [
        printable_table(("backend", "dialect", "realm", "url", "auth", "models", "special settings"), rows),
        TextLine(printable(f"{plural(len(rows), 'backend')}, {where}"), "quiet"),
        *(TextLine(printable(note)) for note in notes),
    ]


def presets_page(rows: Sequence[Preset]) -> Page:
    cells = [
        (row.name, row.title, each.dialect, each.url or "your own", ", ".join(name.name for name in row.variables))
        for row in rows
        for each in (row, *row.others.values())
    ]
    return [printable_table(("preset", "vendor", "dialect", "url", "variables"), cells)]


def trials_page(found: Sequence[Trial]) -> Page:
    rows: list[tuple[str, ...]] = []
    for trial in found:
        lessons = ("", "", "", "")
        if learned := trial.learned:
            back = f"{learned.passed_back} in {', '.join(learned.back_in)}" if learned.back_in else learned.passed_back
            usage = learned.usage
            reasoning = "reasoning not counted" if usage.reasoning is None else f"{usage.reasoning} reasoning"
            tokens = f"{usage.input} in, {usage.output} out, {reasoning}"
            lessons = (", ".join(learned.reasoning) or "nowhere", back, learned.tool_ids, tokens)
        ended = {True: "ok", False: "failed", None: "not asked"}[trial.ok]
        took = f"{trial.seconds:.2f} s" if trial.status else ""
        also = ", ".join(name for name in ("count_tokens", "models") if getattr(trial, name))
        rows.append((trial.backend, trial.model, ended, took, *lessons, also, trial.says))
    columns = ("backend", "model", "", "took", "reasoning in", "passed back", "tool ids", "tokens", "also has", "says")
    return [printable_table(columns, rows)]


def servers_page(servers: Sequence[LocalServer]) -> Page:
    """Each with the line that adds it; those that the config has already are only named."""
    if not servers:
        return []
    rows: list[tuple[str, ...]] = []
    for each in servers:
        more = len(each.models) - _MOST_MODELS
        models = ", ".join([*each.models[:_MOST_MODELS], *([f"{more} more"] if more > 0 else [])]) or "none loaded"
        key = f" --key '${{{each.preset.upper()}_API_KEY}}'" if each.wants_key else ""
        model = f" --model {shlex.quote(each.models[0])}" if each.models else ""
        adds = f"it is the backend {each.backend}" if each.backend else f"clew backends add {each.preset}{key}{model}"
        rows.append((each.title, each.url, "wants a key" if each.wants_key else models, adds))
    table = printable_table(("server", "url", "models", "to add it"), rows)
    return [TextLine(""), TextLine("On this machine:", "head"), table]
