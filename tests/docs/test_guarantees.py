"""The table of guarantees: every mechanism and every accounting function is in it, and its tests exist."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from docs.layers import ROOT
from ldpsim.devices.mechanisms import BUILT_IN
from ldpsim.devices.training_task import CLEAR, NOISY

PAGE = (ROOT / "docs" / "guarantees.md").read_text()
FIGURES = ("float", "Account", "Guarantee")  # what a function that accounts returns
MODULES = [*sorted((ROOT / "curator").glob("**/privacy/*.py")), ROOT / "devices" / "mechanisms" / "gaussian.py"]
LEDGERS = {"read_ledgers", "best_guess"}
NO_LOSS = {"variance", "log_probability", "four_decimals"}  # of the Gaussian law; rounds up what others compute


def rows() -> list[list[str]]:
    """Return the rows of all tables, cell by cell, without headings."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| figure ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def accounting() -> set[str]:
    """Return the public functions that return a figure of privacy."""
    found = set()
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.returns is not None:
                returned = ast.unparse(node.returns)
                if returned in FIGURES or returned.startswith("tuple[float"):
                    found.add(node.name)
    return found - NO_LOSS


def named() -> set[str]:
    """Return the words in code marks of the first column."""
    return {word for row in rows() for word in re.findall(r"`([\w-]+)`", row[0])}


@cache
def written_in(file: str) -> set[str]:
    path = ROOT / file
    body = ast.parse(path.read_text()).body if path.is_file() else []
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", sorted({*BUILT_IN, CLEAR, NOISY, *accounting(), *LEDGERS}))
def test_every_figure_is_in_the_table(name: str) -> None:
    assert name in named()


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_row_is_whole_and_its_test_exists(row: list[str]) -> None:
    assert len(row) == 5 and all(row)
    assert re.match(r"exact|bound|printed|infinite|lower bound|no loss|as the caller|the rows above|the figure", row[3])
    ((file, test),) = re.findall(r"`(tests/[\w/.]+)::(\w+)`", row[4])
    assert test in written_in(file)
