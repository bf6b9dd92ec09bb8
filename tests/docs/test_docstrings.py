"""Docstrings as Sphinx reads them: formulas stay as they stand, and a wrong reference is seen."""

from __future__ import annotations

import inspect

import pytest

from docs.docstrings import structured
from ldpsim.curator.methods.local import blink, hogs


@pytest.mark.parametrize("module", [hogs, blink], ids=lambda module: module.__name__)
def test_a_formula_is_not_changed(module: object) -> None:
    """Each indented line of the docstring stands in a block of its own, letter by letter."""
    lines = inspect.cleandoc(module.__doc__ or "").splitlines()
    made = structured(lines)
    formulas = [line for line in lines if line.startswith("    ")]
    assert formulas and set(formulas) <= set(made)
    before = [made[number - 2] for number, line in enumerate(made) if line == formulas[0]]
    assert before == [".. code-block:: text"]
