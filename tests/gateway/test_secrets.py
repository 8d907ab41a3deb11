"""What an operator, or anyone who reads over the shoulder, gets to see of a request: never what opened a door.

Each secret is another word that nothing else holds, in a place where clients, proxies before us and vendors put such things.
"""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clew.store.sqlite.store import SqliteStore
from clew.testing import Simulator
from tests.admin.booth import Unix
from tests.gateway.served import KEY, Served, backend
from tests.waiting import until

pytestmark = pytest.mark.slow

CONFIG = 'active = "claude"\n[gateway]\nadmin_port = 0\n[store]\nbodies = "all"\n'
HEADERS = {
    "authorization": f"Bearer {KEY}",
    "x-clew-key": KEY,
    "x-api-key": "canary-api-key",
    "cookie": "session=canary-cookie",
    "proxy-authorization": "Basic canary-proxy",
    "x-team-note": "Bearer canary-bearer",
    "x-goog-iap-jwt-assertion": "canary-assertion",
    "x-first-url": "https://me:canary-password@host.example/?key=canary-query",
    "user-agent": "a client with sk-ant-canary-agent",
}
SECRET = re.compile(rf"canary-\w+|{KEY}|sim-test-key")
FAULTS = (
    "status 401 message='no such key: sim-test-key, nor authorization: Bearer canary-status'",
    "error authentication_error message='no such key: sim-test-key' content=1",
)


@pytest.fixture
def gateway() -> Iterator[Served]:
    with Simulator() as vendor, Served(CONFIG + backend("claude", vendor.url, 'realm = "anthropic"\n')) as served:
        asked(served)
        for fault in FAULTS:
            vendor.fault(fault)
            asked(served)
        yield served


def asked(served: Served) -> None:
    """One request with all of it, from its beginning to its end."""
    wire = served.request()
    line, _, rest = wire.partition(b"\r\n")
    own = b"\r\n".join(field for field in rest.split(b"\r\n") if not field.startswith(b"x-api-key"))
    more = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items()).encode()
    line = line.replace(b"?beta=true", b"?beta=true&key=canary-target")
    served.peer().send(line + b"\r\n" + more + b"connection: close\r\n" + own).read_to_end()


def shown(served: Served, path: str) -> str:
    with closing(Unix(Path(served.told["socket"]))) as line:
        line.request("GET", path)
        return line.getresponse().read().decode()


def test_no_credential_is_shown_anywhere(gateway: Served) -> None:
    until(lambda: len(json.loads(shown(gateway, "/api/exchanges"))["exchanges"]) == 1 + len(FAULTS))
    exchanges = json.loads(shown(gateway, "/api/exchanges"))["exchanges"]
    whole = exchanges[-1]["id"]
    until(lambda: json.loads(shown(gateway, f"/api/exchanges/{whole}"))["heads"])
    pages = ["/api/exchanges", "/", "/api/status", f"/api/threads/{exchanges[-1]['thread']}"]
    pages += [f"{place}/{each['id']}" for each in exchanges for place in ("/api/exchanges", "/exchanges")]
    seen = {page: shown(gateway, page) for page in pages}
    commands = (("log",), ("log", "--json"), ("status",), ("show", "last"), ("show", "last", "--json"), ("export", "last"))
    seen |= {" ".join(command): gateway.clew(*command).stdout for command in commands}
    seen |= {"the log": (gateway.home / "log").read_text()}
    assert all(seen.values())
    assert {page: found for page, text in seen.items() if (found := sorted(set(SECRET.findall(text))))} == {}


def test_the_store_keeps_none_of_those_that_clients_sent(gateway: Served) -> None:
    """Whatever is shown later, by whichever version."""
    gateway.signal()
    assert gateway.ended() == 0
    with SqliteStore(gateway.home / "clew.db") as store:
        kept = [store.bodies("local", each.id) for each in store.exchanges("local", limit=10)]
    heads = [str((each.heads.asked, each.heads.sent, each.heads.target)) for each in kept if each]
    assert heads
    assert [found for head in heads if (found := SECRET.findall(head))] == []
