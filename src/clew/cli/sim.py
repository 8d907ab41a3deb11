"""`clew sim`: the simulator on a port of this machine, until Ctrl-C."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.command import BadConfig, report_errors
from clew.cli.output import print_json
from clew.errors import SettingsInvalid

if TYPE_CHECKING:
    from clew.simulator.server import Simulation
    from clew.simulator.vendor_server import SimulatorSettings


DEFAULT_PORT = 2541
KINDS = ("anthropic", "compat", "deepseek", "kimi", "minimax", "qwen", "zai")
CHAT_KINDS = (
    "azure",
    "cerebras",
    "deepseek-chat",
    "deepseek-r1",
    "gemini-chat",
    "groq",
    "kimi-chat",
    "llamacpp",
    "minimax-chat",
    "mistral",
    "ollama",
    "openai-chat",
    "openrouter",
    "qwen-chat",
    "sglang",
    "tags",
    "vllm",
    "xai",
    "zai-chat",
)
_EXAMPLES = """\b
Examples:
  clew sim                                    the strict Anthropic API on port 2541
  clew sim --port 0 --json                    a free port; the first line says which
  clew sim --scenario interleaved             always the same script
  clew sim --scenario ./mine.scenario         a script of your own
  clew sim --kind compat --port 2542          another vendor with the same dialect, as strict
  clew sim --kind kimi --port 2543            one whose signatures prove nothing, and tool ids are not unique
  clew sim --kind deepseek-chat               a vendor that speaks Chat Completions, at /v1/chat/completions
  clew sim --list                             all kinds, a line each; with --json as an object
  clew sim --without-grade C --without-grade D    only rules that are documented or measured

\b
Keys: any key works. sim-NAME-anything is the account NAME; names that begin with "old" are accounts from before
block binding; sim-invalid is refused. In a prompt, [[scenario:NAME]] picks a script; GET /_sim/scenarios lists them,
GET /_sim/journal tells what came and what was found.
"""


@click.command(epilog=_EXAMPLES)
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="0: a free one.")
@click.option(
    "--kind", default="anthropic", show_default=True, metavar="VENDOR", help=f"{', '.join((*KINDS, *CHAT_KINDS))}."
)
@click.option("--scenario", default="default", show_default=True, metavar="NAME|FILE", help="What the model says.")
@click.option("--stance", type=click.Path(path_type=Path), metavar="FILE", help="TOML: where the sources disagree.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="Your rows about Claude models count.")
@click.option("--predecessor", type=click.Choice(["sent", "read"]), help="Which block a thinking block follows.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same ids and words.")
@click.option("--realm", default="", metavar="NAME", help="Who shares it knows its signatures. Default: by kind and seed.")
@click.option("--journal", type=click.Path(path_type=Path), metavar="FILE", help="Append each request as a JSON line.")
@click.option("--without-grade", type=click.Choice(["C", "D"]), multiple=True, help="Rules of this grade refuse nothing.")
@click.option("--list", "listed", is_flag=True, help="Say which kinds there are, and end.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON in place of the text.")
def sim(**options: Any) -> None:
    """Run the simulator: a vendor's API that accepts and refuses what the real one does, offline and without a key.

    It is the Anthropic API, or with --kind another vendor that speaks its dialect or Chat Completions.
    """
    from clew.http.loops import run
    from clew.simulator.server import kinds

    if options["listed"] and options["as_json"]:
        print_json(kinds())
    elif options["listed"]:
        click.echo("\n".join(f"{name:<14} {about}" for name, about in kinds().items()))
    else:
        port = options["port"]
        try:
            run(_serve(_settings(options), port, as_json=options["as_json"]))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                why = f"port {port} is in use; choose another with --port, or a free one with --port 0"
            else:
                why = f"cannot start: {f'{error.filename}: ' if error.filename else ''}{error.strerror or error}"
            raise click.ClickException(why) from error


def _settings(options: dict[str, Any]) -> SimulatorSettings:
    from clew.settings.load import load
    from clew.simulator.server import check_kind
    from clew.simulator.stances import read_file, stance
    from clew.simulator.turns import load as load_scenario
    from clew.simulator.vendor_server import SimulatorSettings

    for name, check in (("kind", check_kind), ("scenario", load_scenario)):
        try:
            check(options[name])
        except SettingsInvalid as error:
            raise click.BadParameter(str(error), param_hint=f"--{name}") from error
    file = options["stance"]
    try:
        switches = read_file(file) if file else {}
        if options["predecessor"]:
            switches["predecessor"] = options["predecessor"]
        if options["without_grade"]:
            switches["without_grades"] = list(options["without_grade"])
        chosen = stance(switches, file=str(file or ""))
    except SettingsInvalid as error:
        raise BadConfig(f"{file}: {error}" if file and str(file) not in str(error) else str(error)) from error
    with report_errors():
        models = load(options["config"], os.environ, keys=False).settings.models
    given = {name: options[name] for name in ("kind", "scenario", "seed", "realm", "journal")}
    return SimulatorSettings(stance=replace(chosen, models=models), **given)


async def _serve(settings: SimulatorSettings, port: int, *, as_json: bool) -> None:
    from clew.simulator.anthropic.judge import judge
    from clew.simulator.server import start

    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    simulation = await start(settings, judge, port=port)
    if as_json:
        about = {"pid": os.getpid(), "kind": settings.kind, "seed": settings.seed}
        realm = {"realm": settings.realm} if settings.realm else {}
        print_json({"url": simulation.server.url, "port": simulation.server.port, **about, **realm})
    else:
        click.echo(_welcome(simulation))
    await stopped.wait()
    await simulation.close(grace=0.5)


def _welcome(simulation: Simulation) -> str:
    from clew.simulator.openai_chat.vendors import chat_vendors
    from clew.simulator.server import speaks_chat

    url, settings = simulation.url, simulation.vendor.settings
    message = '"messages":[{"role":"user","content":"Hello"}]}'
    if speaks_chat(settings.kind):
        body = f'{{"model":"{chat_vendors()[settings.kind].listed[0]}",{message}'
        headers = "-H 'authorization: Bearer sim-me-1' -H 'content-type: application/json'"
        path, client = "/v1/chat/completions", "an SDK"
        variables = f"OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=sim-me-1"
    else:
        model = "claude-sonnet-4-5" if settings.kind == "anthropic" else "any-model"
        body = f'{{"model":"{model}","max_tokens":300,{message}'
        headers = "-H 'x-api-key: sim-me-1' -H 'anthropic-version: 2023-06-01' -H 'content-type: application/json'"
        path, client = "/v1/messages", "an SDK or Claude Code"
        variables = f"ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=sim-me-1"
    return f"""clew simulator ({settings.kind}, scenario {settings.scenario}) at {url}

Ask it something:
  curl -s {url}{path} {headers} -d '{body}'
Point {client} at it:
  export {variables}

What came and what was found: {url}/_sim/journal. Ctrl-C ends it."""
