"""Picture of the levels: what the script draws and the page says; dark colours of all pictures can be read."""

from __future__ import annotations

import re

import pytest

from docs.dark_svg import DARK, dark_style
from docs.draw_levels import PICTURE, svg, worked_example
from docs.draw_levels import PICTURE as LEVELS
from docs.draw_packages import PICTURE as ROOMS
from docs.layers import ROOT
from ldpsim.cli import words
from tests.cli.report.test_page import luminance


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


PAPERS = ("#ffffff", "#f6f8fa", "#ddf4ff")
WORDS = "#24292f"
FRAMES = ("#d0d7de",)  # of boxes: their words are enough


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", sorted(set(DARK) - {*PAPERS, *FRAMES}))
def test_lines_and_words_stand_out_from_dark_papers(colour: str) -> None:
    least = 4.5 if colour == WORDS else 3
    assert min(contrast(DARK[colour], DARK[paper]) for paper in PAPERS) >= least


@pytest.mark.parametrize("picture", [LEVELS, ROOMS])
def test_a_picture_has_its_own_paper_and_a_dark_colour_for_each(picture: object) -> None:
    text = picture.read_text()  # type: ignore[attr-defined]
    used = set(re.findall(r'(?:fill|stroke)="(#\w+)"', text))
    assert used <= set(DARK) and dark_style(used) in text
    paper = re.search(r'<rect width="(\d+)" height="(\d+)" rx="8" fill="#ffffff"/>', text)
    assert paper and f'viewBox="0 0 {paper[1]} {paper[2]}"' in text
