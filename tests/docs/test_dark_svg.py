"""The drawn pictures have dark colours that can be read."""

from __future__ import annotations

import re

import pytest

from docs.dark_svg import DARK, dark_style, with_dark_style
from docs.draw_levels import PICTURE as LEVELS
from docs.draw_packages import PICTURE as ROOMS

PAPERS = ("#ffffff", "#f6f8fa", "#ddf4ff")
WORDS = "#24292f"
FRAMES = ("#d0d7de",)  # of boxes: their words are enough


def luminance(colour: str) -> float:
    """Relative luminance of a colour, as WCAG defines it."""
    code = colour.removeprefix("#")
    code = code if len(code) == 6 else "".join(2 * sign for sign in code)
    parts = [int(code[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


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


def test_a_colour_without_a_dark_one_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        with_dark_style('<svg><title>a</title><rect fill="#123456"/></svg>')
