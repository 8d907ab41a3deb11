"""Writes docs/reference from the registries: `python docs/generate.py` (`--check` only says what differs).

Commands, config, the admin's routes, rules, models, stances, scenarios: each page is made from the same table that the code
reads, and a test compares them, so that they cannot drift apart.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import click
import msgspec
from msgspec import NODEFAULT

from clew.admin.checkup import CHECKS
from clew.admin.routes import ROUTES
from clew.backends.row import Manner
from clew.cli import main as command_line
from clew.model.facts import PHASES, ModelFacts, Rule, models, rules, stances
from clew.settings.document import Document
from clew.settings.problems import choices_of, fields_of, table_in
from clew.settings.schema import defaults_of, meanings_of, summary_of, toml_value
from clew.simulator.turns import shipped
from clew.web import routes as web_routes

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # so that this file can be loaded from any folder

from backend_pages import backend_pages  # noqa: E402  (found by the line above)
from backends_page import backends_page  # noqa: E402
from client_pages import client_pages  # noqa: E402
from comparison_numbers import comparison_page  # noqa: E402
from events_page import events_page  # noqa: E402
from formats_page import formats_page  # noqa: E402
from navigation import index_page, symptoms_page  # noqa: E402
from python_page import python_page  # noqa: E402
from simulator_page import simulator_page  # noqa: E402
from translation_page import translation_page  # noqa: E402

NOTE = "<!-- Made by docs/generate.py. Do not edit. -->\n\n"


def cli_page() -> str:
    root = click.Context(command_line, info_name="clew", help_option_names=["-h", "--help"])
    parts = ["# Commands\n", _help(command_line, root)]
    for name in command_line.list_commands(root):
        command = command_line.get_command(root, name)
        assert command is not None
        parts += _command(f"clew {name}", command, click.Context(command, info_name=name, parent=root))
    return "\n".join(parts)


def _command(name: str, command: click.Command, context: click.Context, level: str = "##") -> list[str]:
    """Its help, and that of the commands below it."""
    parts = [f"{level} {name}\n", _help(command, context)]
    for below, each in (command.commands if isinstance(command, click.Group) else {}).items():
        parts += _command(f"{name} {below}", each, click.Context(each, info_name=below, parent=context), f"{level}#")
    return parts


def _help(command: click.Command, context: click.Context) -> str:
    context.terminal_width = context.max_content_width = 100
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    return f"```text\n{text}\n```\n"


def rules_page() -> str:
    parts = [
        "# Rules\n",
        "What the vendor refuses, in the order in which it checks. `clew check` and the simulator use this table.",
        "",
        "Grades: **A** documented by the vendor, **B** measured, **C** reported with the exact message, **D** derived from",
        "other rules. *Static*: the request, its headers and the model are enough to decide, so `clew check` can decide.",
        "Nobody has seen the messages that are marked †; clew's authors wrote them.\n",
    ]
    for phase in PHASES:
        rows = [_rule_row(rule) for rule in rules().values() if rule.phase == phase]
        if rows:
            parts += [
                f"## {phase.upper() if phase == 'json' else phase.capitalize()}\n",
                _table(("rule", "grade", "static", "when", "the API says", "right"), rows),
            ]
    return "\n".join(parts)


def _rule_row(rule: Rule) -> tuple[str, ...]:
    means = rule.means + (f" Only while stance {rule.stance} is {' or '.join(rule.when)}." if rule.stance else "")
    means += "" if rule.enforced else " Only if asked for."
    words = f"{rule.status} `{rule.text}`" if "`" not in rule.text else f"{rule.status} `` {rule.text} ``"
    return (
        f"`{rule.id}`",
        rule.grade,
        "yes" if rule.static else "no",
        means,
        words + ("" if rule.verified else " †"),
        rule.right,
    )


_MODEL_COLUMNS: dict[str, Callable[[ModelFacts], str]] = {
    "model": lambda row: f"`{row.id}`" + (" (retired)" if row.retired else ""),
    "thinking": lambda row: ", ".join(row.thinking),
    "absent means": lambda row: row.thinking_default,
    "display": lambda row: row.display_default,
    "effort (default)": lambda row: f"{', '.join(row.effort)} ({row.effort_default})" if row.effort else "none",
    "sampling": lambda row: row.sampling,
    "forced tools": lambda row: row.forced_tools.replace("_", " "),
    "prefill": lambda row: _yes(row.prefill),
    "sees earlier thinking": lambda row: row.prior_thinking.replace("_", " "),
    "prefix check": lambda row: _yes(row.prefix_check),
    "account-bound": lambda row: _yes(row.account_bound),
    "max tokens": lambda row: _number(row.max_tokens),
    "context": lambda row: _number(row.context),
    "system messages": lambda row: _yes(row.system_messages),
    "as of": lambda row: row.date,
}


def models_page() -> str:
    rows = [tuple(cell(row) for cell in _MODEL_COLUMNS.values()) for row in models().values()]
    reading = [
        (f"`{row.id}`", ", ".join(f"`{name}`" for name in sorted(row.reads)) or "only its own") for row in models().values()
    ]
    return "\n".join(
        [
            "# Models\n",
            "Facts about each model. If a fact is not published, it is taken from the newest model of the same line. The",
            "sources are in `src/clew/model/facts/models.toml`. A model that is not listed gets the row `unknown`.\n",
            _table(tuple(_MODEL_COLUMNS), rows),
            "## Whose thinking it reads\n",
            "A model always reads its own. The vendor drops a block that the model cannot read, without an error.\n",
            _table(("model", "reads"), reading),
        ]
    )


def stances_page() -> str:
    parts = [
        "# Stances\n",
        "The sources sometimes disagree about what the vendor does. For each such question the simulator has a switch. A",
        'file for `clew sim --stance` sets it, by its name or the name of the conflict: `trailing_thinking = "reject"`.\n',
    ]
    for name, row in stances().items():
        values = [
            (f"`{value}`" + (" (default)" if value == row.default else ""), does) for value, does in row.values.items()
        ]
        parts += [
            f"## {name} · `{row.switch}`\n",
            f"{row.question}. {row.sources}.\n",
            _table(("value", "the simulator"), values),
        ]
    return "\n".join(parts)


def config_page() -> str:
    parts = [
        "# Config\n",
        "All keys of `clew.toml`. Every key is optional. `clew config init` writes a first file, `clew config check` finds",
        "mistakes in it, and `clew config show --origin` prints every setting and where it comes from.",
        "Begin with [Add a backend](../howto/add-a-backend.md); [Backends](backends.md) lists the presets.\n",
        "In any text, `${NAME}` is replaced by that environment variable; `${NAME:-text}` has a default.\n",
    ]
    for path, kind in _config_tables(Document):
        parts += [
            f"## {path}\n",
            f"{summary_of(kind)}\n",
            _table(("key", "default", "allowed", "means"), _config_rows(kind)),
        ]
    return "\n".join(parts)


def _config_tables(kind: type, path: str = "") -> Iterator[tuple[str, type]]:
    """Each type once: a rule for some models has the tables that its backend has."""
    yield (f"`[{path}]`" if path else "The file itself"), kind
    for name, field in fields_of(kind).items():
        inner = table_in(field)
        if inner and inner is not Manner:
            below = {"backends": "backends.NAME", "rules": "[rules]"}.get(name, name)
            yield from _config_tables(inner, f"{path}.{below}" if path else below)


def _config_rows(kind: type) -> Iterator[tuple[str, ...]]:
    meanings = meanings_of(kind)
    for name, default in defaults_of(kind).items():
        if table_in(fields_of(kind)[name]) in (None, Manner):
            allowed = ", ".join(f"`{word}`" for word in choices_of(fields_of(kind)[name]))
            yield f"`{name}`", _default(default), allowed, " ".join(meanings.get(name, "").split())


def _default(value: object) -> str:
    if value is NODEFAULT:
        return "needed"
    return "" if value in (None, "", (), {}) else f"`{toml_value(msgspec.to_builtins(value))}`"


def admin_page() -> str:
    rows, pages = (
        [(f"`{row.method} {row.path}`", row.scope, row.does, row.takes) for row in table] for table in (ROUTES, web_routes())
    )
    return "\n".join(
        [
            "# Admin API\n",
            "JSON for the operator, on listeners of its own: a unix socket that only its owner can open",
            "(`CLEW_HOME/run/admin-NAME.sock`), and a port of this machine (2540).",
            "[Use the admin API](../howto/use-the-admin.md) shows both.\n",
            "Scopes: **open** is for everybody; **read** and **admin** for the socket, the token of this start",
            "(`Authorization: Bearer`), and a browser that came in by a one-time link; **owner** for the first two only;",
            "**inference** for all of these, and for every gateway key, with the conversations of its principal",
            "alone. What a browser changes needs the header `x-clew-csrf`, which `GET /api/session` says.\n",
            'An error is `{"error": {"what", "why", "next"}}`. `principal` is whose conversations: `local` if left out.\n',
            _table(("route", "scope", "does", "takes"), rows),
            "## The pages\n",
            "HTML, behind the same doors; [the web UI](../howto/web-ui.md) shows them.\n",
            _table(("route", "scope", "does", "takes"), pages),
            "## The checks of `clew doctor`\n",
            _table(("check", "looks whether"), [(f"`{check.name}`", check.does) for check in CHECKS]),
        ]
    )


def scenarios_page() -> str:
    rows = [(f"`{name}`", scenario.about) for name, scenario in shipped().items()]
    return "\n".join(
        [
            "# Scenarios\n",
            "`[[scenario:NAME]]` in a prompt, or `clew sim --scenario NAME`. Without one, the built-in model thinks, calls",
            "a tool that it was offered, reads the result and answers.\n",
            _table(("name", "what it does"), rows),
        ]
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in lines)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _number(value: int) -> str:
    return f"{value:,}" if value else "?"


PAGES: dict[str, Callable[[], str]] = {
    "admin": admin_page,
    "backends": lambda: backends_page(_table),
    "cli": cli_page,
    "config": config_page,
    "events": lambda: events_page(_table),
    "formats": lambda: formats_page(_table),
    "models": models_page,
    "python": lambda: python_page(_table),
    "rules": rules_page,
    "scenarios": scenarios_page,
    "simulator": lambda: simulator_page(_table),
    "stances": stances_page,
    "translation": lambda: translation_page(_table),
}


def pages() -> dict[Path, str]:
    """Each page that is made, as it should be."""
    made = {HERE / "reference" / f"{name}.md": NOTE + make().strip() + "\n" for name, make in PAGES.items()}
    made |= {HERE / name: NOTE + text for name, text in (*client_pages().items(), *backend_pages().items())}
    return {
        **made,
        HERE / "index.md": index_page(),
        HERE / "symptoms/README.md": symptoms_page(),
        HERE / "comparison.md": comparison_page(_table),
    }


def shared_files() -> dict[Path, str]:
    """The man page and the completions, which are made of the commands too."""
    sys.path.insert(0, str(HERE.parent / "release"))
    from shared_files import files

    return files()


def main(arguments: Sequence[str]) -> int:
    check = "--check" in arguments
    stale = _stale()
    while stale:  # again after writing: the list of pages names those that have just been written
        for path, text in stale.items():
            sys.stdout.write(f"{path.relative_to(HERE.parent)} {'is out of date' if check else 'written'}\n")
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
        if check:
            return 1
        stale = _stale()
    return 0


def _stale() -> dict[Path, str]:
    """The files that are not as they should be, with the text that they should have."""
    made = {**pages(), **shared_files()}
    return {path: text for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
