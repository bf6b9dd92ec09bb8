"""The examples in the docstrings of mechanisms give what they print."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from devices import mechanisms
from devices.mechanisms import BUILT_IN

MODULES = [f"devices.mechanisms.{found.name}" for found in pkgutil.iter_modules(mechanisms.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


@pytest.mark.parametrize("kind", BUILT_IN.values(), ids=lambda kind: kind.name)
def test_every_mechanism_has_an_example(kind: type) -> None:
    assert ">>> " in (kind.__doc__ or "")
