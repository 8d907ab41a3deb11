"""Ties tests to the ids that they prove.

`proves` names requirements (`req:S0-6`), rules (`rule:R33.empty-signature`), conflicts (`conflict:C-7`); `accepts` and
`refuses` name the rule that a test shows from its legal and from its illegal side. The marks are collected by
`tests/test_manifest.py`, which fails for an id that no test names, and for a name that is no id.
"""

import pytest


def proves(*ids: str) -> pytest.MarkDecorator:
    return pytest.mark.proves(*ids)


def accepts(*ids: str) -> pytest.MarkDecorator:
    return pytest.mark.accepts(*ids)


def refuses(*ids: str) -> pytest.MarkDecorator:
    return pytest.mark.refuses(*ids)


def public(*surfaces: str) -> pytest.MarkDecorator:
    """The test goes through what users have: `gateway`, `cli`, `library`, `page`."""
    return pytest.mark.public(*surfaces)
