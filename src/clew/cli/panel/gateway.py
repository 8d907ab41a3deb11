"""What the panel shows of a gateway, and how it switches the backend there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from clew.cli.panel.view import PanelBackend, PanelFacts, PanelSwitch
from clew.errors import ClewError

if TYPE_CHECKING:
    from clew.engine.current import Current
    from clew.gateway.client import RunSummary


class PanelGateway:
    """The gateway of one run. `summary` counts what became of its thinking blocks."""

    def __init__(self, current: Current, summary: RunSummary) -> None:
        self._current = current
        self._summary = summary
        self._active = current.snapshot.active
        self._switches: list[PanelSwitch] = []
        self._has_chosen = False

    @contextmanager
    def following(self) -> Generator[None]:
        """In this block every switch is noted, also one by `clew use`. At the end the choice of this run is taken back: its
        gateway is gone then, and another one may get its name."""
        try:
            with self._current.attend(self._note_switch):
                yield
        finally:
            if self._has_chosen:
                with suppress(ClewError, TimeoutError):  # the client's own exit code matters more
                    self._current.choose(None)

    def facts(self) -> PanelFacts:
        settings = self._current.settings
        usable = [PanelBackend(name=each.name, model=each.model) for each in settings.backends.values()]
        disabled = [PanelBackend(name=each.name, disabled=each.says) for each in settings.disabled.values()]
        return PanelFacts(
            gateway=self._current.gateway,
            active=self._current.snapshot.active,
            backends=(*usable, *disabled),
            switches=tuple(self._switches),
            thinking=self._summary.thinking(),
        )

    async def switch(self, backend: str) -> str:
        """Use this backend from now on, in this run alone; what was done, in words."""
        self._has_chosen = True
        try:
            await asyncio.to_thread(self._current.choose, backend)
        except (ClewError, TimeoutError) as error:
            return f"{backend} could not be chosen: {error}"
        self._note_switch()
        active = self._current.snapshot.active
        return f"{active} is active for this run, from the next request on."

    def _note_switch(self) -> None:
        before, self._active = self._active, self._current.snapshot.active
        if before != self._active:
            self._switches.append(PanelSwitch(at=time.time(), before=before, after=self._active))
