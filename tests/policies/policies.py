"""Four ways to treat thinking in a gateway.

Each gets what the client sends and says what goes to the backend; each gets what the backend answered and says what the client
holds of it. Three of them are known from other gateways and are kept as plain as they are there; *origin* is clew's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from clew.model.blocks import FILLER, made
from clew.model.facts.models import profile_for
from clew.model.origin import Target
from clew.model.recording import Shelf
from clew.model.request import Request
from clew.pipeline.heal import Remedy, heal, refusal_in
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.simulator.interfaces import VendorRefusal
from clew.thinking.recognise import Context
from clew.thinking.record import recording_of
from clew.thinking.registry.table import ThinkingRegistry
from clew.thinking.seal import Seal, Sealer
from clew.wire.requests import encode, parse
from tests.build import Json, text
from tests.identity.answers import THINKING
from tests.identity.client import ClaudeCode
from tests.policies.vendors import Vendor


class Policy(Protocol):
    def going(self, body: Json, client: ClaudeCode, vendor: Vendor) -> bytes:
        """What the backend gets."""
        ...

    def corrected(self, violation: VendorRefusal) -> bytes | None:
        """What it gets after a refusal; None if the refusal is the client's to see."""
        ...

    def held(self, blocks: list[Json], *, whole: bool) -> list[Json]:
        """What the client gets of an answer to what went last."""
        ...

    def restarts(self) -> None:
        """The gateway's process ends and begins again."""
        ...


class Strip:
    """Leaves out the blocks that `unwanted` names, and remembers nothing."""

    def __init__(self, unwanted: Callable[[Json], bool]) -> None:
        self._unwanted = unwanted

    def going(self, body: Json, client: ClaudeCode, vendor: Vendor) -> bytes:
        messages = [self._relieved(message) for message in body["messages"]]
        return _sent({**body, "messages": messages}, vendor)

    def _relieved(self, message: Json) -> Json:
        if message["role"] != "assistant":
            return message
        rest = [block for block in message["content"] if block["type"] not in THINKING or not self._unwanted(block)]
        return {**message, "content": rest or [text(FILLER)]}

    def corrected(self, violation: VendorRefusal) -> None:
        return None

    def held(self, blocks: list[Json], *, whole: bool) -> list[Json]:
        return blocks

    def restarts(self) -> None:
        pass


class Session:
    """The registry of document 001: what the current backend made since it became the current one."""

    SECONDS_BETWEEN_REQUESTS = 10.0

    def __init__(self) -> None:
        self.restarts()

    def going(self, body: Json, client: ClaudeCode, vendor: Vendor) -> bytes:
        self._now += self.SECONDS_BETWEEN_REQUESTS
        self._registry.notify_backend(vendor.name)
        filtered: Any = self._registry.filter_request(body, self._now).body
        return _sent(filtered, vendor)

    def corrected(self, violation: VendorRefusal) -> None:
        return None

    def held(self, blocks: list[Json], *, whole: bool) -> list[Json]:
        self._registry.register_blocks(blocks, self._now)
        return blocks

    def restarts(self) -> None:
        self._registry = ThinkingRegistry()
        self._now = 0.0


class OriginPolicy:
    """clew: recordings, strands, seals and heals, on a store that outlives the process."""

    SEALER = Sealer({"k1": b"p" * 32}, "k1")

    def __init__(self) -> None:
        self._shelf = Shelf()
        self._ids = itertools.count(1)
        self._asked: Request
        self._going: Request
        self._target: Target
        self._context = Context()
        self._tried: tuple[Remedy, ...] = ()

    def going(self, body: Json, client: ClaudeCode, vendor: Vendor) -> bytes:
        self._context = Context(session=client.session, agent=client.agent)
        self._origin = vendor.origin(client.model)
        self._target = Target(
            backend=vendor.name,
            model=self._origin.model,
            realm=self._origin.realm,
            account="me",
            profile=profile_for(self._origin.model),
        )
        self._asked = parse(msgspec.json.encode(body))
        self._tried = ()
        self._going = project(self._asked, self._target, self._facts()).request
        return encode(self._going)

    def corrected(self, violation: VendorRefusal) -> bytes | None:
        refusal = refusal_in(violation.status, violation.message)
        healed = heal(self._going, refusal, self._target, self._facts(), self._tried) if refusal else None
        if healed is None:
            return None
        self._tried = (*self._tried, healed.remedy)
        self._going = healed.request
        return encode(self._going)

    def held(self, blocks: list[Json], *, whole: bool) -> list[Json]:
        held = [self._sealed(index, block) for index, block in enumerate(blocks)]
        recording = recording_of(
            f"r{next(self._ids)}",
            asked=self._asked,
            going=self._going,
            blocks=[msgspec.json.encode(block) for block in blocks],
            held=[made(block) for block in held],
            origin=self._origin,
            shelf=self._shelf,
            context=self._context,
            whole=whole,
        )
        self._shelf.add(recording)
        return held

    def restarts(self) -> None:
        """The recordings are in the store."""

    def _sealed(self, index: int, block: Json) -> Json:
        field = {"thinking": "signature", "redacted_thinking": "data"}.get(block["type"])
        if field is None or self._target.binding:
            return block
        seal = Seal("local", self._origin, f"x{next(self._ids)}", index, block[field].encode())
        return {**block, field: self.SEALER.mint(seal, block.get("thinking", ""))}

    def _facts(self) -> Facts:
        return Facts(recordings=self._shelf, context=self._context, sealer=self.SEALER)


def _sent(body: Json, vendor: Vendor) -> bytes:
    return msgspec.json.encode({**body, "model": vendor.model or body["model"]})


POLICIES: dict[str, Callable[[], Policy]] = {
    "strip all": lambda: Strip(lambda block: True),
    "strip unsigned": lambda: Strip(lambda block: not (block.get("signature") or block.get("data"))),
    "session registry": Session,
    "origin": OriginPolicy,
}
