"""Runs `clew` in this process, in a home of its own, without anything of the user's environment."""

from pathlib import Path

from click.testing import CliRunner, Result

from clew.backends.presets import presets
from clew.cli import main

_OURS = ("CLEW_CONFIG", "CLEW_KEY", "CLEW_SECRET", "ANTHROPIC_BASE_URL")
_VENDORS = tuple(variable.name for preset in presets().values() for variable in preset.variables)


class Clew:
    """`clew("config", "check")` in this home; `environ` holds what the command sees beside it."""

    def __init__(self, home: Path, **environ: str) -> None:
        self.home = home
        self.environ = environ

    @property
    def config(self) -> Path:
        return self.home / "clew.toml"

    def write(self, text: str) -> Path:
        self.home.mkdir(mode=0o700, exist_ok=True)
        self.config.write_text(text)
        return self.config

    def __call__(self, *arguments: str) -> Result:
        nothing: dict[str, str | None] = dict.fromkeys((*_OURS, *_VENDORS))
        runner = CliRunner(env=nothing | {"CLEW_HOME": str(self.home)} | self.environ)
        result = runner.invoke(main, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result
