"""Certificates that openssl makes for one test run: valid for a day, trusted by nobody else."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate and its key."""

    file: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """For a server."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file, self.key)
        return context


def make_certificate(folder: Path, names: str) -> Certificate:
    """`names` as openssl has them: `DNS:localhost,IP:127.0.0.1`."""
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "1",
    ]
    command += [
        "-keyout",
        str(made.key),
        "-out",
        str(made.file),
        "-subj",
        "/CN=clew test",
        "-addext",
        f"subjectAltName={names}",
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    return made
