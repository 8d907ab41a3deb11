"""How a conversation is opened: on a running gateway, or on the settings and the store that the command line would use.

Also here: the keywords that say where a conversation is, checks of them, and signatures that show them to editors and
`inspect.signature`.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Generic, Literal, Protocol, TypeAlias, TypedDict, TypeVar, cast, get_args

from msgspec import NODEFAULT, Struct, structs

from clew.backends.address import is_local
from clew.backends.credential import Credential, credential_in
from clew.backends.presets import presets
from clew.chat.local import COMMIT_SECONDS, LocalThreadService
from clew.chat.remote.connection import AUTO, GatewayConnection, connection_at, connection_to, gateway_in
from clew.chat.remote.service import open_remote
from clew.chat.service import ThreadService, new_thread
from clew.engine.ids import new_id
from clew.engine.runtime import Runtime, build_runtime
from clew.errors import BackendUnreachable, RequestInvalid, SettingsInvalid
from clew.settings.asked_backend import AskedBackend
from clew.settings.document import BASE_URL
from clew.settings.home import HOME_VARIABLE, home_of
from clew.settings.load import Loaded, load, load_given

PRINCIPAL: Final = "local"
"""The principal of this machine, with or without a gateway: all programs here share their threads."""

OnOverflow: TypeAlias = Literal["error", "compact"]
"""What to do when a conversation no longer fits the model's window."""


class OpenOptions(TypedDict, total=False):
    """The keywords of `AsyncConversation.open` and of agents that say where a conversation is: see `Where`."""

    home: str | Path | None
    config: str | Path | None
    environ: Mapping[str, str] | None
    backends: Mapping[str, Mapping[str, object]] | None
    url: str
    key: str


class Where(Struct, frozen=True, kw_only=True):
    """Where a conversation is: on an engine of its own with these settings, or on a gateway at `url`."""

    home: str | Path | None = None
    config: str | Path | None = None
    environ: Mapping[str, str] | None = None
    backends: Mapping[str, Mapping[str, object]] | None = None
    url: str = ""
    key: str = ""
    backend: str = ""
    """Who answers first. It may be a preset whose key is in the environment, and which no settings name."""

    def check(self) -> None:
        """Raises SettingsInvalid for values of a wrong type, and for options that exclude each other."""
        _check_path("home", self.home)
        _check_path("config", self.config)
        backends = cast("object", self.backends)
        if backends is not None and not isinstance(backends, Mapping):
            raise SettingsInvalid(f"backends are a table for each name, not a {type(backends).__name__}", key="backends")
        for name, value in (("config", self.config), ("url", self.url)):
            if value and self.backends is not None:
                raise SettingsInvalid(
                    f"give either backends or {name}, not both: each of them defines the backends", key="backends"
                )

    @property
    def environment(self) -> Mapping[str, str]:
        given = dict(os.environ if self.environ is None else self.environ)
        return given if self.home is None else {**given, HOME_VARIABLE: str(self.home)}


def _check_path(name: str, value: object) -> None:
    kind = type(value).__name__
    if value is not None and not isinstance(value, str | os.PathLike):
        more = ": give backends that are not in a file as `backends={…}`" if isinstance(value, Mapping) else ""
        raise SettingsInvalid(f"{name} is a path, not a {kind}{more}", key=name)


def check_overflow(given: str) -> None:
    """Raises SettingsInvalid for another word: without this check it would be noticed only when the conversation is long."""
    if given not in (words := get_args(OnOverflow)):
        raise SettingsInvalid(f"on_overflow is {' or '.join(map(repr, words))}, not {given!r}", key="on_overflow")


def check_tools(tools: Sequence[object]) -> None:
    """Raises SettingsInvalid for anything but a dictionary: agents take functions, so people try them here too."""
    for place, each in enumerate(tools):
        if not isinstance(each, Mapping):
            wanted = (
                "a dictionary with `name` and `input_schema`, as the Messages API has it; a function is for `clew.Agent`"
            )
            raise SettingsInvalid(f"tools.{place}: a tool of a conversation is {wanted}", key="tools")


# Opening


class _Closable(Protocol):
    async def close(self) -> None: ...


C = TypeVar("C", bound=_Closable)


class Opening(AbstractAsyncContextManager[C], Generic[C]):
    """Something that is opened when it is awaited. `async with` also closes it; after `await` the caller does.

    `async with AsyncConversation.open() as conversation:`, or `conversation = await AsyncConversation.open()`.
    """

    def __init__(self, open: Callable[[], Awaitable[C]]) -> None:
        self._open = open
        self._opened: C | None = None

    def __await__(self) -> Generator[Any, Any, C]:
        return self._open().__await__()

    async def __aenter__(self) -> C:
        self._opened = await self
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.close()


@asynccontextmanager
async def open_service(thread: str, where: Where) -> AsyncGenerator[ThreadService]:
    """The service of one conversation; everything that was opened for it is closed at the end."""
    where.check()
    async with AsyncExitStack() as stack:
        service = await _open_remote(thread, where, stack) or await _open_local(thread, where, stack)
        stack.push_async_callback(service.close)
        yield service


async def _open_remote(thread: str, where: Where, stack: AsyncExitStack) -> ThreadService | None:
    """The service on a gateway. None if no gateway is wanted, or none runs in this home."""
    environment = where.environment

    async def join(connection: GatewayConnection) -> ThreadService:
        stack.callback(connection.close)
        return await open_remote(connection, thread)

    if where.url != AUTO:
        return await join(connection_at(where.url, where.key, environment)) if where.url else None
    gateway = (
        None if where.config or where.backends is not None else await asyncio.to_thread(gateway_in, home_of(environment))
    )
    if gateway is not None:
        with suppress(BackendUnreachable):
            service = await join(connection_to(gateway, environment))
            if where.backend in service.backends or where.backend not in presets():
                return service
    return None


async def _open_local(thread: str, where: Where, stack: AsyncExitStack) -> LocalThreadService:
    environment, file = where.environment, Path(where.config) if where.config else None
    loaded = await asyncio.to_thread(_load_settings, where, file)
    own = await asyncio.to_thread(home_of(environment).make)
    first = next(iter(where.backends or ()), "")  # `clew use` chooses among the backends of a file
    runtime = await build_runtime(
        loaded, own, file=file, choice=first, environ=environment, logs=False, commit_seconds=COMMIT_SECONDS
    )
    stack.push_async_callback(runtime.close)
    runtime.keep_up()
    return await asyncio.to_thread(service_on, runtime, thread, credential=credential_in(environment))


def _load_settings(where: Where, file: Path | None) -> Loaded:
    if where.backends is not None:
        return load_given(where.backends, where.environment)
    loaded = load(file, where.environment, asked=AskedBackend(where.backend))
    given = (where.environ or {}).get(BASE_URL, "")
    if given and given != os.environ.get(BASE_URL) and is_local(given) and not loaded.names_backends:
        raise SettingsInvalid(
            f"environ: {BASE_URL} is not used where it names this machine, because it may be a gateway of clew. "
            f'Use instead: backends={{"claude": {{"url": "{given}", "key": "…"}}}}',
            key="environ",
        )
    return loaded


def service_on(
    runtime: Runtime, thread: str = "", *, principal: str = PRINCIPAL, credential: Credential = ()
) -> LocalThreadService:
    """The service of a new thread, or of the thread with this id or its beginning, on existing works.

    It reads the store, so call it in a thread. Raises RequestInvalid if there is no such thread.
    """
    if thread and runtime.store:
        threads = runtime.store.threads(principal, limit=2, starting=thread)
        exact = [each for each in threads if each.id == thread] or threads
        if len(exact) != 1:
            many = "more than one thread begins" if exact else "there is no thread that begins"
            raise RequestInvalid(f"{many} with {thread!r}")
        found = exact[0]
    else:
        found = new_thread(new_id(), principal=principal)
    service = LocalThreadService(runtime, found, credential=credential)
    service.load()
    return service


# Signatures

F = TypeVar("F", bound=Callable[..., Any])


def signed_like(method: Callable[..., Any]) -> Callable[[F], F]:
    """Gives a class method the signature of another one, with its own return type."""

    def signed(function: F) -> F:
        given = inspect.signature(function).return_annotation
        theirs = inspect.signature(getattr(method, "__func__", method))
        return _shown(function, theirs.replace(return_annotation=given))

    return signed


def shows_keywords(keywords: type, defaults: type[Struct]) -> Callable[[F], F]:
    """Gives a function with `**name: Unpack[keywords]` a signature with each keyword, and the default of the field of that
    name in `defaults`."""

    def shown(function: F) -> F:
        own = inspect.signature(function)
        known = {each.name: each for each in structs.fields(defaults)}
        named: list[inspect.Parameter] = []
        for name, kind in keywords.__annotations__.items():
            annotation = getattr(kind, "__forward_arg__", str(kind))
            field, default = known[name], inspect.Parameter.empty
            if field.default_factory is not NODEFAULT:
                default = field.default_factory()
            elif field.default is not NODEFAULT:
                default = field.default
            named.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation))
        rest = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
        return _shown(function, own.replace(parameters=[*rest, *named]))

    return shown


def _shown(function: F, signature: inspect.Signature) -> F:
    setattr(function, "__signature__", signature)  # noqa: B010  (of any function, which its type does not know)
    return function
