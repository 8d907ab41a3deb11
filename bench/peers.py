"""`make bench-peers`: what others need for the same work, LiteLLM and claude-code-router, beside nginx and clew in one run.

Neither is a dependency of this project: each is installed at a pinned version into an environment of its own under
bench/out, the first time, and runs as it is documented (one process, telemetry and spend logs off), with the same mock and
load. What the bench of the gateway says about reading its numbers holds here too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from backend import Backend
from cases import CASES, FEW, Case
from figures import Cell, Figures, Row, keep, markdown, quotient, written
from gateway import NGINX, OFF, OUT, STORE_OFF, case_row, raise_limits, remark
from machine import Others, free_port
from measuring import Bench
from nginx import find
from targets import KEY, Target, clew, plain_proxy
from traffic import MODEL

LITELLM, ROUTER = "litellm[proxy]==1.106.2", "@musistudio/claude-code-router@2.0.0"
KEYS = ("json-many", "stream", "translated", "big", "paced-few", "translated-few")
PEERS_HOME = OUT / "peers"
_CONFIG = """
model_list:
  - model_name: {native}
    litellm_params: {{model: anthropic/{native}, api_base: "http://127.0.0.1:{upstream}", api_key: sk-bench}}
  - model_name: chat
    litellm_params: {{model: openai/mock, api_base: "http://127.0.0.1:{upstream}/v1", api_key: sk-bench}}
litellm_settings:
  {{drop_params: true, set_verbose: false, num_retries: 0, use_chat_completions_url_for_anthropic_messages: true}}
general_settings: {{disable_spend_logs: true, master_key: sk-{key}}}
"""


def litellm(folder: Path, backend: Backend) -> Target:
    executable = _litellm()
    port, home = free_port(), folder / "litellm"
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(_CONFIG.format(native=MODEL, upstream=backend.port, key=KEY))
    options = ["--config", str(home / "config.yaml"), "--host", "127.0.0.1", "--port", str(port)]
    return Target(
        name="LiteLLM",
        port=port,
        command=[str(executable), *options, "--num_workers", "1", "--telemetry", "False"],
        env={**os.environ, "LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION"},
        folder=home,
        headers=(f"x-api-key: sk-{KEY}",),
        models={"chat": "chat"},
        patience=120.0,
    )


def router(folder: Path, backend: Backend) -> Target:
    script = _router()
    port, home = free_port(), folder / "router"
    (home / ".claude-code-router").mkdir(parents=True, exist_ok=True)
    base = f"http://127.0.0.1:{backend.port}/v1"
    named = {"api_key": "sk-bench"}
    chat = {"name": "chat", "api_base_url": f"{base}/chat/completions", "models": ["mock"], **named}
    native = {"name": "native", "api_base_url": f"{base}/messages", "models": [MODEL], **named}
    config = {
        "LOG": False,
        "HOST": "127.0.0.1",
        "PORT": port,
        "NON_INTERACTIVE_MODE": True,
        "Providers": [
            {**chat, "transformer": {"use": ["reasoning"]}},
            {**native, "transformer": {"use": ["Anthropic"]}},
        ],
        "Router": {"default": "chat,mock"},
    }
    (home / ".claude-code-router/config.json").write_text(json.dumps(config))
    return Target(
        name="claude-code-router",
        port=port,
        command=[_node(), str(script), "start"],
        env={**os.environ, "HOME": str(home), "NODE_ENV": "production"},
        folder=home,
        headers=("x-api-key: bench",),
        models={"": f"native,{MODEL}", "chat": "chat,mock"},
        patience=60.0,
    )


def _litellm() -> Path:
    home = PEERS_HOME / "litellm"
    executable = home / "bin/litellm"
    if not executable.exists():
        print(f"installing {LITELLM} into {home} …", file=sys.stderr)
        venv.create(home, with_pip=True)
        subprocess.run([str(home / "bin/pip"), "install", "--quiet", LITELLM], check=True)
    return executable


def _router() -> Path:
    home = PEERS_HOME / "router"
    script = home / "node_modules/@musistudio/claude-code-router/dist/cli.js"
    if not script.exists():
        print(f"installing {ROUTER} into {home} …", file=sys.stderr)
        home.mkdir(parents=True, exist_ok=True)
        npm = shutil.which("npm") or sys.exit("claude-code-router needs Node and npm")
        subprocess.run([npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(home), ROUTER], check=True)
    return script


def _node() -> str:
    return shutil.which("node") or sys.exit("claude-code-router needs Node")


PEERS: dict[str, Callable[[Path, Backend], Target]] = {"litellm": litellm, "router": router}


def cases_for_peers() -> list[Case]:
    """The slow ones need fewer requests, and the same pace for all."""
    found = {case.key: case for case in CASES}
    return [replace(found[key], connections=FEW if found[key].pace else 4) for key in KEYS]


def row(bench: Bench, case: Case) -> Row:
    """With how many times clew's CPU the peers need."""
    told = case_row(bench, case, lambda name: bench.spent(case, name))
    own, spent = bench.spent(case, OFF), {target.name: bench.spent(case, target.name) for target in bench.targets}
    cells = [
        cell if name in (NGINX, OFF) else replace(cell, text=f"{_times(quotient(own, spent[name]))}× clew's; {cell.text}")
        for name, cell in zip(spent, told.cells, strict=True)
    ]
    return replace(told, cells=tuple(cells))


def _times(cell: Cell) -> str:
    ratio = cell.value or 0.0
    return f"{ratio:,.1f}" if ratio < 30 else f"{ratio:,.0f}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--only", nargs="*", choices=KEYS, help="these cases, and no more")
    options.add_argument("--json", type=Path, help="also write the table to this file, for machines")
    options.add_argument("--keep", action="store_true", help="keep the table in docs/numbers")
    given = options.parse_args()
    raise_limits()
    PEERS_HOME.mkdir(parents=True, exist_ok=True)
    executable = find(OUT / "nginx") or sys.exit("there is no nginx to compare with: apt install nginx")
    cases = [case for case in cases_for_peers() if not given.only or case.key in given.only]
    with tempfile.TemporaryDirectory(dir=OUT) as name:
        folder = Path(name)
        bench, others = Bench(folder, executable, {case.history for case in cases if case.history}, tls=False), Others()
        ours = [plain_proxy(executable, folder, bench.backend), clew(OFF, folder, bench.backend, settings=STORE_OFF)]
        bench.targets = [*ours, *(PEERS[name](folder, bench.backend) for name in given.peers)]
        with bench.all_running():
            bench.interleaved(cases, given.rounds)
        names = tuple(target.name for target in bench.targets)
        found = Figures(names, tuple(row(bench, case) for case in cases), (), remark(given.rounds, others.share()))
    print(markdown(found))
    if given.json:
        given.json.write_text(written(found), "utf-8")
    if given.keep:
        keep(markdown(found), "peers.py --keep")


if __name__ == "__main__":
    main()
