from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from ldpsim.strategies.attacks.picture import small_picture
from ldpsim.strategies.palette import SERIES

RARE = "#ff2299"  # of a short line


def test_a_picture_has_its_size_and_a_palette(tmp_path: Path) -> None:
    with small_picture(tmp_path / "a.png", inches=(3.0, 2.0), dpi=100) as figure:
        figure.subplots().plot([0, 1], [1, 0])
    with Image.open(tmp_path / "a.png") as drawn:
        assert drawn.size == (300, 200) and drawn.mode == "P" and len(drawn.getcolors() or ()) <= 128


def test_a_line_of_few_pixels_keeps_its_colour(tmp_path: Path) -> None:
    with small_picture(tmp_path / "a.png", inches=(4.1, 3.6), dpi=120) as figure:
        axis = figure.subplots()
        for number, colour in enumerate(SERIES):
            axis.plot([0, 1], [0, number], color=colour, linewidth=1.5, marker="o", markerfacecolor="none")
        axis.plot([0.4, 0.45], [6, 6], color=RARE, linewidth=1.5)
    with Image.open(tmp_path / "a.png") as drawn:
        seen = np.unique(np.array(drawn.convert("RGB")).reshape(-1, 3), axis=0).astype(int)
    for colour in (*SERIES, RARE):
        wanted = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
        assert np.abs(seen - wanted).max(axis=1).min() <= 16, colour
