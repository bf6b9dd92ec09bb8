"""Picture of the levels: what the script draws and the page says; dark colours of all pictures can be read."""

from __future__ import annotations

import re

from docs.draw_levels import PICTURE, svg, worked_example
from docs.layers import ROOT
from ldpsim.cli import words


def test_the_committed_picture_is_todays() -> None:
    """`python -m docs.draw_levels` draws it again."""
    assert PICTURE.read_text() == svg(worked_example())


def test_the_page_has_the_same_example() -> None:
    page = (ROOT / "docs" / "concepts.md").read_text()
    printed = dict(re.findall(r"^(\w+) +((?:bounded +[\d.]+)|unprotected|not asked)$", page, re.MULTILINE))
    holds = worked_example().holds
    assert {name: text.split()[-1] if "bounded" in text else text for name, text in printed.items()} == {
        name: str(level.value) if level.value is not None else level.status for name, level in holds.items()
    }
    for name, level in holds.items():
        assert f">{words.level(level.to_dict())}</text>" in PICTURE.read_text(), name
