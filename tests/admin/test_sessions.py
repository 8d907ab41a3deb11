"""Sessions outlive the gateway, end in time or when they are left, and the file about them opens nothing."""

import stat
from pathlib import Path

import pytest
from starlette.requests import Request

from clew.admin.access import MOST_SESSIONS, SESSION_SECONDS, BrowserSessions
from clew.admin.routing import cookie_name
from tests.manifest import proves

PLACE = "http://127.0.0.1:7007"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home / "sessions.json"


@pytest.mark.parametrize("kept", [False, True])
def test_a_session_ends_by_itself_or_when_it_is_left(path: Path, kept: bool) -> None:
    clock = Clock()
    sessions = BrowserSessions(path if kept else None, PLACE, clock)
    left, stays = sessions.begin(), sessions.begin()
    sessions.end(left)
    assert (sessions.find(left), sessions.find(stays) is not None) == (None, True)
    clock.now += SESSION_SECONDS
    assert sessions.find(stays) is None


@pytest.mark.parametrize("kept", [False, True])
def test_sessions_are_bounded_and_the_oldest_goes(path: Path, kept: bool) -> None:
    """reliability 3.7."""
    sessions = BrowserSessions(path if kept else None, PLACE)
    secrets = [sessions.begin() for _ in range(MOST_SESSIONS + 1)]
    assert [sessions.find(secret) is not None for secret in secrets] == [False, *([True] * MOST_SESSIONS)]


@proves("fault:X19")
def test_a_session_is_known_after_a_new_start_and_one_that_was_ended_is_not(path: Path) -> None:
    first = BrowserSessions(path, PLACE)
    left, stays = first.begin(), first.begin()
    first.end(left)
    again = BrowserSessions(path, PLACE)
    assert (again.find(left), again.find(stays)) == (None, first.find(stays))


@proves("fault:X19")
def test_the_cookie_has_a_name_for_each_port_so_that_two_admins_do_not_take_each_others() -> None:
    """Browsers send a cookie to every port of a host, and keep one for each name."""
    scopes = [{"type": "http", "server": ("127.0.0.1", port), "headers": []} for port in (2540, 2541)]
    assert [cookie_name(Request(scope)) for scope in scopes] == ["clew_session_2540", "clew_session_2541"]


@proves("fault:X19")
def test_a_session_of_one_admin_opens_no_other_of_the_same_home(path: Path) -> None:
    """It could not be ended from there; and neither forgets the other's."""
    one, other = BrowserSessions(path, PLACE), BrowserSessions(path, "http://127.0.0.1:7008")
    mine, theirs = one.begin(), other.begin()
    assert (other.find(mine), one.find(theirs)) == (None, None)
    assert BrowserSessions(path, "http://127.0.0.1:7008").find(mine) is None
    assert BrowserSessions(path, PLACE).find(mine) is not None


@proves("fault:X19")
def test_the_file_is_private_and_holds_neither_the_secret_nor_the_value_for_changes(path: Path) -> None:
    sessions = BrowserSessions(path, PLACE)
    secret = sessions.begin()
    found = sessions.find(secret)
    assert found is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [part for part in (secret, found.csrf) if part in path.read_text()] == []


@pytest.mark.parametrize("spoil", ["{", '{"until": 3}', None])
def test_a_file_that_cannot_be_used_lets_nobody_in_and_keeps_nobody_out(path: Path, spoil: str | None) -> None:
    """Broken, or readable by others: what was in it is not believed."""
    before = BrowserSessions(path, PLACE).begin()
    if spoil is None:
        path.chmod(0o644)
    else:
        path.write_text(spoil)
    sessions = BrowserSessions(path, PLACE)
    assert sessions.find(before) is None
    after = sessions.begin()
    assert BrowserSessions(path, PLACE).find(after) is not None


def test_a_home_that_cannot_be_written_keeps_nobody_out(path: Path) -> None:
    path.parent.chmod(0o777)
    sessions = BrowserSessions(path, PLACE)
    assert sessions.find(sessions.begin()) is not None
    assert not path.exists()
