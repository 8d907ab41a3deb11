"""A log to look at: records go to a list, or through the real sink to a text."""

from __future__ import annotations

import io
import itertools
import json
import logging
import threading
from functools import partial
from typing import Any

from msgspec import Struct

from clew.engine.log.lines import as_json, line_of
from clew.engine.log.request_log import RequestLog
from clew.engine.log.sink import Sink
from clew.exchange.redact import Redactor

_names = (f"clew.test.{number}" for number in itertools.count())


class Stuck(io.StringIO):
    """A pipe that nobody reads, until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.open = threading.Event(), threading.Event()

    def write(self, text: str) -> int:
        self.reached.set()
        assert self.open.wait(120)
        return super().write(text)


class Wanted(Struct, frozen=True):
    """The settings' `[log]`."""

    level: str = "info"
    debug: bool = False
    full_body: bool = False
    pretty_print: bool = False
    thinking_text: bool = False
    form: str = "auto"


class Written:
    """A request log with its lines. `text` closes it."""

    def __init__(self, *, secrets: tuple[str, ...] = (), known: int = 0, **wanted: Any) -> None:
        asked = Wanted(**wanted)
        self._out = io.StringIO()
        line = partial(line_of, redact=Redactor(secrets), form=as_json, pretty=asked.pretty_print)
        self._sink = Sink(self._out, line)
        self.logger = logging.getLogger(next(_names))
        self.logger.propagate = False
        self.logger.addHandler(self._sink)
        self.log = RequestLog(asked, logger=self.logger, known=known)

    def text(self) -> str:
        self._sink.close()
        return self._out.getvalue()

    def lines(self) -> list[dict[str, Any]]:
        """Each line without its time."""
        lines = [json.loads(line) for line in self.text().splitlines()]
        return [{name: value for name, value in line.items() if name != "at"} for line in lines]
