"""Pictures of attacks: small PNGs that need no screen."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def small_picture(path: Path, *, inches: tuple[float, float], dpi: int) -> Iterator[Any]:
    """Offer a figure of matplotlib, and save what was drawn as a PNG with a palette of 128 colours.

    Args:
        path: The file.
        inches: Width and height.
        dpi: Pixels per inch.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    figure = Figure(figsize=inches, layout="constrained")
    FigureCanvasAgg(figure)
    yield figure
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=dpi)
    # The median cut gives the palette to common colours: a line of few pixels gets the colour of another line.
    clear = Image.open(drawn).convert("RGB")
    clear.quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, "PNG", optimize=True)
