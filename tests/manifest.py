"""Ties tests to the ids that they prove.

`proves` names requirements (`req:S0-6`), rules (`rule:R33.empty-signature`), conflicts (`conflict:C-7`); `accepts` and
`refuses` name the rule that a test shows from its legal and from its illegal side. `public` names the surfaces of users that a
test goes through. The marks are collected by `tests/test_manifest.py`, which fails for an id that no test names, for a name that
is no id, and for a requirement that no public test proves.
"""

import pytest

SURFACES = {
    "gateway": "a real listener over a socket",
    "cli": "the command, as a process or by its entry point",
    "library": "the names of `clew.__all__`, and no others",
    "page": "the admin's API or its web pages",
    "docs": "an example of the documentation, executed",
}
"""What users have."""


def proves(*ids: str) -> pytest.MarkDecorator:
    return pytest.mark.proves(*ids)


def accepts(*ids: str) -> pytest.MarkDecorator:
    return pytest.mark.accepts(*ids)


def refuses(*ids: str) -> pytest.MarkDecorator:
    return pytest.mark.refuses(*ids)


def public(*surfaces: str) -> pytest.MarkDecorator:
    """The test reaches what it proves through one or more of `SURFACES`, and through nothing else of clew."""
    if not surfaces or not SURFACES.keys() >= set(surfaces):
        raise ValueError(f"public{surfaces}: name one or more of {', '.join(SURFACES)}")
    return pytest.mark.public(*surfaces)
