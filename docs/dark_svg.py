"""Colours of the drawn pictures on dark paper: for readers whose system asks for it, also on GitHub.

A reader of a site can choose another theme than the system's. So each picture has its own paper, and is whole on both.
"""

from __future__ import annotations

import re

DARK = {
    "#ffffff": "#14171b", "#f6f8fa": "#1d2126", "#ddf4ff": "#12304a",  # papers
    "#24292f": "#e8ebee", "#0550ae": "#6db7f2", "#d0d7de": "#4a525c", "#57606a": "#a3acb6", "#54aeff": "#54aeff",
    "#953800": "#f0a35a", "#116329": "#5fca7f", "#8250df": "#c9a5ff", "#a40e26": "#ff8e8e", "#6e5494": "#d0a8e8",
    "#4d6a00": "#c3cf6b", "#7a4d00": "#e0b060",
}  # fmt: skip


def dark_style(colours: set[str]) -> str:
    """Return the style element that draws these colours as their dark ones where the system's theme is dark.

    Raises:
        KeyError: for a colour without a dark one.
    """
    rules = " ".join(f'[{part}="{colour}"] {{ {part}: {DARK[colour]} }}'
                     for colour in sorted(colours) for part in ("fill", "stroke"))  # fmt: skip
    return f"<style>@media (prefers-color-scheme: dark) {{ {rules} }}</style>"


def with_dark_style(svg: str) -> str:
    """Return the picture with the style of its own colours behind its title."""
    colours = set(re.findall(r'(?:fill|stroke)="(#\w+)"', svg))
    return svg.replace("</title>", f"</title>\n{dark_style(colours)}", 1)
