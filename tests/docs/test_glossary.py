"""Glossary: every level has its line with its meaning, and a word has one line."""

from __future__ import annotations

import re

from docs.layers import ROOT
from ldpsim.curator.privacy.levels import LEVELS

PAGE = (ROOT / "docs" / "glossary.md").read_text()


def test_every_level_has_its_line_with_its_meaning() -> None:
    for name, spec in LEVELS.items():
        meaning = spec.changes[0].upper() + spec.changes[1:]
        assert f"| {spec.term} | `{name}` | {meaning}. |" in PAGE, name


def test_a_word_has_one_line() -> None:
    words = [word for cell in re.findall(r"^\| ([^|]+) \|", PAGE, re.MULTILINE) for word in cell.split(", ")]
    assert len(words) > 30 and len(words) == len(set(words))
