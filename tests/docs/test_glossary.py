"""Glossary: every level, and every word of the panel and the ledgers, has its line."""

from __future__ import annotations

import ast
import re

import pytest

from docs.rooms import ROOT
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies.results.shown_nulls import NULLS

PAGE = (ROOT / "docs" / "glossary.md").read_text()
TERMS = [name.strip("`") for cell in re.findall(r"^\| ([^|]+) \|", PAGE, re.MULTILINE) for name in cell.split(", ")]
COUNTS = {"asked", "reported", "replayed", "refused", "silent", "failed"}


def panel_words() -> set[str]:
    """Return the titles of the rows of a run's panel."""
    found = set()
    for path in (ROOT / "cli" / "summary.py", *(ROOT / "cli").glob("verdict.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_row":
                title = node.args[0]
                if isinstance(title, ast.Constant) and str(title.value).strip("-"):
                    found.add(str(title.value))
    return found


def test_every_level_has_its_line_with_its_meaning() -> None:
    for name, spec in LEVELS.items():
        meaning = spec.changes[0].upper() + spec.changes[1:]
        assert f"| {spec.term} | `{name}` | {meaning}. |" in PAGE, name


def test_every_word_of_the_panel_has_its_line() -> None:
    headings = {spec.heading for spec in NULLS.values() if spec.shuffled is None}
    assert {*panel_words(), *headings, *COUNTS, "shuffled", "best guess", "why they differ", "in clear"} <= set(TERMS)
    assert {"bounded", "unprotected", "not asked"} <= set(TERMS)


def test_the_words_of_the_panel_are_found() -> None:
    """Power: a new row of the panel would be seen."""
    assert {"trust", "claimed", "holds", "memory", "mean error"} <= panel_words()


def test_a_word_has_one_line() -> None:
    words = [word for word in TERMS if word not in ("word", "level")]  # the heads of the tables
    assert len(words) == len(set(words))
    for meaning in re.findall(r"^\| .* \| ([^|]+) \|$", PAGE, re.MULTILINE):
        assert meaning in ("what changes", "meaning") or (meaning.endswith(".") and len(meaning) < 200), meaning


@pytest.mark.parametrize("word", ["epsilon", "mechanism", "ledger", "vault", "homophily"])
def test_words_of_the_field(word: str) -> None:
    assert word in TERMS
