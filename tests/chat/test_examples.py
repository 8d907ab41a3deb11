"""Every public name has an example in its docstring, and every example runs."""

import doctest
import importlib
import pkgutil

import pytest

import clew
import clew.chat

MODULES = sorted(
    {each.name for each in pkgutil.walk_packages(clew.chat.__path__, "clew.chat.")}
    | {getattr(clew, name).__module__ for name in clew.__all__}
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_each_public_name_has_an_example() -> None:
    """Of its own, in a module whose examples run above."""
    assert [
        name for name in clew.__all__ if not doctest.DocTestParser().get_examples(getattr(clew, name).__doc__ or "")
    ] == []
    assert {getattr(clew, name).__module__ for name in clew.__all__} <= set(MODULES)
