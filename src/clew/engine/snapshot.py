"""Snapshot: all that the operator decided, as one value. A request keeps the one that it began with."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, structs

from clew.backends.credential import Credential
from clew.engine.choices import with_rules
from clew.engine.route import RouteQuery
from clew.exchange.inputs import BackendRoute, ExchangeOptions
from clew.pipeline.step import Options
from clew.settings.values import RoutingRule, Settings, options_of
from clew.thinking.seal import Sealer


class Snapshot(Struct, frozen=True, kw_only=True, eq=False):
    """The settings, what they mean for a projection, the sealing keys, and the backend that is active now."""

    settings: Settings
    options: Options
    chat_options: Options
    """The same for conversations that clew keeps: of the chat server and of the library."""
    exchange: ExchangeOptions
    sealer: Sealer
    active: str
    active_from: str = "the settings"
    """Who chose it: the settings, `clew use`, or `clew use` for this gateway alone."""
    chosen: tuple[RoutingRule, ...] = ()
    """Rules that were chosen while everything runs; the settings' own have them in front."""
    routes: dict[tuple[RouteQuery, Credential], tuple[BackendRoute, ...]]
    """Routes that were worked out already."""
    problem: str = ""
    """Why the settings are not the newest that were written; "" if they are."""


def snapshot_of(
    settings: Settings,
    sealer: Sealer,
    *,
    active: str = "",
    active_from: str = "",
    chosen: tuple[RoutingRule, ...] = (),
    problem: str = "",
) -> Snapshot:
    """With a choice from the store, also for a backend that there is not; without one, as the settings say."""
    if chosen:
        settings = structs.replace(settings, rules=with_rules(chosen, settings.rules))
    options = options_of(settings)
    return Snapshot(
        settings=settings,
        options=options,
        chat_options=structs.replace(options, thinking_first=settings.chat.thinking_first),
        exchange=_exchange_options(settings),
        sealer=sealer,
        active=active or settings.active,
        active_from=active_from if active else "the settings",
        chosen=chosen,
        routes={},
        problem=problem,
    )


def _exchange_options(settings: Settings) -> ExchangeOptions:
    thinking, store = settings.thinking, settings.store
    return ExchangeOptions(
        retry=settings.retry,
        ping_seconds=settings.gateway.ping_seconds,
        first_content_seconds=settings.first_content_seconds,
        by_sessions=thinking.policy == "session",
        eager=thinking.stream_start == "eager",
        seals_by_reference=thinking.seal == "reference",
        blank_signatures=thinking.signature == "empty",
        hides_reasoning=thinking.show_reasoning == "hide",
        keeps_content=store.content,
        keeps_bodies=store.bodies != "off",
    )


def widened(old: Settings, new: Settings) -> Iterator[str]:
    """One sentence for each way in that is new."""
    if new.wants_no_key and not old.wants_no_key:
        yield "every backend uses the client's own credential, so clients on this machine need no gateway key"
    if _takes_client_credential(new) and not _takes_client_credential(old):
        yield f"requests go to {new.active} with the client's own credential"
    for name, before, now in (
        ("gateway.hosts", old.gateway.hosts, new.gateway.hosts),
        ("gateway.origins", old.gateway.origins, new.gateway.origins),
        ("chat.origins", old.chat.origins, new.chat.origins),
    ):
        if added := [each for each in now if each not in before]:
            yield f"{name} has {', '.join(added)} now"


def _takes_client_credential(settings: Settings) -> bool:
    active = settings.backends.get(settings.active)
    return active is not None and active.auth == "passthrough"
