"""docs/threats.md says what is tested: promises.toml has tests for each promise and attacker, and all of them exist."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "threats.md").read_text()
PROMISES: dict[str, dict[str, list[str]]] = tomllib.loads((ROOT / "tests" / "promises.toml").read_text())


def section(title: str) -> str:
    """Return the text below a heading of the page."""
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def exists(test: str) -> bool:
    path, _, name = test.partition("::")
    if not (ROOT / path).is_file():
        return False
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(
        isinstance(node, functions) and node.name == name for node in ast.walk(ast.parse((ROOT / path).read_text()))
    )


def test_every_test_that_is_named_exists() -> None:
    named = {test for group in PROMISES.values() for tests in group.values() for test in tests}
    assert len(named) > 80 and all(tests for group in PROMISES.values() for tests in group.values())
    assert [test for test in sorted(named) if not exists(test)] == []
    assert not exists("tests/test_threats.py::test_that_does_not_exist")  # power


def test_every_attacker_has_a_test() -> None:
    rows = re.findall(r"^\| (.*?) \|", section("Attackers"), re.MULTILINE)[1:]
    assert [row.replace("**", "") for row in rows] == list(PROMISES["attackers"])


def test_every_promise_has_a_test() -> None:
    promises = re.findall(r"^- \*\*(.*?)\.\*\*", section("What is promised"), re.MULTILINE)
    assert promises == list(PROMISES["promises"])


def test_every_adversary_stands_there_and_is_covered() -> None:
    from tests.strategies.attacks.adversaries.other_attacks import ATTACKS

    text = section("Curators who ask again")
    assert set(re.findall(r"`([a-z-]+)`", text)) == set(ATTACKS) and "one report (1x)" in text


@pytest.mark.parametrize(("kind", "covered", "counted"), [
    ("Covered: no second report", True, True),
    ("Covered with a [counter](commands/device.md) only", False, True),
    ("Not covered", False, False),
])  # fmt: skip
def test_every_fault_stands_with_its_kind(kind: str, covered: bool, counted: bool) -> None:
    from tests.strategies.attacks.adversaries.faults import FAULTS

    text = section("Faults").split(f"- **{kind}.** ")[1].split("\n- **")[0].split("\n\n")[0]
    here = {name for name, fault in FAULTS.items() if (fault.covered, fault.counted) == (covered, counted)}
    assert here and here <= set(re.findall(r"`([a-z-]+)`", text))  # others need a process or a file system of their own
