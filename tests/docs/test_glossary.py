"""Glossary: every level has its line with its meaning, a word has one line, and what is not used is forbidden."""

from __future__ import annotations

import re

from docs.layers import ROOT
from docs.names import synonyms
from ldpsim.curator.privacy.levels import LEVELS

PAGE = (ROOT / "docs" / "glossary.md").read_text()


def test_every_level_has_its_line_with_its_meaning() -> None:
    for name, spec in LEVELS.items():
        meaning = spec.changes[0].upper() + spec.changes[1:]
        assert f"| {spec.term} | `{name}` | {meaning}. |" in PAGE, name


def test_a_word_has_one_line_and_its_synonyms_are_forbidden() -> None:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|(?: ([^|]+))? \|$", PAGE.partition("## Words")[2], re.MULTILINE)[1:]
    words = [word for cell, _ in rows for word in cell.split(", ")]
    unused = [word for _, cell in rows for word in cell.split(", ") if cell]
    assert len(rows) > 20 and len(words) == len(set(words)) and len(unused) > 6
    for word in unused:
        assert synonyms(f"an {word} of it"), word
