"""Picture of the levels: it is committed as the script draws it, and it says what the page says."""

from __future__ import annotations

import doctest
import re

from docs import draw_levels
from docs.draw_levels import CELLS, PICTURE, changed, svg, worked_example
from docs.layers import ROOT
from ldpsim.cli import words
from ldpsim.curator.privacy.levels import LEVELS


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


def test_a_wider_level_changes_more_and_loses_more() -> None:
    cells = {name: set(changed(spec)) for name, spec in LEVELS.items()}
    assert cells["bit_adjacency"] < cells["relationship"] < cells["node"] == set(range(len(CELLS)))
    assert cells["bit_feature"] < cells["vector"] < cells["user"] < cells["node"]
    holds = worked_example().holds
    losses = [holds[name].value or 0.0 for name in ("bit_feature", "vector", "user", "node")]
    assert losses == sorted(losses) and losses[0] < losses[-1]


def test_its_example() -> None:
    failed, tried = doctest.testmod(draw_levels)
    assert tried and not failed
