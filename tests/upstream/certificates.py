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


_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def make_certificate(folder: Path, names: str) -> Certificate:
    """`names` as openssl has them: `DNS:localhost,IP:127.0.0.1`."""
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    _openssl("req", "-x509", *_KEY, "-days", "1", "-keyout", made.key, "-out", made.file, *_for(names))
    return made


def make_expired(folder: Path, names: str) -> Certificate:
    """The same, and over since yesterday."""
    made, asked = Certificate(folder / "old-cert.pem", folder / "old-key.pem"), folder / "asked.pem"
    _openssl("req", "-new", *_KEY, "-keyout", made.key, "-out", asked, *_for(names))
    _openssl(
        "x509", "-req", "-in", asked, "-signkey", made.key, "-days", "-1", "-copy_extensions", "copy", "-out", made.file
    )
    return made


def _for(names: str) -> list[str]:
    return ["-subj", "/CN=clew test", "-addext", f"subjectAltName={names}"]


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=120)
