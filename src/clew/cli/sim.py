"""Simulated backends: one with `clew sim`, on a port of this machine until Ctrl-C, and three in the demo of `clew serve`.

One backend of the demo is Anthropic with block binding enforced, so that a lost or altered thinking block is refused at
once; another speaks the same dialect and signs with a key of its own, which the first must never see; the third speaks Chat
Completions, and refuses a tool call that comes back without its reasoning. The demo's home is a temporary directory, unless
`CLEW_HOME` names one; several demos may share that. Nothing leaves the machine.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import signal
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from clew.cli.command import BadConfig, report_errors
from clew.cli.output import print_json
from clew.errors import SettingsInvalid
from clew.settings.home import HOME_VARIABLE, Home, home_of, write_private

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
RESPONSES_KINDS = (
    "azure-responses",
    "bedrock-responses",
    "copilot-responses",
    "deepseek-responses",
    "lmstudio-responses",
    "ollama-responses",
    "openai-responses",
    "openrouter-responses",
    "vllm-responses",
    "xai-responses",
)
_EXAMPLES = """\b
Examples:
  clew sim                                    the strict Anthropic API on port 2541
  clew sim --port 0 --json                    a free port, which the first line names
  clew sim --scenario interleaved             the same script for every request
  clew sim --scenario ./mine.scenario         a script of your own
  clew sim --kind compat --port 2542          another vendor with the same dialect, just as strict
  clew sim --kind kimi --port 2543            a vendor that checks no signatures and repeats tool ids
  clew sim --kind deepseek-chat               a vendor that speaks Chat Completions, at /v1/chat/completions
  clew sim --kind openai-responses            a vendor that speaks OpenAI's Responses, at /v1/responses
  clew sim --list                             all kinds, a line each; with --json as an object
  clew sim --without-grade C --without-grade D    only rules that are documented or measured

\b
Keys: any key works. sim-NAME-anything is the account NAME; names that begin with "old" are accounts from before
block binding, those that begin with "unverified" get no summaries of reasoning; sim-invalid is refused. In a prompt,
[[scenario:NAME]] picks a script; GET /_sim/scenarios lists them, GET /_sim/journal lists the requests and their violations.
"""


@click.command(epilog=_EXAMPLES)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="The port; 0 chooses a free one."
)
@click.option(
    "--kind",
    default="anthropic",
    show_default=True,
    metavar="VENDOR",
    help=f"{', '.join((*KINDS, *CHAT_KINDS, *RESPONSES_KINDS))}.",
)
@click.option(
    "--scenario", default="default", show_default=True, metavar="NAME|FILE", help="The script of the model's answers."
)
@click.option(
    "--stance",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A TOML file that sets the switches for rules on which the sources disagree.",
)
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="The config with your rows about models.")
@click.option(
    "--predecessor",
    type=click.Choice(["sent", "read"]),
    help="How a thinking block is bound to the one before it: as sent, or as read.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same ids and words.")
@click.option(
    "--realm",
    default="",
    metavar="NAME",
    help="Simulators with the same realm accept each other's signatures. Default: by kind and seed.",
)
@click.option(
    "--journal", type=click.Path(path_type=Path), metavar="FILE", help="Append each request to this file, as a line of JSON."
)
@click.option("--without-grade", type=click.Choice(["C", "D"]), multiple=True, help="Turn off the rules of this grade.")
@click.option("--list", "listed", is_flag=True, help="List the kinds, and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON instead of the text.")
def sim(**options: Any) -> None:
    """Run the simulator: a vendor's API that accepts and refuses what the real one does, offline and without a key.

    It is the Anthropic API, or with --kind another vendor that speaks its dialect, Chat Completions or Responses.
    """
    from clew.http.loops import run
    from clew.simulator.server import kinds

    if options["listed"] and options["as_json"]:
        print_json(kinds())
    elif options["listed"]:
        click.echo("\n".join(f"{name:<20} {about}" for name, about in kinds().items()))
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
    from clew.simulator.server import check_kind, read_stance_file, stance
    from clew.simulator.turns import load as load_scenario
    from clew.simulator.vendor_server import SimulatorSettings

    for name, check in (("kind", check_kind), ("scenario", load_scenario)):
        try:
            check(options[name])
        except SettingsInvalid as error:
            raise click.BadParameter(str(error), param_hint=f"--{name}") from error
    file = options["stance"]
    try:
        switches = read_stance_file(file) if file else {}
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
    from clew.simulator.openai_responses.vendors import responses_vendors
    from clew.simulator.server import speaks_chat, speaks_responses

    url, settings = simulation.url, simulation.vendor.settings
    message = '"messages":[{"role":"user","content":"Hello"}]}'
    if speaks_chat(settings.kind):
        body = f'{{"model":"{chat_vendors()[settings.kind].listed[0]}",{message}'
        headers = "-H 'authorization: Bearer sim-me-1' -H 'content-type: application/json'"
        path, client = "/v1/chat/completions", "an SDK"
        variables = f"OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=sim-me-1"
    elif speaks_responses(settings.kind):
        body = f'{{"model":"{responses_vendors()[settings.kind].listed[0]}","input":"Hello"}}'
        headers = "-H 'authorization: Bearer sim-me-1' -H 'content-type: application/json'"
        path, client = "/v1/responses", "an SDK"
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

Requests and their violations: {url}/_sim/journal. Ctrl-C stops it."""


# The demo


_MARK: Final = "# The demo's backends, all simulated."
_CONFIG: Final = (
    _MARK
    + """ `clew use other` or `clew use deepseek` switches, `clew use claude` switches back.
active = "claude"

[backends.claude]
url = "{claude}"
realm = "anthropic"
auth = "key"
key = "${{CLEW_DEMO_KEY:-sim-demo-1}}"

[backends.other]
url = "{other}"
auth = "key"
key = "${{CLEW_DEMO_KEY:-sim-demo-1}}"
model = "other-model"

[backends.deepseek]
preset = "deepseek"
dialect = "openai-chat"
url = "{deepseek}"
key = "${{CLEW_DEMO_KEY:-sim-demo-1}}"
"""
)
"""The simulators take any key. With one in it, the file can be used from a second shell, by every command."""
_PORTS: Final = re.compile(r'^url = "http://127\.0\.0\.1:(\d{1,5})"', re.MULTILINE)
_PROBE_SECONDS: Final = 1.0


@asynccontextmanager
async def demo(environ: Mapping[str, str]) -> AsyncGenerator[tuple[Path, dict[str, str]]]:
    """The config file, and the environment to read it in: without any vendor's key."""
    from clew.simulator.anthropic.judge import judge
    from clew.simulator.server import stance, start
    from clew.simulator.vendor_server import SimulatorSettings

    async with AsyncExitStack() as stack:
        if environ.get(HOME_VARIABLE, "").strip():
            home = home_of(environ).make()
        else:
            temporary = tempfile.TemporaryDirectory(prefix="clew-demo-", ignore_cleanup_errors=True)
            home = Home(Path(stack.enter_context(temporary))).make()
        # The home's own config is where `clew use` and the other commands look. But a real one is never replaced, nor that
        # of a demo that runs: its gateway would follow, and be left without backends when this demo ends.
        file = home.config
        text = file.read_text(errors="replace") if file.exists() else _MARK
        if not text.startswith(_MARK) or any([await _answers(int(port)) for port in _PORTS.findall(text)]):
            file = home.root / f"demo-{os.getpid()}.toml"
            stack.callback(file.unlink, missing_ok=True)
        urls: dict[str, str] = {}
        for name, settings in {
            "claude": SimulatorSettings(stance=stance({"prefix_enforcement": "on"})),
            "other": SimulatorSettings(stance=stance(), kind="compat"),
            "deepseek": SimulatorSettings(stance=stance(), kind="deepseek-chat"),
        }.items():
            simulation = await start(settings, judge)
            stack.push_async_callback(simulation.close, grace=0)
            urls[name] = simulation.url
        write_private(file, _CONFIG.format(**urls).encode())
        own = {name: value for name, value in environ.items() if name.startswith("CLEW_") and name != "CLEW_CONFIG"}
        yield file, {**own, HOME_VARIABLE: str(home.root), "PATH": environ.get("PATH", "")}


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), _PROBE_SECONDS)
    except (OSError, OverflowError, TimeoutError):
        return False
    writer.close()
    return True
