"""A chart of the page as a file for a paper: PDF, SVG or PNG, as wide as one column, in colours for white paper."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from ldpsim.cli.report.gathered import Gathered
from ldpsim.cli.report.page import chart, matched_level
from ldpsim.strategies.palette import ON_WHITE, SERIES

FORMATS = (".pdf", ".svg", ".png")
_WIDTH = 8.5 / 2.54 * 72  # points: one column of a paper
_DOTS_PER_INCH = 300  # of a PNG
_LETTERS, _MARK = 7, 22  # points, and square points
_THIN = 0.6  # of the width of a line of the page
_LEGEND_COLUMNS, _ROW = 2, 10.0  # and points of a row
_COLOURS = {**{f"line-{place}": colour for place, colour in enumerate(SERIES)}, **ON_WHITE}
_AXIS = {"labelColor": ON_WHITE["soft"], "titleColor": ON_WHITE["soft"], "gridColor": ON_WHITE["grid"],
         "domainColor": ON_WHITE["line"], "tickColor": ON_WHITE["line"], "labelFontSize": _LETTERS,
         "titleFontSize": _LETTERS, "titleFontWeight": "normal", "tickSize": 3,
         "gridWidth": _THIN, "domainWidth": _THIN, "tickWidth": _THIN}  # fmt: skip
_LEGEND = {"orient": "bottom", "title": None, "columns": _LEGEND_COLUMNS, "labelColor": ON_WHITE["soft"],
           "labelFontSize": _LETTERS, "symbolSize": _MARK, "rowPadding": 1, "offset": 6}  # fmt: skip


def check_format(path: Path) -> None:
    """Refuse a file whose name has the end of no format.

    Raises:
        ValueError: one line.
    """
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"--figure {path}: the name must end with {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")


def chart_file(gathered: Gathered, suffix: str) -> bytes:
    """Return the page's first chart, of its first data set, as the content of a file: 8.5 cm wide.

    Args:
        gathered: Content of the page.
        suffix: One of :data:`FORMATS`, in lower case or upper case.
    """
    import vl_convert

    groups = gathered.groups
    made = _on_paper(chart(groups, groups[0].data, "privacy", matched_level(gathered), switch=False))
    if suffix.lower() == ".png":
        return bytes(vl_convert.vegalite_to_png(made, ppi=_DOTS_PER_INCH))
    if suffix.lower() == ".pdf":
        return bytes(vl_convert.vegalite_to_pdf(made))
    svg = str(vl_convert.vegalite_to_svg(made))
    return re.sub(r'(width|height)="([\d.]+)"', r'\1="\2pt"', svg, count=2).encode()  # the first two are the picture's


def _on_paper(chart: dict[str, Any]) -> dict[str, Any]:
    """Return a chart of the page in points and colours, where its choice of a level is the one that it opens with."""
    # A method may be called var(--x).
    painted = re.sub(r"var\(--([\w-]+)\)", lambda name: _COLOURS.get(name[1], name[0]), json.dumps(chart))
    made: dict[str, Any] = json.loads(painted)
    (choice,) = made["params"]
    bound = choice.pop("bind")
    level = dict(zip(bound["options"], bound["labels"], strict=True))[choice["value"]]
    for layer in made["layer"]:
        mark, encoding = layer["mark"], layer["encoding"]
        mark |= {"fontSize": _LETTERS} if mark["type"] == "text" else {"size": _MARK} if mark["type"] == "point" else {}
        if "strokeWidth" in mark:
            mark["strokeWidth"] *= _THIN
        if "title" in encoding.get("x", {}):
            encoding["x"]["title"] = f"epsilon for {level} (log scale)"
    names = made["layer"][-1]["encoding"]["color"]["scale"]["domain"]
    rows = math.ceil(len(names) / _LEGEND_COLUMNS)
    return {
        **made,
        "width": _WIDTH,
        "height": 0.6 * _WIDTH + _ROW * rows,
        "padding": 1,
        "background": ON_WHITE["paper"],
        "config": {"view": {"stroke": None}, "axis": _AXIS, "legend": _LEGEND},
    }
