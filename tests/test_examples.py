"""The ``>>>`` examples in the docstrings of the four packages, run."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from ldpsim.devices.mechanisms import BUILT_IN

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("devices", "curator", "strategies", "cli")


FILES = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if ">>> " in path.read_text()]
MODULES = sorted(".".join(("ldpsim", *path.relative_to(ROOT).with_suffix("").parts)) for path in FILES)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_right(name: str) -> None:
    failed, tried = doctest.testmod(import_module(name.removesuffix(".__init__")))
    assert tried and not failed


@pytest.mark.parametrize("kind", BUILT_IN.values(), ids=lambda kind: kind.name)
def test_every_mechanism_has_an_example(kind: type) -> None:
    assert ">>> " in (kind.__doc__ or "")
