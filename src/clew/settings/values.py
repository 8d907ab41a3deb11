"""The settings as one value. Code that needs a part gets it as an argument; no file and no variable is read again.

Most of these structs are also what the file says, table by table: a key of the file is a field here, its default is the
field's, and its meaning is the text below it, which the reference and the JSON Schema repeat. Only backends are made: a
table of the file (`clew.settings.document`) becomes a row with its preset filled in and its keys looked up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from clew.backends.names import Family
from clew.backends.row import Backend
from clew.model.facts import ModelFacts
from clew.model.http import Timeouts
from clew.model.origin import Foreign
from clew.pipeline.attempts import RetryPolicy as Retry
from clew.pipeline.step import CacheRules, Display, Options, ThinkingFirst
from clew.settings.login import LoginSettings
from clew.store.kinds import URL_PATTERN, URLS, USUAL_URL, is_shared
from clew.thinking.budgets import BudgetRules

Port: TypeAlias = Annotated[int, Meta(ge=0, le=65535)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Some: TypeAlias = Annotated[int, Meta(ge=1)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0)]
Pause: TypeAlias = Annotated[float, Meta(ge=0)]
_BODIES = r"^(off|all|last:[0-9]{1,6}|days:[0-9]{1,4})$"
Bodies: TypeAlias = Annotated[str, Meta(pattern=_BODIES, description="off, last:N, days:N or all")]
WebOrigin: TypeAlias = Annotated[
    str, Meta(pattern=r"^https?://[^/*\s@]+$", description="an origin in full: https://host, or http://host:port")
]
_KEYS = "ctrl- and a letter (not c, d, i, j, m, z: terminals need these) or one of ] \\ ^ _; or off"
KeyName: TypeAlias = Annotated[str, Meta(pattern=r"^(off|ctrl-[abefghklnopqrstuvwxy\]\\^_])$", description=_KEYS)]
StoreUrl: TypeAlias = Annotated[str, Meta(pattern=URL_PATTERN, description=URLS)]

_DAY = 86_400
_MEGABYTE = 1_000_000
_FILE_MEGABYTES = 4096


class RoutingRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Send some requests to a certain backend, whatever is active. Set exactly one of `family`, `agent` and
    `request_class`."""

    backend: str
    """The backend that gets these requests."""
    family: Family = ""
    """Requests for a model of this family."""
    agent: str = ""
    """Requests of a sub-agent: its id, or `*` for every sub-agent."""
    request_class: str = ""
    """Requests of this kind: `title`, `probe`, `search` or `count_tokens`. The client names it in
    `x-claude-code-request-class`, or clew recognizes it."""
    model: str = ""
    """The model to use, by the backend's own name. Default: what the backend's `models` says."""


class ThinkingSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How thinking blocks are treated."""

    foreign: Foreign = "drop"
    """What to do with reasoning that a backend cannot read because another one made it. `drop`: leave it out. `text`: send
    it as text. `native`: put it into the field for the backend's own reasoning. Claude never gets it as thinking."""
    restore: bool = True
    """Put back thinking that the client dropped, for models that can read it."""
    policy: Literal["origin", "session", "strip"] = "origin"
    """How to decide which thinking is sent. `origin`: by the backend that made it. `session`: by a count of backend
    switches. `strip`: send no thinking at all."""
    seal: Literal["inline", "reference"] = "inline"
    """What a vendor needs back later is put into the seal (`inline`), or only into the store (`reference`)."""
    show_reasoning: Literal["seal", "hide"] = "seal"
    """Whether the client gets the reasoning of vendors other than Anthropic: `seal` sends it with a seal, `hide` does not
    send it."""
    signature: Literal["seal", "empty"] = "seal"
    """What to put in place of a signature on other vendors' reasoning: a seal, or an empty text. Some clients drop a block
    with an empty signature."""
    stream_start: Literal["lazy", "eager"] = "lazy"
    """When to begin a translated answer: when the backend sends its first content (`lazy`), or at once, with an empty text
    and a ping for each second without an event (`eager`)."""
    orphan_seconds: Seconds = 300
    """With `policy = "session"`: how long to wait for a block that never came back."""


class StoreSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is recorded, and for how long."""

    url: StoreUrl = USUAL_URL
    """Where to keep it. `sqlite`: a file in the home directory. `sqlite:PATH`: another file. `postgresql://…`: a database
    that several gateways can share. `off`: nowhere."""
    content: bool = True
    """Keep the text of conversations, so that you can read them. If false, only the data that vendors need back is kept."""
    bodies: Bodies = "last:50"
    """Which complete requests and answers to keep: `off`, `last:N` (the last N of each principal), `days:N` (of the last N
    days), or `all`."""
    days: Count = 90
    """Delete recordings that were not used for this many days. 0: never."""
    megabytes: Count | None = None
    """Delete the oldest recordings when the store is larger than this. 0: no limit. Default: 4096 for a file on this
    machine; no limit for a database that several gateways share."""

    @property
    def kept_bodies(self) -> int | None:
        """How many whole bodies are kept; None is all of them."""
        if self.bodies == "all" or self.bodies_age is not None:
            return None
        return int(self.bodies.removeprefix("last:")) if self.bodies != "off" else 0

    @property
    def bodies_age(self) -> float | None:
        """Seconds that whole bodies are kept; None is as long as all else."""
        return int(self.bodies.removeprefix("days:")) * _DAY if self.bodies.startswith("days:") else None

    @property
    def age(self) -> float | None:
        """Seconds that recordings are kept; None is for ever."""
        return self.days * _DAY or None

    @property
    def bytes(self) -> int | None:
        """The most bytes that the store may take; None is without a limit."""
        usual = 0 if is_shared(self.url) else _FILE_MEGABYTES
        return (usual if self.megabytes is None else self.megabytes) * _MEGABYTE or None


class GatewaySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The listener for clients, and its limits."""

    host: str = "127.0.0.1"
    """The address to listen on. Any other than this machine's own needs `hosts`, and every request then needs a key."""
    port: Port = 2539
    """The port for clients. 0: any free port."""
    admin_port: Port = 2540
    """The port for the web UI and the admin API. 0: any free port."""
    hosts: tuple[str, ...] = ()
    """Names by which clients may call the gateway, with or without a port. This machine's own names are always allowed."""
    origins: tuple[str, ...] = ()
    """Web origins whose pages may call the gateway from a browser."""
    workers: Some = 1
    """The number of processes that share the port."""
    keep_accepting_seconds: Pause = 0
    """After the first signal to end: how long to accept new connections, while `/readyz` answers 503. For load balancers
    that need a moment to notice. Then the drain begins."""
    drain_seconds: Seconds = 30
    """How long running answers may continue then."""
    closing_seconds: Seconds = 1
    """How long to wait after that for cut answers to be recorded. Then the process ends."""
    ping_seconds: Seconds = 15
    """Send a ping after this many seconds in which the client got nothing."""
    max_streams: Some = 500
    """The most requests at the same time, in each process; one more gets a 503. It is lower if the process may not open
    enough files."""
    max_body_megabytes: Some = 32
    """The largest request."""
    bodies_megabytes: Count = 0
    """The most memory for all requests over 64 KB together, in each process, from their first byte to the end of their
    answer. Above it, the request that has been arriving for the longest time gets a 503. 0: an eighth of the memory, shared
    by the workers."""
    max_head_kilobytes: Some = 64
    """The largest head (request line and headers) of a request."""
    max_headers: Some = 100
    """The most headers of a request."""
    head_seconds: Seconds = 10
    """The longest time from the first byte of a request to the end of its head."""
    body_seconds: Seconds = 30
    """A request gets a 408 after this many seconds without a byte of its body."""
    body_rate: Some = 1024
    """The slowest rate at which a request's body may arrive, in bytes per second, on average over `body_seconds`."""
    write_seconds: Seconds = 60
    """Close the connection of a client that reads nothing for this long."""
    idle_seconds: Seconds = 75
    """How long a connection may wait for its next request."""
    history_megabytes: Count = 64
    """Memory for the last requests, in each process. With it, a long conversation is not parsed again for every turn."""

    @property
    def seconds_to_drain(self) -> float:
        """From the first signal to the moment at which running answers are cut off."""
        return self.keep_accepting_seconds + self.drain_seconds


class ChatSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The chat server: which pages may call it, and the defaults of its requests."""

    origins: tuple[WebOrigin, ...] = ()
    """Web origins whose pages may call `/api/chat` with a gateway key, in full. The web UI's own origin needs no entry."""
    model: str = ""
    """The model of a new chat, if the request names none."""
    system: str = ""
    """The system prompt, if the request has none."""
    thinking: bool = True
    """Ask for thinking that can be shown. Models without it are not asked for it."""
    effort: str = ""
    """How hard to think, if the request does not say."""
    max_tokens: Some = 16_000
    """The longest answer, in tokens."""
    on_overflow: Literal["error", "compact"] = "error"
    """What to do when a chat does not fit into the model's context any more: refuse the request (`error`), or continue from
    a summary, in a new branch (`compact`)."""
    thinking_first: ThinkingFirst = "keep"
    """What to do with reasoning without a signature, for example of a chat that began elsewhere. `keep`: no backend gets it.
    `reorder`: backends that accept unsigned reasoning get it, in front of a message that calls tools; with `thinking.foreign
    = "text"`, the others get it as text. Claude never gets it as thinking. No signed block is moved, and what is stored and
    shown does not change. This is also used for conversations of the Python library."""
    tools: str = ""
    """A Python file with tools for Chat in the browser: its functions that are marked with `clew.tool`. A relative path
    begins at this file's directory. The file runs in the gateway, with the gateway's rights. Only the gateway's owner can
    use the tools."""
    max_answers: Some = 16
    """The most answers at the same time for each principal; one more gets a 429."""


class LogSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is logged about each request. Keys are never logged."""

    form: Literal["auto", "short", "pairs", "json"] = "auto"
    """The format: `short` as in `clew log`, `pairs` as key=value, `json` as a line of JSON. `auto`: `short` on a terminal,
    else `json`."""
    level: Literal["error", "warning", "info", "debug", "trace"] = "info"
    """The lowest level that is logged."""
    debug: bool = False
    """Also log which thinking blocks were registered, kept and left out. `--debug` and `CLEW_DEBUG=1` do the same."""
    full_body: bool = False
    """With `debug`: log whole requests and answers."""
    pretty_print: bool = False
    """With `full_body`: indent them."""
    thinking_text: bool = False
    """With `full_body`: show the text of thinking. Otherwise it is hidden."""
    file: str = ""
    """Write the log to this file instead of standard error. A relative path begins at the home directory. Without it, `clew
    run` writes to `run.log`."""
    file_megabytes: Some = 8
    """The size at which the file is renamed (`clew.log` to `clew.log.1` …) and a new one begins."""
    older_files: Count = 1
    """How many renamed files are kept."""


class BuildSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to add to requests if the client leaves it open. By default nothing is added."""

    environment: bool = True
    """Read MAX_THINKING_TOKENS and DISABLE_PROMPT_CACHING, also with _HAIKU, _SONNET and _OPUS, from the environment.
    `budget` and `cache` have priority."""
    budget: BudgetRules | None = None
    """Ask for thinking by keywords in the prompt and by the variable, if the client does not set `thinking`. Without this
    table, only the variable counts."""
    cache: CacheRules | None = None
    """Set cache marks, if the client sets none. There are never more than four; of the client's own, the later ones are
    kept."""
    preserve_thinking: bool = False
    """Add the context edit that asks the vendor to keep all old thinking."""
    display: Display = "as sent"
    """The value of `display`, if thinking is on and the client does not set it."""
    forced_tools: Literal["keep", "auto"] = "keep"
    """What to do if a model does not accept a forced tool: send it, and let the vendor refuse it (`keep`), or let the model
    choose (`auto`). For clients of OpenAI's APIs it is always `auto`."""


class RunSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings for `clew run`."""

    switch_key: KeyName = "ctrl-]"
    """The key that opens the panel with the backends over the client, on a terminal. Pressed twice, it goes to the
    client. `off`: no panel; the client uses the terminal directly. Keys that terminals need (`ctrl-c`, `ctrl-z` …) are
    not allowed."""


class DisabledBackend(Struct, frozen=True, kw_only=True):
    """A backend of the file that cannot be called here, because a variable that it names is not set."""

    name: str
    key: str
    """Of the file: `backends.glm.key`."""
    why: str
    where: str = ""
    """The file and its line."""

    @property
    def says(self) -> str:
        return f"{self.name} is disabled: {self.why} ({self.key}, {self.where})"


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that the operator decides. Complete without any file."""

    active: str
    """The backend that takes what no rule and no pin sends elsewhere."""
    backends: Mapping[str, Backend]
    disabled: Mapping[str, DisabledBackend] = {}
    """Backends of the file that cannot be called here. A request for one gets a 503; no other answers in its place."""
    rules: tuple[RoutingRule, ...] = ()
    """The first that fits decides."""
    failover: tuple[str, ...] = ()
    """Backends to try, in order, when the one that was chosen cannot answer."""
    thinking: ThinkingSettings = ThinkingSettings()
    store: StoreSettings = StoreSettings()
    gateway: GatewaySettings = GatewaySettings()
    retry: Retry = Retry()
    timeouts: Timeouts = Timeouts()
    first_content_seconds: float = 300
    """How long a backend may take until the first content of an answer; all of one that is not streamed."""
    proxy: bool = False
    """Go through HTTPS_PROXY and HTTP_PROXY; they are ignored otherwise."""
    ca_file: str = ""
    """Authorities to trust beside the system's."""
    log: LogSettings = LogSettings()
    models: Mapping[str, ModelFacts]
    """Our rows about models, with the operator's on top."""
    build: BuildSettings = BuildSettings()
    chat: ChatSettings = ChatSettings()
    login: LoginSettings = LoginSettings()
    run: RunSettings = RunSettings()

    @property
    def wants_no_key(self) -> bool:
        """Whether nothing of the operator's can be spent: every backend takes the client's own credential. A disabled one
        counts as one with a key, which it nearly always is."""
        return not self.disabled and all(backend.auth == "passthrough" for backend in self.backends.values())


def options_of(settings: Settings) -> Options:
    """The options of a projection, for which the policy `session` is `origin`: the engine carries out the rest of it."""
    build = settings.build
    return Options(
        policy="strip" if settings.thinking.policy == "strip" else "origin",
        restore=settings.thinking.restore,
        budget=build.budget,
        display=build.display,
        cache=build.cache,
        preserve_thinking=build.preserve_thinking,
        forced_tools=build.forced_tools,
    )


def timeouts_for(settings: Settings, backend: Backend) -> Timeouts:
    """The general ones, with the backend's own on top."""
    given = backend.timeouts.given()
    return replace(settings.timeouts, **given) if given else settings.timeouts


def whole_timeouts_for(settings: Settings, backend: Backend) -> Timeouts:
    """The same for an answer in one piece: its head comes when all of it was said."""
    usual = timeouts_for(settings, backend)
    if usual.first_byte is None:
        return usual
    return replace(usual, first_byte=max(usual.first_byte, settings.first_content_seconds))
