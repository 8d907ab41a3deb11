"""Three gateways on one PostgreSQL in the place of one: each request of a client goes to any of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tests.clients.gateway import KEY, Gateway
from tests.fleet import Fleet
from tests.postgres import prepared_url


class SharedGateways(Gateway):
    """`kill` kills one of them, and the others go on; `start` brings it back."""

    def __init__(self, config: str, variables: Mapping[str, str]) -> None:
        database = prepared_url()
        super().__init__(f'{config}\n[store]\nurl = "{database}"\n', variables)
        self.fleet = Fleet(self.config, self.home, database, environ={"CLEW_KEY": KEY, **variables})

    @property
    def environment(self) -> dict[str, str]:
        """Commands are run beside the first of them."""
        return {**super().environment, **self.fleet.environment(self.fleet.homes[0]), "CLEW_CONFIG": str(self.config)}

    @property
    def pid_file(self) -> Path:
        return self.home / "one.pid"

    @property
    def log_file(self) -> Path:
        """Has a line for each switch that all of them have taken."""
        return self.home / "switches"

    def start(self) -> None:
        if self.fleet.is_running:
            self.fleet.start()
        else:
            self.fleet.__enter__()
            self.port = self.fleet.port
        self.log_file.touch()
        self.pid_file.write_text(str(self.fleet.one()))

    def kill(self) -> None:
        self.fleet.kill()

    def __exit__(self, *given: object) -> None:
        self.choices_file.write_text("\n")
        self._switching.join()
        self.fleet.__exit__(None, None, None)
        self._directory.cleanup()

    def _switch(self) -> None:
        with os.fdopen(os.open(self.choices_file, os.O_RDWR)) as names:
            for name in iter(lambda: names.readline().strip(), ""):
                self.fleet.use(name)
                with self.log_file.open("a") as log:
                    log.write('"backend switch"\n')
