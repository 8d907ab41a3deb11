"""The life of each block in the log of a gateway that runs as a process of its own."""

import json
from typing import Any

import pytest

from clew.testing import Simulator
from tests.gateway.served import Served
from tests.manifest import proves, public
from tests.waiting import until

pytestmark = pytest.mark.slow

END = b"0\r\n\r\n"


def config(vendor: Simulator, log: str) -> str:
    row = f'[backends.deepseek]\npreset = "deepseek"\ndialect = "openai-chat"\nurl = "{vendor.url}/v1"\nkey = "{vendor.key}"'
    return f'active = "deepseek"\n[gateway]\nadmin_port = 0\n[retry]\nretries = 0\n[log]\nform = "json"\n{log}\n{row}\n'


def lines(gateway: Served, requests: int) -> list[Any]:
    """All lines of the log, once these requests have theirs."""
    file = gateway.config.parent / "log"

    def written() -> list[Any]:
        return [json.loads(line) for line in file.read_text().splitlines() if line.startswith("{")]

    until(lambda: sum(line.get("event") == "request" for line in written()) == requests)
    return written()


def lives(gateway: Served, requests: int = 1) -> list[tuple[str, str, int]]:
    """Event, state and index of the lines about blocks."""
    found = (line for line in lines(gateway, requests) if "state" in line and "index" in line)
    return [(line["event"], line["state"], line["index"]) for line in found]


@public("gateway")
@proves("req:S3-35", "req:S3-36")
def test_debugging_shows_each_block_started_and_stopped_and_where_one_broke_off() -> None:
    """S3-35, S3-36: phrases to search for, and fields to read by a program."""
    with Simulator(kind="deepseek-chat") as vendor, Served(config(vendor, 'level = "debug"\ndebug = true')) as gateway:
        gateway.ask("[[scenario:thinking]] Why?").read_until(END)
        assert lives(gateway) == [
            ("Started thinking block", "started", 0),
            ("Closed thinking block, transitioning to content", "stopped", 0),
            ("Started text block", "started", 1),
            ("Closed text block", "stopped", 1),
        ]
        counts = [line["delta_count"] for line in lines(gateway, 1) if line.get("state") == "stopped"]
        assert len(counts) == 2 and min(counts) > 0
        vendor.fault("cut before=finish how=rst")
        gateway.ask("[[scenario:thinking]] Why?").read_until(b"event: error")
        assert lives(gateway, 2)[-1] == ("Broke off text block", "stopped", 1)


@public("gateway")
@proves("req:S3-35")
def test_without_debugging_there_is_no_line_about_a_block() -> None:
    with Simulator(kind="deepseek-chat") as vendor, Served(config(vendor, 'level = "trace"')) as gateway:
        gateway.ask("[[scenario:thinking]] Why?").read_until(END)
        assert lives(gateway) == []
