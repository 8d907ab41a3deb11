"""The peers as targets: how each is found or installed, and its config. Each runs as it is documented, with its defaults.

LiteLLM and claude-code-router are installed at a pinned version into environments of their own under bench/out, the first
time. CLIProxyAPI and Bifrost are programs that somebody built or downloaded: an environment variable names each.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from backend import Backend
from gateway import OUT
from machine import free_port
from targets import KEY, Target
from traffic import MODEL

__all__ = ["PEERS", "PEERS_HOME", "PROGRAMS", "left_out"]

LITELLM, ROUTER = "litellm[proxy]==1.106.2", "@musistudio/claude-code-router@2.0.0"
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


def cliproxyapi(folder: Path, backend: Backend) -> Target:
    port, home = free_port(), folder / "cliproxyapi"
    home.mkdir(parents=True, exist_ok=True)
    chat = {"name": "mock", "alias": "chat"}
    config = {
        "host": "127.0.0.1",
        "port": port,
        "auth-dir": str(home),
        "api-keys": [KEY],
        "claude-api-key": [
            {"api-key": "sk-bench", "base-url": f"http://127.0.0.1:{backend.port}", "models": [_named(MODEL)]}
        ],
        "openai-compatibility": [
            {
                "name": "mock",
                "base-url": f"http://127.0.0.1:{backend.port}/v1",
                "api-key-entries": [{"api-key": "sk-bench"}],
                "models": [chat],
            }
        ],
    }
    (home / "config.yaml").write_text(json.dumps(config))  # JSON is YAML
    return Target(
        name="CLIProxyAPI",
        port=port,
        command=[os.environ[PROGRAMS["cliproxyapi"]], "--config", str(home / "config.yaml")],
        env={**os.environ, "HOME": str(home)},
        folder=home,
        headers=(f"x-api-key: {KEY}",),
        models={"chat": "chat"},
        patience=60.0,
    )


def _named(model: str) -> dict[str, str]:
    return {"name": model, "alias": model}


def bifrost(folder: Path, backend: Backend) -> Target:
    port, home = free_port(), folder / "bifrost"
    home.mkdir(parents=True, exist_ok=True)
    network = {"base_url": f"http://127.0.0.1:{backend.port}", "allow_private_network": True}
    keys = [{"name": "bench", "value": "sk-bench", "models": ["*"], "weight": 1.0}]
    provider = {"keys": keys, "network_config": network}
    (home / "config.json").write_text(json.dumps({"providers": {"anthropic": provider, "openai": provider}}))
    return Target(
        name="Bifrost",
        port=port,
        command=[os.environ[PROGRAMS["bifrost"]], "-host", "127.0.0.1", "-port", str(port), "-app-dir", str(home)],
        env={**os.environ, "HOME": str(home)},
        folder=home,
        base_path="/anthropic",
        models={"": f"anthropic/{MODEL}", "chat": "openai/mock"},
        patience=60.0,
    )


PEERS: dict[str, Callable[[Path, Backend], Target]] = {
    "litellm": litellm,
    "router": router,
    "cliproxyapi": cliproxyapi,
    "bifrost": bifrost,
}
PROGRAMS = {"cliproxyapi": "CLIPROXYAPI", "bifrost": "BIFROST"}
"""The variable that names the program of a peer."""


def left_out(peer: str) -> str:
    """Why a peer cannot run here; "" if it can."""
    variable = PROGRAMS.get(peer)
    if variable is None:
        return ""
    program = os.environ.get(variable, "")
    if not program:
        return f"{peer} is left out: set {variable} to the path of its program to have it measured."
    return "" if shutil.which(program) else f"{peer} is left out: {variable} is {program}, and no program is there."
