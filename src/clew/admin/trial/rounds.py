"""One round trip to a backend, with thinking and a tool: does it answer, and does it take its reasoning back?

A trial costs a few hundred tokens. It goes through a gateway of its own (`trial.gateway`), so that its result holds for
every gateway; nothing of it is recorded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, structs

from clew.admin.trial.capabilities import counts_tokens, listed_models
from clew.admin.trial.gateway import TrialAnswer, TrialGateway, open_trial_gateway
from clew.admin.trial.lessons import BackendLessons, learn, model_in
from clew.backends.credential import Credential, credential_in
from clew.backends.row import Backend
from clew.errors import ClewError
from clew.model.http import Timeouts
from clew.model.json import JsonObject, JsonValue
from clew.settings.values import Settings
from clew.upstream.pool import Pool, PoolSettings

_CHEAP: Final = "claude-haiku-4-5"
"""Asked for where a backend in Anthropic's dialect has no small model of its own."""
_SECONDS: Final = 120.0

_TOOL: Final[JsonObject] = {
    "name": "look_up",
    "description": "Looks a word up in a dictionary.",
    "input_schema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
}
_ASKED: Final[JsonObject] = {
    "role": "user",
    "content": "Look up the word 'clew' with the tool. When you have the result, look up 'thread' with the tool as well, "
    "then say ok.",
}
_QUESTION: Final[JsonObject] = {
    "max_tokens": 4096,
    "thinking": {"type": "adaptive"},
    "tools": [_TOOL],
    "messages": [_ASKED],
}
_RESULT: Final = "a ball of thread"
_GO_ON: Final = "Say ok."


class Trial(Struct, frozen=True, kw_only=True):
    """The result. `ok` is None where nothing could be asked."""

    backend: str
    dialect: str = "anthropic"
    model: str = ""
    ok: bool | None = None
    status: int = 0
    seconds: float = 0.0
    says: str = ""
    count_tokens: bool | None = None
    models: bool | None = None
    learned: BackendLessons | None = None


async def trials(settings: Settings, backends: Mapping[str, Backend], environ: Mapping[str, str]) -> list[Trial]:
    """Try all backends at the same time. The results are in the order of the backends."""
    credential = credential_in(environ)
    pool = Pool(
        PoolSettings(
            timeouts=Timeouts(total=_SECONDS),
            ca_file=settings.ca_file or None,
            proxy_environ=environ if settings.proxy else None,
        )
    )
    try:
        async with open_trial_gateway(settings, backends, environ, credential) as gateway:
            runs = [_BackendTrial(each, gateway, pool, credential).run() for each in backends.values()]
            return list(await asyncio.gather(*runs))
    finally:
        pool.close()


class _BackendTrial:
    """The requests with which one backend is tried."""

    def __init__(self, backend: Backend, gateway: TrialGateway, pool: Pool, credential: Credential) -> None:
        self._backend = backend
        self._gateway = gateway
        self._pool = pool
        self._credential = credential
        self._began = time.monotonic()

    async def run(self) -> Trial:
        backend = self._backend
        small = backend.models.get("haiku") or backend.model
        if backend.auth == "passthrough" and not self._credential:
            says = "it takes the client's own credential, and none is in ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"
            return Trial(backend=backend.name, dialect=backend.dialect, model=small, says=says)
        names = await listed_models(self._pool, backend, self._credential)
        model = small or (_CHEAP if backend.dialect == "anthropic" else next(iter(names or ()), ""))
        if not model:
            return self._trial("", False, 0, "it lists no models, and the config names none: set `model`")
        return structs.replace(await self._run_round(model), models=names is not None)

    async def _run_round(self, model: str) -> Trial:
        backend = self._backend
        try:
            first = await self._gateway.ask(backend.name, model, _QUESTION)
            if not _is_answer(first):
                return self._trial(model, False, first.status, _failure(first, backend))
            second = await self._gateway.ask(backend.name, model, _continuation(first))
        except ClewError as error:
            return self._trial(model, False, 0, str(error))
        lessons = learn(first, second)
        if not _is_answer(second):
            trial = self._trial(model, False, second.status, _failure(second, backend))
            return structs.replace(trial, learned=lessons)
        name = model_in(first.came)
        trial = self._trial(model, True, 200, f"answers as {name}" if name else "answers")
        counts = backend.dialect == "anthropic" and await counts_tokens(self._pool, backend, self._credential, model)
        return structs.replace(trial, learned=lessons, count_tokens=counts)

    def _trial(self, model: str, ok: bool, status: int, says: str) -> Trial:
        return Trial(
            backend=self._backend.name,
            dialect=self._backend.dialect,
            model=model,
            ok=ok,
            status=status,
            seconds=time.monotonic() - self._began,
            says=says,
        )


def _continuation(first: TrialAnswer) -> JsonObject:
    """The conversation with the answer in it, as a client sends it back, and the tool's results."""
    blocks: list[JsonValue] = [*first.answer.blocks]
    results: list[JsonValue] = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": _RESULT}
        for block in first.answer.blocks
        if block.get("type") == "tool_use"
    ]
    messages: list[JsonValue] = [
        _ASKED,
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": results or _GO_ON},
    ]
    return {**_QUESTION, "messages": messages}


def _is_answer(answer: TrialAnswer) -> bool:
    return answer.status == 200 and bool(answer.answer.blocks) and not answer.error


def _failure(answer: TrialAnswer, backend: Backend) -> str:
    if answer.status == 200:
        return answer.error or "the reply is not an answer of this API: is the url right?"
    if not answer.reached:
        return f"{answer.error}; check its url, {backend.url}"
    if answer.status in (401, 403):
        return f"status {answer.status}: it refuses {'the key' if backend.keys else 'a request without a key'}"
    hint = "; check its url and its model" if answer.status == 404 else ""
    return f"status {answer.status}: {answer.error or 'no reason given'}{hint}"
