"""Addresses whose parts anybody may have named."""

import pytest

from clew.web.frame import address


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (address("threads"), "/threads"),
        (address("threads", "a/../b?c#d"), "/threads/a%2F..%2Fb%3Fc%23d"),
        (address("threads", "t", at="", as_="glm", from_=0), "/threads/t?as=glm&from=0"),
        (address("threads", "t", owner="bob & co"), "/threads/t?principal=bob+%26+co"),
        (address("threads", "t", owner="local", at='"><script>'), "/threads/t?at=%22%3E%3Cscript%3E"),
    ],
)
def test_each_part_is_quoted_and_nothing_empty_is_asked_for(made: str, expected: str) -> None:
    assert made == expected
