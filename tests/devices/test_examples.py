"""The examples in the docstrings of the devices' main classes give what they print (mechanisms: their own file)."""

from __future__ import annotations

import doctest
import importlib

import pytest

CLASSES = (
    "devices.data.population.Record", "devices.facts.PublicFacts", "devices.noise.NoiseStream",
    "devices.policy.policy.Policy", "devices.query.Ask", "devices.query.Query",
)  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_the_example_of_a_class(name: str) -> None:
    module_name, _, _ = name.rpartition(".")
    module = importlib.import_module(module_name)
    (found,) = [test for test in doctest.DocTestFinder().find(module) if test.name == name]
    assert found.examples
    assert doctest.DocTestRunner().run(found).failed == 0
