"""What new settings let in that the old ones did not. Such a change is allowed, but it is said in the log."""

from __future__ import annotations

from collections.abc import Iterator

from clew.settings.values import Settings


def widened(old: Settings, new: Settings) -> Iterator[str]:
    """One sentence for each way in that is new."""
    if new.wants_no_key and not old.wants_no_key:
        yield "every backend takes the client's own credential, so clients on this machine need no gateway key"
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
