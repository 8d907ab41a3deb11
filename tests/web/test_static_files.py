"""Styles and scripts: kept for good under an address that changes with them."""

import gzip
import re
from pathlib import Path

import pytest

import clew.web
from clew.web.frame import assets, static_prefix
from tests.admin.booth import Booth

pytestmark = pytest.mark.slow

FOLDER = Path(clew.web.__file__).parent / "static"


def test_a_file_of_this_version_is_kept_for_good(kept_booth: Booth) -> None:
    reply = kept_booth.ask(f"{static_prefix()}/clew.css", port=True)
    assert (reply.status, reply.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert reply.raw == (FOLDER / "clew.css").read_bytes()


def test_a_page_of_an_older_version_gets_the_present_file_and_does_not_keep_it(kept_booth: Booth) -> None:
    reply = kept_booth.ask("/static/0123456789ab/clew.css", port=True)
    assert (reply.status, reply.headers["cache-control"]) == (200, "no-cache")


def test_what_pays_is_compressed_for_anyone_who_takes_it(kept_booth: Booth) -> None:
    path = f"{static_prefix()}/clew.css"
    plain, pressed = kept_booth.ask(path), kept_booth.ask(path, headers={"accept-encoding": "br, gzip"})
    assert pressed.headers["content-encoding"] == "gzip"
    assert pressed.headers["vary"] == "accept-encoding"
    assert gzip.decompress(pressed.raw) == plain.raw


def test_a_file_that_the_browser_has_is_not_sent_again(kept_booth: Booth) -> None:
    path = f"{static_prefix()}/dom.js"
    tag = kept_booth.ask(path).headers["etag"]
    again = kept_booth.ask(path, headers={"if-none-match": tag})
    assert (again.status, again.raw) == (304, b"")


@pytest.mark.parametrize("name", ["nothing.css", "..%2f__init__.py", "%2e%2e/table.py", "clew.css%00"])
def test_no_other_file_can_be_had(kept_booth: Booth, name: str) -> None:
    assert kept_booth.ask(f"{static_prefix()}/{name}", port=True).status == 404


def test_modules_name_only_each_other(kept_booth: Booth) -> None:
    """No foreign host, and no name that leads nowhere."""
    for path in FOLDER.glob("*.js"):
        for name in re.findall(r'^(?:import|export)\b.*? from "([^"]+)"', path.read_text(), re.MULTILINE):
            assert name.startswith("./") and name[2:] in assets(), f"{path.name}: {name}"


def test_no_file_takes_html_as_text_or_calls_another_host() -> None:
    """reliability 4.7: elements are built; the one policy for cleaned HTML is in its own module."""
    for path in FOLDER.iterdir():
        text = path.read_text().replace("http://www.w3.org/", "")
        assert not re.search(r"https?://", text), path.name
        assert not re.search(r"\beval\(|new Function|document\.write|insertAdjacentHTML|outerHTML", text), path.name
