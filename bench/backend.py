"""The backend of the bench: a mock that costs nothing, and an nginx that speaks TLS for it. Neither is measured."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template

from machine import free_port, pin, until_open

__all__ = ["Backend", "mock", "new_backend", "terminator"]

HERE = Path(__file__).parent / "wire"


@dataclass(frozen=True)
class Backend:
    """Where it listens. Without a certificate nobody speaks TLS."""

    port: int
    tls_port: int = 0
    certificate: Path | None = None


@contextmanager
def mock(executable: Path, backend: Backend, answers: Mapping[str, Path]) -> Iterator[None]:
    command = [*pin(1), str(executable), str(backend.port), *(f"{name}={file}" for name, file in answers.items())]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        try:
            if process.stdout.readline() != b"listening\n":
                sys.exit("the mock does not listen")
            yield
        finally:
            process.kill()


@contextmanager
def terminator(nginx: Path | None, folder: Path, backend: Backend) -> Iterator[None]:
    """Speaks TLS for the mock, where there is an nginx and a certificate."""
    if nginx is None or backend.certificate is None:
        yield
        return
    home = folder / "terminator"
    home.mkdir(exist_ok=True)
    given = {"upstream": backend.port, "port": backend.tls_port, "certificate": backend.certificate, "key": _key(backend)}
    (home / "nginx.conf").write_text(Template((HERE / "terminator.conf").read_text()).substitute(given))
    with subprocess.Popen([*pin(1), str(nginx), "-p", str(home), "-c", str(home / "nginx.conf")]) as process:
        try:
            if not until_open(backend.tls_port, 10.0, process):
                sys.exit(f"nothing speaks TLS for the mock:\n{(home / 'terminator-error.log').read_text()[-2000:]}")
            yield
        finally:
            process.terminate()


def _certificate(folder: Path) -> Path | None:
    """For this machine and a day; None where there is no openssl. The key is beside it."""
    made = folder / "certificate.pem"
    subject = ["-subj", "/CN=clew bench", "-addext", "subjectAltName=DNS:localhost"]
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    command = ["openssl", "req", *kind, "-keyout", str(folder / "key.pem"), "-out", str(made), *subject]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        return None
    return made


def new_backend(folder: Path, *, tls: bool) -> Backend:
    made = _certificate(folder) if tls else None
    return Backend(free_port(), free_port(), made)


def _key(backend: Backend) -> Path:
    assert backend.certificate
    return backend.certificate.with_name("key.pem")
