"""Picture of the levels of guarantee: ``docs/images/levels.svg``, for ``docs/concepts.md``.

    python -m docs.draw_levels

A row is a level, a column is an entry of somebody's record, and a filled cell is what changes at that level. A pale
one is public and not counted. The losses are those of a question to four people; the code computes them.
"""

from __future__ import annotations

from html import escape

import numpy as np

from docs.dark_svg import with_dark_style
from docs.layers import ROOT
from ldpsim.cli import words
from ldpsim.curator.methods import Budget, find
from ldpsim.curator.methods.base import questions_asked
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.privacy.levels import LEVELS, LevelSpec
from ldpsim.devices.facts import PublicFacts, Split

PICTURE = ROOT / "docs" / "images" / "levels.svg"
PEOPLE = ("Ada", "Ben", "Cleo", "Dan")
FEATURES = ("jazz", "chess", "tea")
# (whose record, attribute, entry), from left to right
CELLS = (
    *(("Ada", "adjacency", name) for name in PEOPLE[1:]),
    *(("Ada", "features", name) for name in FEATURES),
    ("Ada", "label", "class"),
    *((name, "adjacency", "Ada") for name in PEOPLE[1:]),
)
LEFT, SIDE, GAP, TOP, ROW, LOSS = 220, 44, 18, 92, 34, 110
INK, FILL, FAINT = "#24292f", "#0550ae", "#d0d7de"


def worked_example() -> Guarantee:
    """Return the guarantee of HoGS's question to four people: 1.5 for an entry of a list, 0.5 for a feature."""
    facts, everybody = PublicFacts(n=len(PEOPLE), d=len(FEATURES), classes=2), np.arange(len(PEOPLE))
    method, budget = find("hogs")(), Budget(epsilon=2, feature_share=0.25)
    split = Split(everybody, everybody[:0], everybody[:0])
    return method.guarantee(facts, questions_asked(method, facts, split, budget, "example"), budget)


def changed(spec: LevelSpec) -> list[int]:
    """Return the cells that may change at a level.

    >>> [CELLS[number] for number in changed(LEVELS["relationship"])]
    [('Ada', 'adjacency', 'Ben'), ('Ben', 'adjacency', 'Ada')]
    """
    own = [number for number, cell in enumerate(CELLS) if cell[0] == "Ada"]
    about = [number for number in own if spec.attribute in (None, CELLS[number][1])]
    of_others = [number for number, cell in enumerate(CELLS) if cell[0] != "Ada"]
    found: dict[str, list[int]] = {
        "entry": about[:1], "edge": [about[0], of_others[0]], "whole": about, "record": own,
        "node": [*own, *of_others], "owned": [],
    }  # fmt: skip
    return found[spec.unit]


def _x(number: int) -> float:
    """Return the left edge of a cell; a gap stands between the parts of a record."""
    parts = [cell[:2] if cell[0] == "Ada" else ("others",) for cell in CELLS[: number + 1]]
    return LEFT + number * SIDE + GAP * (len(dict.fromkeys(parts)) - 1)


def _text(x: float, y: float, text: str, *, size: int = 13, anchor: str = "middle", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="{INK}">{escape(text)}</text>'
    )


def svg(guarantee: Guarantee) -> str:
    """Return the picture of a guarantee at every level."""
    right = _x(len(CELLS) - 1) + SIDE
    width, height = right + LOSS + 16, TOP + ROW * len(LEVELS) + 16
    heads = {"Ada's list": (0, 2), "her features": (3, 5), "label": (6, 6), "Ada in lists of": (7, 9)}
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        'font-family="system-ui, sans-serif">',
        "<title>What changes at each level of guarantee, and the loss that holds</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="#ffffff"/>',
        *(
            _text((_x(first) + _x(last) + SIDE - 4) / 2, 32, name, weight="bold")
            for name, (first, last) in heads.items()
        ),
        _text(right + 12, 32, "loss", anchor="start", weight="bold"),
        *(
            _text(_x(number) + SIDE / 2 - 2, 72, entry if owner == "Ada" else owner, size=12)
            for number, (owner, _, entry) in enumerate(CELLS)
        ),
    ]
    for row, (name, spec) in enumerate(LEVELS.items()):
        y = TOP + row * ROW
        filled = changed(spec)
        out.append(_text(LEFT - 14, y + ROW / 2 + 2, spec.term, size=12, anchor="end"))
        out += [
            f'<rect x="{_x(number):.1f}" y="{y:.1f}" width="{SIDE - 4}" height="{ROW - 8}" rx="3" '
            f'fill="{FILL if number in filled else "#ffffff"}" stroke="{FILL if number in filled else FAINT}" '
            f'fill-opacity="{0.15 if spec.attribute is None and CELLS[number][1] == "label" else 1}"/>'
            for number in range(len(CELLS))
        ]
        out.append(_text(right + 12, y + ROW / 2 + 2, words.level(guarantee.holds[name].to_dict()), anchor="start"))
    return with_dark_style("\n".join([*out, "</svg>", ""]))


if __name__ == "__main__":
    PICTURE.write_text(svg(worked_example()))
