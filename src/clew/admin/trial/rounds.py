"""One round trip to a backend, with thinking and a tool: does it answer, and does it take its reasoning back?

A trial costs a few hundred tokens. It goes through a gateway of its own (`rehearsal`), so that what is learnt holds for
every gateway; nothing of it is recorded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, structs

from clew.admin.trial.beside import counts_tokens, credential_in, listed_models
from clew.admin.trial.lessons import Learned, learned, model_in
from clew.admin.trial.rehearsal import Heard, Rehearsal, rehearsal
from clew.backends.row import Backend, Credential
from clew.errors import ClewError
from clew.http.client.message import Timeouts
from clew.model.json import JsonObject, JsonValue
from clew.settings.values import Settings
from clew.upstream.pool import Pool, PoolSettings

__all__ = ["Trial", "trials"]

_CHEAP: Final = "claude-haiku-4-5"
"""Asked for where a backend in Anthropic's dialect has no small model of its own."""
_SECONDS: Final = 120.0

_TOOL: Final[JsonObject] = {
    "name": "look_up",
    "description": "Looks a word up in a dictionary.",
    "input_schema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
}
_QUESTION: Final = (
    "Look up the word 'clew' with the tool. When you have the result, look up 'thread' with the tool as well, then say ok."
)
_RESULT: Final = "a ball of thread"
_GO_ON: Final = "Say ok."


class Trial(Struct, frozen=True, kw_only=True):
    """What came of it. `ok` is None where nothing could be asked."""

    backend: str
    dialect: str = "anthropic"
    model: str = ""
    ok: bool | None = None
    status: int = 0
    seconds: float = 0.0
    says: str = ""
    count_tokens: bool | None = None
    models: bool | None = None
    learned: Learned | None = None


async def trials(settings: Settings, backends: Mapping[str, Backend], environ: Mapping[str, str]) -> list[Trial]:
    """All at once; in the order of the backends."""
    credential = credential_in(environ)
    pool = Pool(_pool_settings(settings, environ))
    try:
        async with rehearsal(settings, backends, environ, credential) as stage:
            runs = [_Trying(each, stage, pool, credential).run() for each in backends.values()]
            return list(await asyncio.gather(*runs))
    finally:
        pool.close()


def _pool_settings(settings: Settings, environ: Mapping[str, str]) -> PoolSettings:
    return PoolSettings(
        timeouts=Timeouts(total=_SECONDS),
        ca_file=settings.ca_file or None,
        proxy_environ=environ if settings.proxy else None,
    )


class _Trying:
    """One trial."""

    def __init__(self, backend: Backend, stage: Rehearsal, pool: Pool, credential: Credential) -> None:
        self._backend = backend
        self._stage = stage
        self._pool = pool
        self._credential = credential
        self._began = time.monotonic()

    async def run(self) -> Trial:
        backend = self._backend
        if backend.auth == "passthrough" and not self._credential:
            says = "it takes the client's own credential, and none is in ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"
            return Trial(backend=backend.name, dialect=backend.dialect, model=_small(backend), says=says)
        names = await listed_models(self._pool, backend, self._credential)
        model = _small(backend) or (_CHEAP if backend.dialect == "anthropic" else next(iter(names or ()), ""))
        if not model:
            return self._trial("", False, 0, "it lists no models, and the config names none: set `model`")
        return structs.replace(await self._round(model), models=names is not None)

    async def _round(self, model: str) -> Trial:
        name = self._backend.name
        try:
            first = await self._stage.ask(name, model, _question())
            if not _is_answer(first):
                return self._trial(model, False, first.status, _refused(first, self._backend))
            second = await self._stage.ask(name, model, _continued(first))
        except ClewError as error:
            return self._trial(model, False, 0, str(error))
        return await self._judged(model, first, second)

    async def _judged(self, model: str, first: Heard, second: Heard) -> Trial:
        lessons = learned(first, second)
        if not _is_answer(second):
            trial = self._trial(model, False, second.status, _refused(second, self._backend))
            return structs.replace(trial, learned=lessons)
        name = model_in(first.came)
        trial = self._trial(model, True, 200, f"answers as {name}" if name else "answers")
        counts = self._backend.dialect == "anthropic" and await counts_tokens(
            self._pool, self._backend, self._credential, model
        )
        return structs.replace(trial, learned=lessons, count_tokens=counts)

    def _trial(self, model: str, ok: bool, status: int, says: str) -> Trial:
        backend = self._backend
        return Trial(
            backend=backend.name,
            dialect=backend.dialect,
            model=model,
            ok=ok,
            status=status,
            seconds=time.monotonic() - self._began,
            says=says,
        )


def _small(backend: Backend) -> str:
    return backend.models.get("haiku") or backend.model


def _question() -> JsonObject:
    return {
        "max_tokens": 4096,
        "thinking": {"type": "adaptive"},
        "tools": [_TOOL],
        "messages": [{"role": "user", "content": _QUESTION}],
    }


def _continued(first: Heard) -> JsonObject:
    """The conversation with the answer in it, as a client sends it back, and what comes next."""
    blocks: list[JsonValue] = [*first.answer.blocks]
    results: list[JsonValue] = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": _RESULT}
        for block in first.answer.blocks
        if block.get("type") == "tool_use"
    ]
    question = _question()
    said: list[JsonValue] = [
        {"role": "user", "content": _QUESTION},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": results or _GO_ON},
    ]
    return {**question, "messages": said}


def _is_answer(heard: Heard) -> bool:
    return heard.status == 200 and bool(heard.answer.blocks) and not heard.error


def _refused(heard: Heard, backend: Backend) -> str:
    if heard.status == 200:
        return heard.error or "what came is not an answer: is the url right?"
    if not heard.reached:
        return f"{heard.error}; check its url, {backend.url}"
    if heard.status in (401, 403):
        return f"status {heard.status}: it refuses {'the key' if backend.keys else 'a request without a key'}"
    hint = "; check its url and its model" if heard.status == 404 else ""
    return f"status {heard.status}: {heard.error or 'no reason given'}{hint}"
