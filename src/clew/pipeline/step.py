"""What a step is: a pure function from a request, a target and facts to the request that goes on, and the changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from clew.model.change import Change
from clew.model.recording import Recordings, Shelf
from clew.model.request import Request
from clew.model.target import Target
from clew.pipeline.options import Options
from clew.thinking.recognise import Context
from clew.thinking.seal import Sealer

__all__ = ["Facts", "Step"]

_NOTHING = Shelf()


class Facts(Struct, frozen=True, kw_only=True):
    """What a projection may know besides the request and the target. No clock, no I/O, no hidden state.

    >>> from clew.pipeline.options import Options
    >>> Facts(options=Options(policy="strip")).options.policy
    'strip'
    """

    options: Options = Options()
    recordings: Recordings = _NOTHING
    context: Context = Context()
    sealer: Sealer | None = None
    version: str = "2023-06-01"
    """The API version that the request goes out with; some fields are legal in one only (R2)."""


Step: TypeAlias = Callable[[Request, Target, Facts], tuple[Request, tuple[Change, ...]]]
