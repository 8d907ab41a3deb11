"""A chat server inside a test: the admin on real works, with simulated backends behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, Self

from clew.admin.listening import Admin, serve_admin
from clew.engine.runtime import Runtime, build_runtime
from clew.settings.home import home_of
from clew.settings.load import load
from tests.admin.booth import KEY, Booth

MODEL = "claude-opus-5-5"
TOOLS = [{"name": "Read", "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}}}]

Part = dict[str, Any]


class ChatServer(Booth):
    """Enter it, then post. By default with the gateway's own key, over TCP."""

    runtime: Runtime
    variables: Mapping[str, str] = {}
    """Of the environment, beside the home."""

    def __enter__(self) -> Self:
        self._background.__enter__()
        self.admin = self._background.call(self._serve())
        self.store: Any = self.runtime.store
        self.current = self.runtime.current
        self.port = int(self.admin.url.rpartition(":")[2])
        return self

    async def _serve(self) -> Admin:
        environ = {"CLEW_HOME": str(self.home.root), **self.variables}
        self.runtime = await build_runtime(load(None, environ), home_of(environ).make(), environ=environ, logs=False)
        self.runtime.keep_up()
        runtime = self.runtime
        return await serve_admin(
            current=runtime.current,
            store=runtime.store,
            hub=runtime.hub,
            home=self.home,
            port=0,
            name="chat",
            runtime=runtime,
            key=KEY,
        )

    def __exit__(self, *error: object) -> None:
        self._background.call(self.admin.close())
        self._background.call(self.runtime.close())
        self._background.__exit__(None, None, None)

    def call_api(self, path: str, *, method: str = "GET", body: Any = None, key: str = KEY, **headers: str) -> Any:
        """The answer of a route, with a key and nothing else."""
        return self.ask(path, method=method, body=body, headers={"x-api-key": key, **headers}, port=True)

    @contextmanager
    def posted(self, said: str | list[Any], *, chat: str = "one", key: str = KEY, **more: Any) -> Iterator[HTTPResponse]:
        """The stream, still open."""
        messages = [user(said)] if isinstance(said, str) else said
        body = {"id": chat, "messages": messages, "trigger": "submit-message", "model": MODEL, **more}
        with self.opened("/api/chat", method="POST", body=body, headers={"x-api-key": key}, port=True) as reply:
            yield reply

    def post(self, said: str | list[Any], **more: Any) -> list[Part]:
        """All parts of the answer."""
        with self.posted(said, **more) as reply:
            assert reply.status == 200, reply.read()
            return parts_of(reply.read())

    @contextmanager
    def resumed(self, chat: str = "one", key: str = KEY) -> Iterator[HTTPResponse]:
        with self.opened(f"/api/chat/{chat}/stream", headers={"x-api-key": key}, port=True) as reply:
            yield reply

    def listeners(self, chat: str) -> int:
        """How many hear the answer that comes now."""
        run = self.services.runs.find(("local", chat))
        return run.listeners if run else 0

    def told(self, chat: str) -> bytes:
        """What was told of the answer that comes now."""
        run = self.services.runs.find(("local", chat))
        return b"".join(run._frames) if run else b""

    def messages(self, chat: str = "one", key: str = KEY) -> list[Any]:
        """The chat as it is read."""
        return self.call_api(f"/api/chat/{chat}", key=key).json["messages"]


def user(text: str, id: str = "u") -> Part:
    return {"id": id, "role": "user", "parts": [{"type": "text", "text": text}]}


def parts_of(raw: bytes) -> list[Part]:
    """The parts of a whole stream, which ends as it should."""
    *frames, last, nothing = raw.split(b"\n\n")
    assert (last, nothing) == (b"data: [DONE]", b"")
    return [json.loads(frame.removeprefix(b"data: ")) for frame in frames if frame != b": still here"]


def read_until(reply: HTTPResponse, kind: str) -> list[Part]:
    """The parts up to the first of this kind."""
    seen: list[Part] = []
    while not seen or seen[-1]["type"] != kind:
        line = reply.readline()
        assert line, f"no {kind} came: {seen}"
        if line.startswith(b"data: {"):
            seen.append(json.loads(line.removeprefix(b"data: ")))
    return seen


def kinds(parts: list[Part]) -> list[str]:
    """Their types, a run of the same once."""
    found = [str(part["type"]) for part in parts]
    return [kind for at, kind in enumerate(found) if at == 0 or kind != found[at - 1]]


def configured(root: Path, backends: Mapping[str, Any], more: str = "") -> Path:
    """A home with these simulators as backends, by their names."""
    root.mkdir(mode=0o700, parents=True)
    tables = [
        f'[backends.{name}]\npreset = "anthropic"\nurl = "{each.url}"\nkey = "{each.key}"' for name, each in backends.items()
    ]
    (root / "clew.toml").write_text("\n".join([*tables, "[retry]\nretries = 0\ncool_seconds = 0.01", more]))
    (root / "clew.toml").chmod(0o600)
    return root
