"""Every public name of the library has an example in its docstring, and every example runs."""

import doctest
import importlib
import pkgutil

import pytest

import clew
import clew.chat

MODULES = sorted(each.name for each in pkgutil.iter_modules(clew.chat.__path__, "clew.chat."))
PUBLIC = [name for name in clew.__all__ if getattr(clew, name).__module__.startswith("clew.chat.")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_each_public_name_has_an_example() -> None:
    assert len(PUBLIC) >= 7
    assert [name for name in PUBLIC if ">>> " not in (getattr(clew, name).__doc__ or "")] == []
