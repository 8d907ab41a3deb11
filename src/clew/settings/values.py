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
    """Where some requests go, whatever is active. Exactly one of `family`, `agent` and `request_class` says which."""

    backend: str
    """The backend that takes them."""
    family: Family = ""
    """Requests for a model of this family."""
    agent: str = ""
    """Requests of a sub-agent: its id, or `*` for each that is not the main one."""
    request_class: str = ""
    """Requests of this kind, as `x-claude-code-request-class` says or as clew sees it: `title`, `probe`, `search`,
    `count_tokens`."""
    model: str = ""
    """The backend's own name of the model to use; by the backend's mapping if left out."""


class ThinkingSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How thinking blocks are treated."""

    foreign: Foreign = "drop"
    """Reasoning that a backend cannot read: left out, said as text, or (`native`) put where its own goes back. Claude takes
    none that is not its own."""
    restore: bool = True
    """Put back what a client dropped, for the models that read it."""
    policy: Literal["origin", "session", "strip"] = "origin"
    """Decide by who made a block, by a count of backend switches, or send no thinking at all."""
    seal: Literal["inline", "reference"] = "inline"
    """What a maker wants back travels in the seal, or stays in the store alone."""
    show_reasoning: Literal["seal", "hide"] = "seal"
    """Whether reasoning from outside Anthropic reaches the client's history."""
    signature: Literal["seal", "empty"] = "seal"
    """What stands for a signature on reasoning in another dialect. Some clients drop a block whose signature is empty."""
    stream_start: Literal["lazy", "eager"] = "lazy"
    """An answer in another dialect begins when the backend says something (`lazy`), or at once with an empty text (`eager`),
    and then there is a ping after each second without an event."""
    orphan_seconds: Seconds = 300
    """With policy `session`: how long a block that never came back is waited for."""


class StoreSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is recorded, and for how long."""

    url: StoreUrl = USUAL_URL
    """`sqlite` keeps a file in the home directory, `sqlite:PATH` another one, `off` nothing. `postgresql://…` is a database
    that several gateways share."""
    content: bool = True
    """Keep what was said, readable; without it only what must go back to its maker."""
    bodies: Bodies = "last:50"
    """Whole requests and answers: `off`, the last N of each principal (`last:N`), those of the last N days (`days:N`),
    `all`."""
    days: Count = 90
    """Recordings that nobody used for so long are forgotten; 0: never."""
    megabytes: Count | None = None
    """Above this the oldest are forgotten; 0: no limit. If left out, it is 4096 for a file on this machine, and there is no
    limit for a database that several gateways share."""

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
    """The listener for clients, and its bounds."""

    host: str = "127.0.0.1"
    """The address to listen on. Others than this machine's own need `hosts`, and a key on every request."""
    port: Port = 2539
    """For clients; The port; 0 chooses a free one."""
    admin_port: Port = 2540
    """For the page and the API of the operator; The port; 0 chooses a free one."""
    hosts: tuple[str, ...] = ()
    """Names, with or without a port, by which clients may call the gateway, beside this machine's own."""
    origins: tuple[str, ...] = ()
    """Web origins that may call it from a browser."""
    workers: Some = 1
    """How many processes share the port."""
    keep_accepting_seconds: Pause = 0
    """After the first signal to end: how long new connections are still taken, while `/readyz` says 503. For a load balancer
    that needs a moment to see that. Then the drain begins."""
    drain_seconds: Seconds = 30
    """How long streams may go on after that."""
    closing_seconds: Seconds = 1
    """After that: for what was cut off to be recorded. Then the process ends, whatever it is doing."""
    ping_seconds: Seconds = 15
    """Silence towards the client after which a ping goes out."""
    max_streams: Some = 500
    """Requests at the same time, in each process; one more gets a 503. Fewer where the process may not open enough
    files."""
    max_body_megabytes: Some = 32
    """The largest request."""
    bodies_megabytes: Count = 0
    """All requests of more than 64 KB together, in each process, from the first byte to the end of the answer. Over it, the
    one that has been coming for the longest time gets a 503. 0: an eighth of the memory, shared by the workers."""
    max_head_kilobytes: Some = 64
    """The largest head of one."""
    max_headers: Some = 100
    """The fields in it."""
    head_seconds: Seconds = 10
    """From the first byte of a request to the end of its head."""
    body_seconds: Seconds = 30
    """Silence inside its body after which it gets a 408."""
    body_rate: Some = 1024
    """Bytes a second that its body must bring on the average, over every `body_seconds`."""
    write_seconds: Seconds = 60
    """A client that took nothing for so long is gone."""
    idle_seconds: Seconds = 75
    """How long a connection may wait for its next request."""
    history_megabytes: Count = 64
    """So much of the last requests is remembered, in each process: then a long history is not read again with each turn."""

    @property
    def seconds_to_drain(self) -> float:
        """From the first signal to the moment at which running answers are cut off."""
        return self.keep_accepting_seconds + self.drain_seconds


class ChatSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The chat server: which pages may call it, and how it asks where a request leaves that open."""

    origins: tuple[WebOrigin, ...] = ()
    """Web origins whose pages may call `/api/chat` with a gateway key, each in full; the admin's own needs no entry."""
    model: str = ""
    """The model of a new chat that names none."""
    system: str = ""
    """The system prompt of a request that has none."""
    thinking: bool = True
    """Ask for thinking that can be shown. A model without it is not asked."""
    effort: str = ""
    """How hard to think, where the request does not say."""
    max_tokens: Some = 16_000
    """The longest answer."""
    on_overflow: Literal["error", "compact"] = "error"
    """A chat that does not fit the model's window any more is refused, or goes on from a summary, on a line of its own."""
    thinking_first: ThinkingFirst = "keep"
    """What becomes of reasoning without a signature, such as that of a chat that began elsewhere. `keep`: no backend gets
    it. `reorder`: backends that take unsigned reasoning get it, in front of a message that calls tools; with
    `thinking.foreign` as `text`, the others get it as text. Claude never gets it as thinking, no signed block is moved, and
    what is stored and shown stays as it is. For conversations of the library too."""
    tools: str = ""
    """A Python file with tools for Chat in the browser: its functions that `clew.tool` marks. A relative path begins beside
    this file. It is run in the gateway, with the gateway's rights, and only for the gateway's owner."""
    max_answers: Some = 16
    """Answers at the same time for each principal; who asks for more gets a 429."""


class LogSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is logged about each request. Keys are never logged."""

    form: Literal["auto", "short", "pairs", "json"] = "auto"
    """How: `short` as `clew log` shows it, `pairs` as key=value, `json` as a line of JSON. `auto`: short on a terminal,
    else JSON."""
    level: Literal["error", "warning", "info", "debug", "trace"] = "info"
    """How much."""
    debug: bool = False
    """The debug section: what was registered, kept and left out. `--debug` and `CLEW_DEBUG=1` switch it on, too."""
    full_body: bool = False
    """With `debug`: whole requests and answers."""
    pretty_print: bool = False
    """With `full_body`: indented."""
    thinking_text: bool = False
    """Show the text of thinking where bodies are shown; hidden otherwise."""
    file: str = ""
    """Write to this file instead of standard error; a relative path begins at the home directory. `clew run` writes to
    `run.log` if none is named."""
    file_megabytes: Some = 8
    """The size at which a file is renamed (`clew.log` to `clew.log.1` …) and a new one begun."""
    older_files: Count = 1
    """How many renamed files are kept."""


class BuildSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is put into requests of clients that leave it open. All off: a request is the client's own."""

    environment: bool = True
    """Take MAX_THINKING_TOKENS and DISABLE_PROMPT_CACHING, _HAIKU, _SONNET and _OPUS from the environment, where `budget`
    and `cache` do not say otherwise."""
    budget: BudgetRules | None = None
    """Thinking by keyword and variable, where the client does not set `thinking`. Without this table, by the variable
    alone."""
    cache: CacheRules | None = None
    """Cache marks, where the client sets none; never more than four, of which a client's later ones are kept."""
    preserve_thinking: bool = False
    """A context edit that asks the vendor to keep all old thinking."""
    display: Display = "as sent"
    """What to ask for where thinking is on and the client left `display` open."""
    forced_tools: Literal["keep", "auto"] = "keep"
    """Where a forced tool is refused: leave it to the vendor to say so, or let the model choose. For clients of OpenAI's
    APIs the model always chooses."""


class RunSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client that `clew run` starts."""

    switch_key: KeyName = "ctrl-]"
    """The key that opens the panel with the backends over the client, on a terminal; pressed twice, the client gets it.
    `off`: no panel, and the client has the terminal itself. Keys that terminals need (`ctrl-c`, `ctrl-z` …) are refused."""


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
