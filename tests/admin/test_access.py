"""Codes work once and not for long; nothing is kept that could be used."""

from clew.admin.access import CODE_SECONDS, MOST_CODES, AdminAccess


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_code_opens_one_session() -> None:
    """reliability 4.1: one-time code, exchanged for a cookie."""
    access = AdminAccess()
    code = access.new_code()
    secret = access.log_in(code)
    assert secret is not None
    assert access.session(secret) is not None
    assert access.log_in(code) is None


def test_each_session_has_its_own_secret_and_its_own_csrf() -> None:
    """X19: no session is fixed from outside."""
    access = AdminAccess()
    first, second = (access.log_in(access.new_code()) for _ in range(2))
    assert first and second and first != second
    one, two = access.session(first), access.session(second)
    assert one and two and one.csrf != two.csrf


def test_a_code_gets_too_old() -> None:
    clock = Clock()
    access = AdminAccess(clock=clock)
    code = access.new_code()
    clock.now += CODE_SECONDS
    assert access.log_in(code) is None


def test_codes_are_bounded() -> None:
    """reliability 3.7."""
    access = AdminAccess()
    codes = [access.new_code() for _ in range(MOST_CODES + 1)]
    assert access.log_in(codes[0]) is None
    assert access.log_in(codes[1]) is not None


def test_the_token_is_new_each_time_unless_it_is_given() -> None:
    assert AdminAccess().token != AdminAccess().token
    given = AdminAccess("mine")
    assert (given.holds_token("mine"), given.holds_token("mine "), given.holds_token("")) == (True, False, False)
    assert (AdminAccess().holds_token(""), AdminAccess().session("")) == (False, None)
