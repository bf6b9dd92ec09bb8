"""docs/threats.md says what is tested: every test it names exists, every adversary and fault stands in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "threats.md").read_text()
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows(title: str) -> Iterator[list[str]]:
    """Yield the cells of a section's first table, without its head."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    table = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert table is not None
    for line in table.group().splitlines()[2:]:
        yield [cell.strip() for cell in line.strip("|").split(" | ")]


def exists(path: str, name: str) -> bool:
    file = ROOT / path
    if not file.is_file():
        return False
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(isinstance(node, functions) and node.name == name for node in ast.walk(ast.parse(file.read_text())))


def test_every_test_that_is_named_exists() -> None:
    named = set(NAMED.findall(PAGE))
    assert len(named) > 30
    assert [f"{path}::{name}" for path, name in sorted(named) if not exists(path, name)] == []
    assert len(re.findall(r"`tests/[^`]*`", PAGE)) == len(NAMED.findall(PAGE))  # none is written in another way
    assert not exists("tests/test_threats.py", "test_that_does_not_exist")  # power


def test_every_promise_names_a_test() -> None:
    section = PAGE.split("\n## What is promised\n")[1].split("\n## ")[0]
    promises = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(promises) > 20
    assert [line for line in promises if not NAMED.search(line)] == []


def test_every_adversary_stands_there() -> None:
    from ldpsim.strategies.attacks.adversaries.table import ADVERSARIES

    told = {cells[0].strip("`"): cells for cells in rows("Adversaries")}
    assert set(told) == set(ADVERSARIES)
    for name, adversary in ADVERSARIES.items():
        _, description, covered, loss = told[name]
        assert (description, covered, loss) == (adversary.description, "yes", "1x"), name


def test_every_fault_stands_there() -> None:
    from ldpsim.strategies.attacks.adversaries.faults import FAULTS

    told = {cells[0].strip("`"): cells for cells in rows("Faults")}
    assert set(told) > set(FAULTS)  # others need a process or a file system of their own, and have tests
    for name, fault in FAULTS.items():
        _, description, covered, counted, loss, _ = told[name]
        expected = (fault.description, yes(fault.covered), yes(fault.counted), "1x" if fault.covered else "2x")
        assert (description, covered, counted, loss) == expected, name


def yes(covered: bool) -> str:
    return "yes" if covered else "**no**"
