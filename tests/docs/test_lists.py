"""Tables of names on the pages of commands, and the glossary: each has the names that the code has."""

from __future__ import annotations

import re

import pytest

from docs.forbidden_words import synonyms
from docs.layers import ROOT
from ldpsim.curator.defences import DEFENCES
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.devices.device import Refusal
from ldpsim.strategies.attacks.poison.lies import ATTACKS, SILENT


def listed(text: str, heading: str) -> set[str]:
    """Return the names in the first column of the table whose heading row begins so."""
    rows = text.partition(f"\n| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`([\w-]+)`", row.split("|")[1])}


@pytest.mark.parametrize(("page", "heading", "names"), [
    ("poison.md", "attack", {*ATTACKS, SILENT}),
    ("run.md", "name", set(DEFENCES)),
    ("errors.md", "code", {code.name for code in Refusal}),
])  # fmt: skip
def test_a_table_has_the_names_of_the_code(page: str, heading: str, names: set[str]) -> None:
    assert listed((ROOT / "docs" / "commands" / page).read_text(), heading) == names


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
