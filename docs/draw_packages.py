"""Picture of the packages' layers and of the imports between them: ``docs/images/architecture.svg``.

    python -m docs.draw_packages

Each package is a column, and each layer of :data:`docs.layers.LAYERS` a row, the lowest at the
bottom. `cli` stands below `benchmarks`, which imports it. An arrow is an import. An arrow that
follows from others (a -> b -> c gives a -> c) is left out. The picture is plain SVG with a
background of its own. It carries its boxes and arrows as JSON, so a test compares them with
the imports of the code.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from docs.dark_svg import with_dark_style
from docs.layers import LAYERS, ROOT, folder_arrows, imports, modules

PICTURE = ROOT / "docs" / "images" / "architecture.svg"
PACKAGES = ("cli", "benchmarks", "strategies", "curator", "devices")
SUBJECTS = {
    "benchmarks": "tables, commands",
    "strategies": "rounds, engines, runs",
    "curator": "from reports to a network",
    "devices": "records, noise, ledgers",
}
Arrows = set[tuple[str, str]]
LAYER, BOX, GAP, MARGIN, HEAD = 66, 32, 10, 14, 70
LETTER, PADDING, SLOT = 7.4, 12, 8  # width of a letter, of a box's edges, of an arrow that passes a layer
INK, PALETTE = "#24292f", ("#0550ae", "#953800", "#116329", "#8250df", "#a40e26", "#6e5494", "#4d6a00", "#7a4d00")


def reduced(arrows: Arrows) -> Arrows:
    """Return the arrows that do not follow from others."""
    below: dict[str, set[str]] = {}
    for start, end in arrows:
        below.setdefault(start, set()).add(end)

    def reach(start: str) -> set[str]:
        return {far for end in below.get(start, ()) for far in {end, *reach(end)}}

    return {(start, end) for start, end in arrows if not any(end in reach(mid) for mid in below[start] - {end})}


def package_arrows(root: Path) -> Arrows:
    """Return (from, to) for every import of one package by another."""
    found = set()
    for package in PACKAGES:
        for name, path in modules(root, package).items():
            found |= {(package, target.removeprefix("ldpsim.").partition(".")[0]) for target in imports(path, name)}
    return {(start, end) for start, end in found if end in PACKAGES and start != end}


def drawn(root: Path = ROOT) -> dict[str, Any]:
    """Return what the picture shows: units by layer and arrows, of each package and between packages."""
    shown: dict[str, Any] = {"packages": sorted(reduced(package_arrows(root))), "units": {}}
    for package in SUBJECTS:
        layers = LAYERS[package]
        arrows = sorted(reduced(set(folder_arrows(root, package))))
        shown["units"][package] = {"layers": [list(names) for names in layers], "arrows": arrows}
    return shown


def label(name: str) -> list[str]:
    """Return the lines of a unit's label; a folder's ``__init__`` is the list of all that the folder offers."""
    folder, _, last = name.rpartition(".")
    if last == "__init__":
        return ["all", folder] if folder else ["package"]
    return [f"{folder}.", last] if folder else [name]


@dataclass
class Column:
    """Layout of one package: its units, and a free slot on every layer that an arrow passes.

    Args:
        layers: Units by layer, the lowest first.
        arrows: Arrows to draw.
    """

    layers: list[list[str]]
    arrows: list[tuple[str, str]]
    rows: list[list[str]] = field(init=False)
    paths: dict[tuple[str, str], list[str]] = field(init=False)
    x: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = [list(names) for names in self.layers]
        layer = {name: number for number, names in enumerate(self.layers) for name in names}
        self.paths = {}
        for start, end in self.arrows:
            slots = {number: f"{start}>{end}@{number}" for number in range(layer[start] - 1, layer[end], -1)}
            for number, slot in slots.items():
                self.rows[number].append(slot)
            self.paths[start, end] = [start, *slots.values(), end]
        self._order()
        self._place()

    def _order(self) -> None:
        """Order each layer by the mean place of its neighbours, up and down in turns."""
        beside: dict[str, list[str]] = {name: [] for row in self.rows for name in row}
        for path in self.paths.values():
            for one, other in pairwise(path):
                beside[one].append(other)
                beside[other].append(one)
        place = {name: number / len(row) for row in self.rows for number, name in enumerate(row)}
        for _ in range(24):
            for row in (*self.rows, *reversed(self.rows)):
                means = {n: sum(place[o] for o in beside[n]) / len(beside[n]) if beside[n] else place[n] for n in row}
                row.sort(key=lambda name: (means[name], name))
                place |= {name: (number + 0.5) / len(row) for number, name in enumerate(row)}

    def _place(self) -> None:
        self.x = {}
        for row in self.rows:
            left = (self.width - self._extent(row)) / 2
            for name in row:
                self.x[name] = left + width(name) / 2
                left += width(name) + GAP

    def _extent(self, row: list[str]) -> float:
        return sum(map(width, row)) + GAP * (len(row) - 1)

    @property
    def width(self) -> float:
        """Width of the widest layer."""
        return max((self._extent(row) for row in self.rows), default=0.0)


def width(name: str) -> float:
    """Return the width of a unit's box, or of an arrow's slot."""
    return SLOT if ">" in name else LETTER * max(map(len, label(name))) + PADDING


def svg(data: dict[str, Any]) -> str:
    """Return the picture of :func:`drawn`."""
    height = HEAD + LAYER * max(len(found["layers"]) for found in data["units"].values()) + MARGIN
    panels, heads, left = [], {}, float(MARGIN)
    for package, subject in SUBJECTS.items():
        found = data["units"][package]
        layers, arrows = [list(names) for names in found["layers"]], [(start, end) for start, end in found["arrows"]]
        if package == "benchmarks":
            layers, arrows = [["cli"], *layers], [*arrows, ("papers", "cli")]
        column = Column(layers, arrows)
        wide = max(column.width, LETTER * len(subject)) + 2 * GAP
        heads[package] = (left, wide)
        panels.append(_rect(left, HEAD - 8, wide, height - HEAD - MARGIN + 16, "#f6f8fa", "#d0d7de"))
        panels += _column(column, left + (wide - column.width) / 2, height - MARGIN - BOX)
        left += wide + 2 * GAP
    total = left - 2 * GAP + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {height}" width="{total:.0f}" '
        f'height="{height}" font-family="Menlo, Consolas, monospace" font-size="12">',
        "<title>Packages of ldpsim and the imports between them</title>",
        f"<metadata>{escape(json.dumps(data, sort_keys=True), quote=False)}</metadata>",
        f'<rect width="{total:.0f}" height="{height}" rx="8" fill="#ffffff"/>',
    ]
    for package, (start, wide) in heads.items():
        parts.append(_rect(start, 12, wide, 40, "#ddf4ff", "#54aeff"))
        title = "benchmarks, cli" if package == "benchmarks" else package
        parts.append(_text(start + wide / 2, 29, title, ' font-weight="bold" font-size="14"'))
        parts.append(_text(start + wide / 2, 45, SUBJECTS[package]))
    for (one, wide), (other, _) in pairwise(heads.values()):
        parts.append(_arrow([(one + wide, 32), (other, 32)], INK, 2.0))
    return with_dark_style("\n".join([*parts, *panels, "</svg>"]) + "\n")


def _column(column: Column, left: float, bottom: float) -> list[str]:
    row = {name: number for number, names in enumerate(column.rows) for name in names}
    starts = sorted({start for start, _ in column.arrows})
    parts = []
    for (start, _), path in column.paths.items():
        points = []
        for name in path:
            top = bottom - LAYER * row[name]
            x = left + column.x[name]
            if name == path[0]:
                points.append((x, top + BOX))
            elif name == path[-1]:
                points.append((x, top))
            else:
                points += [(x, top), (x, top + BOX)]
        parts.append(_arrow(points, PALETTE[starts.index(start) % len(PALETTE)], 1.3))
    for name in (name for names in column.layers for name in names):
        x, top = left + column.x[name], bottom - LAYER * row[name]
        parts.append(_rect(x - width(name) / 2, top, width(name), BOX, "#ffffff", "#57606a"))
        lines = label(name)
        for number, text in enumerate(lines):
            parts.append(_text(x, top + (20 if len(lines) == 1 else 13 + 13 * number), text))
    return parts


def _text(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="{INK}"{style}>{escape(text)}</text>'


def _rect(x: float, y: float, wide: float, high: float, fill: str, line: str) -> str:
    size = f'x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}"'
    return f'<rect {size} rx="5" fill="{fill}" stroke="{line}"/>'


def _arrow(points: list[tuple[float, float]], colour: str, thick: float) -> str:
    """Return a smooth line through the points with a head at its end."""
    (x, y), *rest = points
    path = f"M{x:.1f},{y:.1f}"
    for a, b in rest:
        middle = (y + b) / 2
        path += f" C{x:.1f},{middle:.1f} {a:.1f},{middle:.1f} {a:.1f},{b:.1f}"
        x, y = a, b
    across = points[-2][1] == y
    tip = " ".join(f"{x - a:.1f},{y - b:.1f}" for a, b in (((6, 4), (6, -4)) if across else ((4, 6), (-4, 6))))
    line = f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{thick}"/>'
    return f'{line}<polygon points="{x:.1f},{y:.1f} {tip}" fill="{colour}"/>'


if __name__ == "__main__":
    PICTURE.write_text(svg(drawn()))
