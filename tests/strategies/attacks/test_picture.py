from __future__ import annotations

from pathlib import Path

from PIL import Image

from strategies.attacks.picture import small_picture


def test_a_picture_has_its_size_and_a_palette(tmp_path: Path) -> None:
    with small_picture(tmp_path / "a.png", inches=(3.0, 2.0), dpi=100) as figure:
        figure.subplots().plot([0, 1], [1, 0])
    with Image.open(tmp_path / "a.png") as drawn:
        assert drawn.size == (300, 200) and drawn.mode == "P" and len(drawn.getcolors() or ()) <= 64
