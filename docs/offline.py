"""Check of the built site: no page loads a script, a style, a picture or a font from a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.errors import SphinxError

_LOADED = re.compile(r"""<(?:script|img|iframe|source|embed)\b[^>]*\bsrc=["']((?:https?:)?//[^"']+)""", re.IGNORECASE)
_STYLE = re.compile(r"<link\b[^>]*\brel=[\"']?(?:stylesheet|preload|icon)[^>]*>", re.IGNORECASE)
_HREF = re.compile(r"""href=["']((?:https?:)?//[^"']+)""")
_IN_STYLE = re.compile(r"""(?:@import\s+(?:url\()?|url\()\s*["']?((?:https?:)?//[^"')]+)""")


def loaded_from_outside(text: str) -> list[str]:
    """Return the addresses that a page or a style sheet loads by itself; links that a person follows are none.

    >>> loaded_from_outside('<a href="https://a.org">a</a><script src="https://b.org/b.js"></script>')
    ['https://b.org/b.js']
    """
    styles = [address for tag in _STYLE.findall(text) for address in _HREF.findall(tag)]
    return [*_LOADED.findall(text), *styles, *_IN_STYLE.findall(text)]


def check(site: Path) -> list[str]:
    """Return a line for each address that a file of the site loads from outside."""
    files = sorted(path for path in site.rglob("*") if path.suffix in (".html", ".css"))
    return [f"{path.relative_to(site)}: {found}" for path in files for found in loaded_from_outside(path.read_text())]


def setup(app: Any) -> None:
    """Connect to Sphinx, after the build."""

    def finished(app: Any, error: Exception | None) -> None:
        found = [] if error else check(Path(app.outdir))
        if found:
            raise SphinxError("a page loads from a network:\n" + "\n".join(found))

    app.connect("build-finished", finished)
