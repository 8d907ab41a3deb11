"""What every dialect can do for the engine, as values and one interface."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Final, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.call import Call, Kind
from clew.engine.dialects.refused import Refused
from clew.http.client.message import Headers
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.request import Request
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.relay import Relays
from clew.pipeline.stream.traced import Tell

__all__ = ["KEEP", "NO_HINTS", "UNSAID", "Dialect", "Hints", "Recalled", "Remembered", "Repair", "Written"]


class Written(NamedTuple):
    """A projected request in the backend's words, and what became of the rest."""

    body: bytes
    changes: tuple[Change, ...] = ()


class Hints(Struct, frozen=True, kw_only=True, eq=False):
    """What an answer in another dialect must know of its exchange."""

    call: Call
    exchange: str
    model: str
    """The name that the client asked for."""
    input_tokens: int = 0
    """About how large the conversation is: a stream says so before anybody has counted."""
    eager: bool = False
    """The answer begins at once, with an empty text."""
    own_ids: bool = True
    """Calls keep the backend's ids: somebody behind makes them safe."""
    unsaid: Callable[[str], object] = str
    """Is told of every kind of part that the client does not get."""
    tell: Tell | None = None
    """Follows the life of the blocks."""
    keep: bool = True
    """What came is kept in the backend's own words."""
    blocks: bool = True
    """What the answer says is wanted at its end. Else only what is said about it, and a stream takes no memory."""

    def saying(self, blocks: bool) -> Hints:
        """The same for whoever wants blocks, or none; those of most answers are the same for all."""
        return UNSAID if self is NO_HINTS and not blocks else replace(self, blocks=blocks)


NO_HINTS: Final = Hints(call=Call(body=b""), exchange="", model="", keep=False)
UNSAID: Final = Hints(call=Call(body=b""), exchange="", model="", keep=False, blocks=False)
"""The same, and nobody asks at its end what was said."""
KEEP: Final = Hints(call=Call(body=b""), exchange="", model="")
"""For the client's own dialect, which needs no more: whether what came is kept."""


class Repair(NamedTuple):
    """The dialect with which a refused request is written again, and why."""

    dialect: Dialect
    change: Change


class Remembered(NamedTuple):
    """What went to a backend, and what the answer's strand has to tell of its form."""

    request: Request
    marks: tuple[bytes, ...] = ()
    """Of repairs (`thinking.repairs`)."""
    lighter: tuple[bytes, ...] = ()
    """The keys of thoughts in it that are only the rest of one."""


class Recalled(NamedTuple):
    """The dialect as the last answer was asked for in it, and what is weaker about it."""

    dialect: Dialect
    changes: tuple[Change, ...]


class Dialect(Protocol):
    """Made for one backend and one model. A value: a repair is another one."""

    @property
    def counts(self) -> bool:
        """Whether the backend counts tokens when it is asked to."""
        ...

    @property
    def translates(self) -> bool:
        """Whether its answers are not what the client reads."""
        ...

    @property
    def remembers(self) -> bool:
        """Whether the strand of an answer bears marks of how it was asked for."""
        ...

    def path(self, call: Call) -> str:
        """What is appended to the backend's base, with the query."""
        ...

    def headers(self, call: Call, going: Request) -> tuple[tuple[bytes, bytes], ...]:
        """What goes along, besides the credential."""
        ...

    def written(self, request: Request) -> Written:
        """Raises Unrepresentable, RequestInvalid."""
        ...

    def relay(self, dress: Dress, hints: Hints) -> Relays:
        """For a stream."""
        ...

    def message(self, raw: bytes, hints: Hints, kind: Kind) -> JsonObject | Refused | None:
        """A whole answer as a message of the Messages API; the no that it says; None if it is no answer at all."""
        ...

    def told(self, refused: Refused) -> Refused:
        """A no in the words that the client reads."""
        ...

    def passed(self, headers: Headers, wall: float) -> list[tuple[str, str]]:
        """What of the backend's headers the client is told. `wall` is the time of day."""
        ...

    def repair(self, refused: Refused, going: Request, sent: bytes) -> Repair | None:
        """What to try after this no, where writing `going` otherwise than it was `sent` may help."""
        ...

    def healed(self) -> Dialect:
        """The same after thinking was left out because it was refused."""
        ...

    def recalled(self, row: Container[bytes], in_loop: bool) -> Recalled | None:
        """As the answer with this strand was asked for, where that was in a weaker form; `in_loop`: its loop goes on."""
        ...

    def remembered(self, going: Request) -> Remembered:
        """What was said of `going` in the end, and how it was written."""
        ...
