"""The values that a gateway and a conversation elsewhere exchange, and exceptions as values.

Messages and blocks travel as their own bytes, so they are the same on both sides, to the last space. Keys, strands and
places stay in the store: only the gateway needs them. An exception travels as its class and its attributes, and is raised as
the same exception on the other side.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Raw, Struct

from clew import errors
from clew.chat.request import Wishes
from clew.chat.turns import StoredTurn
from clew.errors import BackendBroken, BackendOverloaded, BodyTooLarge, ClewError, RequestInvalid, SettingsInvalid
from clew.model.origin import Origin
from clew.model.recording import AnswerContent, Recording, Strand
from clew.model.turn import Exchange
from clew.store.values import Passage, Thread

TURN: Final = "turn"
"""The first event of an answer: the question is stored."""
THINKING: Final = "thinking"
TEXT: Final = "text"
CALL: Final = "call"
END: Final = "end"
"""The last event: the turn with its outcome, and the error if it is not whole."""

_NO_ORIGIN = Origin("", "", "", "")
_KINDS: Final = {name: kind for name in errors.__all__ if issubclass(kind := getattr(errors, name), ClewError)}

_WHERE: Final = "is this its address, and not the one for clients? `clew status --json` has both"
_BUSY: Final = (429, 503)
_BY_STATUS: Final[dict[int, type[ClewError]]] = {400: RequestInvalid, 404: RequestInvalid, 413: BodyTooLarge}
"""The exception for a status whose body is no exception; any other status means that access is refused."""


# Exceptions


class RemoteError(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An exception of clew: `holds` are its attributes (a status, a phase, a JSON path), `body` the backend's own answer."""

    kind: str
    message: str
    holds: dict[str, str | int | float | None] = {}
    body: bytes | None = None


class _ErrorBody(Struct):
    error: RemoteError


class _Problem(Struct):
    what: str
    why: str = ""
    next: str = ""


class _ProblemBody(Struct):
    error: _Problem


def remote_error_of(error: BaseException) -> RemoteError:
    """The exception as a value. An exception that is not clew's own is a fault of clew, and is sent without details."""
    if not isinstance(error, ClewError):
        return RemoteError(kind=ClewError.__name__, message=f"the gateway failed: {type(error).__name__}")
    held = {name: value for name, value in vars(error).items() if isinstance(value, str | int | float | None)}
    return RemoteError(kind=type(error).__name__, message=str(error), holds=held, body=vars(error).get("body"))


def error_of(value: RemoteError) -> ClewError:
    """The exception again. A class that is not known here becomes a ClewError."""
    kind = _KINDS.get(value.kind, ClewError)
    error = kind.__new__(kind, value.message)  # each class has an `__init__` of its own
    vars(error).update(value.holds)
    if value.body is not None:
        vars(error)["body"] = value.body
    return error


def refusal_of(status: int, body: bytes, retry_after: str = "") -> ClewError:
    """The exception for a gateway's refusal: its own exception, an overload, or a refused access."""
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        return error_of(msgspec.json.decode(body, type=_ErrorBody).error)
    with suppress(msgspec.MsgspecError, UnicodeDecodeError):
        problem = msgspec.json.decode(body, type=_ProblemBody).error
        words = ": ".join(filter(None, ("the gateway", problem.what, problem.why)))
        if status in _BUSY:
            wait = float(retry_after) if retry_after.isdecimal() else None
            return BackendOverloaded(words, status=status, retry_after=wait)
        return _BY_STATUS.get(status, SettingsInvalid)(words)
    return BackendBroken(f"no gateway's admin answers so ({status}); {_WHERE}")


# Turns


class RemoteTurn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn, with its question and its answer."""

    id: str
    at: float
    follows: str = ""
    asked: tuple[Raw, ...] = ()
    answer: tuple[Raw, ...] = ()
    """The maker's own blocks, complete or not."""
    calls: tuple[str, ...] = ()
    """The safe ids of the answer's tool calls, in order: results refer to these."""
    origin: Origin = _NO_ORIGIN
    whole: bool = False
    exchange: Exchange | None = None


class AvailableBackends(Struct, frozen=True, kw_only=True):
    """The backends, each with its default model, and the active one."""

    backends: dict[str, str]
    active: str


class OpenedThread(Struct, frozen=True, kw_only=True):
    """A conversation as it is now. `turns` is None if the caller knows all of them."""

    thread: Thread
    turns: tuple[RemoteTurn, ...] | None
    place: AvailableBackends


class TurnBegun(Struct, frozen=True):
    """The event that says that the question is stored."""

    thread: Thread
    turn: RemoteTurn


class RemoteQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question. `session` and `agent` are for a new thread."""

    asked: tuple[Raw, ...]
    model: str
    follows: str = ""
    backend: str = ""
    wishes: Wishes = Wishes()
    session: str = ""
    agent: str = ""


class CallMark(Struct, frozen=True, forbid_unknown_fields=True):
    """The turn whose calls were begun ("" for none), by which run of an agent, and whether that run is known to be active.

    To begin calls, a caller names the earlier run that it found, and how many turns it knows to follow this one; without
    that number the mark is set whatever others did.
    """

    turn: str
    run: str = ""
    was: str = ""
    followers: int | None = None
    lives: bool = False


class TurnEnded(Struct, frozen=True):
    """The last event: the turn with its outcome."""

    turn: RemoteTurn
    trouble: RemoteError | None = None


def remote_turn_of(stored: StoredTurn) -> RemoteTurn:
    """The turn for the other side."""
    passage, recording = stored.passage, stored.passage.recording
    return RemoteTurn(
        id=stored.id,
        at=stored.at,
        follows=stored.follows,
        asked=tuple(map(Raw, passage.asked)),
        answer=tuple(map(Raw, recording.blocks)) if recording else (),
        calls=recording.said.ids if recording else (),
        origin=recording.origin if recording else _NO_ORIGIN,
        whole=recording.whole if recording else False,
        exchange=stored.exchange,
    )


def stored_turn_of(turn: RemoteTurn, thread: Thread) -> StoredTurn:
    """The turn on this side. Fields of its recording that only the store needs are empty."""
    recording = Recording(
        id=turn.id,
        principal=thread.principal,
        origin=turn.origin,
        blocks=tuple(map(bytes, turn.answer)),
        keys=(),
        said=AnswerContent(ids=turn.calls),
        place=b"",
        strand=Strand(),
        followed=turn.follows or None,
        session=thread.session,
        agent=thread.agent,
        thread=thread.id,
        whole=turn.whole,
    )
    asked = tuple(map(bytes, turn.asked))
    return StoredTurn(Passage(exchange=turn.id, at=turn.at, asked=asked, recording=recording), turn.exchange)
