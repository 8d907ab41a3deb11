"""Three backends of different realms, and a gateway in front of them.

All play the same script, and the turn that is due follows from the history: so whichever is asked goes on where another
stopped, and a script can let the client itself run `sh use b`.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.gateway import Gateway
from tests.clients.witness import Witness

CONFIG = """
active = "a"
{more}
[backends.a]
url = "{a}"
realm = "anthropic"
auth = "key"
key = "${{SIM_KEY}}"

[backends.b]
url = "{b}"
auth = "key"
key = "${{SIM_KEY}}"
model = "beta-1"

[backends.c]
url = "{c}"
auth = "bearer"
key = "${{SIM_KEY}}"
model = "gamma-1"
"""
"""Claude itself, and two vendors that speak its dialect and sign with keys of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a test looks at when a client is done."""

    a: Witness
    b: Witness
    c: Witness
    gateway: Gateway

    def refusals(self) -> list[Any]:
        """What any backend refused: nothing, whatever was switched."""
        return [refusal for witness in (self.a, self.b, self.c) for refusal in witness.refusals()]

    def foreign(self) -> list[str]:
        """Proofs that reached a backend which had not made them."""
        return [proof for witness in (self.a, self.b, self.c) for proof in witness.foreign()]


@contextmanager
def scene(script: str, directory: Path, more: str = "", *, gateway: type[Gateway] = Gateway) -> Iterator[Scene]:
    """Start it all; `more` goes into the gateway's config."""
    with ExitStack() as stack:
        a = stack.enter_context(Witness(script, directory))
        b = stack.enter_context(Witness(script, directory, kind="compat", realm="b"))
        c = stack.enter_context(Witness(script, directory, kind="compat", realm="c"))
        config = CONFIG.format(more=more, a=a.url, b=b.url, c=c.url)
        started = stack.enter_context(gateway(config, {"SIM_KEY": Witness.key}))
        yield Scene(a=a, b=b, c=c, gateway=started)
