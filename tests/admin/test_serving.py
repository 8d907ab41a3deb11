"""The listeners: private from the first moment, gone at the end; and the way in for a browser."""

import asyncio
import signal
import socket
import stat
from pathlib import Path

import pytest

from clew.admin.listening import serve_admin
from clew.engine.hub import Hub
from clew.settings.home import Home
from tests.admin.booth import Booth, present
from tests.manifest import proves

pytestmark = pytest.mark.slow


@proves("fault:X15")
def test_the_socket_is_its_owners_alone(booth: Booth) -> None:
    """reliability 4.1: unix socket, mode 0600, in a directory 0700."""
    assert stat.S_IMODE(booth.admin.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(booth.admin.socket.parent.stat().st_mode) == 0o700


def test_the_port_is_this_machines_alone(booth: Booth) -> None:
    with socket.socket() as probe:
        probe.settimeout(1)
        assert probe.connect_ex(("127.0.0.1", booth.port)) == 0
    assert booth.admin.url == f"http://127.0.0.1:{booth.port}"
    with socket.socket() as other:
        other.bind(("127.0.0.2", booth.port))  # nobody else has it


def test_it_closes_though_somebody_still_listens(tmp_path: Path) -> None:
    booth = Booth(tmp_path / "h").__enter__()
    path, port = booth.admin.socket, booth.port
    with booth.opened("/api/events") as stream:
        assert stream.readline() == b": still here\n"
        booth.__exit__()
        rest = stream.read()
    assert rest == b"\n"
    assert not path.exists()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_it_takes_no_signal_and_leaves_a_busy_port_to_its_owner(tmp_path: Path) -> None:
    """Ending is the gateway's business."""

    async def scene() -> tuple[bool, list[Path]]:
        home = Home(tmp_path / "h")
        current = present(home)
        before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        admin = await serve_admin(current=current, store=None, hub=Hub(), home=home, port=0, name="one")
        same = before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        with pytest.raises(OSError, match="in use"):
            await serve_admin(
                current=current, store=None, hub=Hub(), home=home, port=int(admin.url.rpartition(":")[2]), name="two"
            )
        await admin.close()
        return same, list(home.run.glob("*.sock"))

    assert asyncio.run(scene()) == (True, [])


def test_a_socket_that_a_dead_process_left_is_replaced(tmp_path: Path) -> None:
    home = Home(tmp_path / "h").make()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(home.socket("admin-test")))
    with Booth(tmp_path / "h") as booth:
        assert booth.ask("/healthz").status == 200


@proves("fault:X19")
def test_a_link_logs_a_browser_in_once(booth: Booth) -> None:
    """reliability 4.1: one-time code → HttpOnly, SameSite=Strict cookie."""
    path = booth.admin.login_url.removeprefix(booth.admin.url)
    first, second = (booth.ask(path, port=True) for _ in range(2))
    assert (first.status, first.headers["location"]) == (303, "/")
    attributes = {each.strip().partition("=")[0].lower() for each in first.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite", "path", "max-age"} <= attributes
    assert "samesite=strict" in first.headers["set-cookie"].lower()
    assert (second.status, "set-cookie" in second.headers) == (401, False)


def test_a_link_that_was_used_leads_anyone_who_is_logged_in_to_the_page(booth: Booth) -> None:
    """A tab that a browser opens again has the old address. Nobody else gets in by it, and no session is made."""
    path = booth.admin.login_url.removeprefix(booth.admin.url)
    cookie = {"cookie": booth.ask(path, port=True).headers["set-cookie"].partition(";")[0]}
    again = booth.ask(path, headers=cookie, port=True)
    assert (again.status, again.headers.get("location"), "set-cookie" in again.headers) == (303, "/", False)
    assert booth.ask("/api/session", method="DELETE", headers=cookie, port=True).status == 403
    assert booth.ask(path, headers={"cookie": cookie["cookie"] + "x"}, port=True).status == 401


@proves("fault:X19")
def test_a_session_needs_its_own_csrf_and_ends_when_it_is_left(booth: Booth) -> None:
    """reliability 4.1."""
    one, two = booth.logged_in(), booth.logged_in()
    mixed = {"cookie": one["cookie"], "x-clew-csrf": two["x-clew-csrf"]}
    body = {"backend": "glm"}
    assert booth.ask("/api/use", method="POST", body=body, headers=mixed, port=True).status == 403
    assert booth.ask("/api/use", method="POST", body=body, headers=one, port=True).status == 200
    assert booth.ask("/api/session", method="DELETE", headers=one, port=True).json == {"session": "ended"}
    assert booth.ask("/api/status", headers=one, port=True).status == 401
    assert booth.ask("/api/status", headers=two, port=True).status == 200


@proves("fault:X19")
@proves("fault:X19")
def test_a_browser_stays_in_when_the_gateway_is_started_again(booth: Booth) -> None:
    """With its value for changes; one that left before stays out, and links from before open nothing."""
    stays, left, link = booth.logged_in(), booth.logged_in(), booth.admin.login_url.removeprefix(booth.admin.url)
    assert booth.ask("/api/session", method="DELETE", headers=left, port=True).status == 200
    booth.restart()
    assert booth.ask("/api/use", method="POST", body={"backend": "glm"}, headers=stays, port=True).status == 200
    assert booth.ask("/api/status", headers=left, port=True).status == 401
    assert booth.ask(link, port=True).status == 401


def test_a_cookie_that_was_not_given_out_opens_nothing(booth: Booth) -> None:
    """X19: a session cannot be fixed from outside."""
    name = booth.logged_in()["cookie"].partition("=")[0]
    for value in ("", "x", "None"):
        assert booth.ask("/api/status", headers={"cookie": f"{name}={value}"}, port=True).status == 401


def test_the_owner_can_ask_for_a_new_link(booth: Booth) -> None:
    url = booth.ask("/api/login", method="POST", body={}).json["url"]
    assert booth.ask(url.removeprefix(booth.admin.url), port=True).status == 303
