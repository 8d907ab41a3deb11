"""Every example in a docstring of the agent runs."""

import doctest
import importlib
import pkgutil

import pytest

import clew.chat.agent

MODULES = sorted(each.name for each in pkgutil.iter_modules(clew.chat.agent.__path__, "clew.chat.agent."))


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
