"""Side bars of the site: each page stands below one section, also a page that no list names yet."""

from __future__ import annotations

import pytest

pytest.importorskip("sphinx")  # an extra of its own: ldpsim[docs]

from docs.conf import LISTS, SECTIONS, linked, pages_below, root_doc
from docs.layers import ROOT

FOUND = {
    str(path.relative_to(ROOT / "docs").with_suffix(""))
    for folder in ("", "api", "commands", "results", "gallery")
    for path in (ROOT / "docs" / folder).glob("*.md")
} | {"methods/README"}  # its other pages are made by the build


def test_the_links_of_a_page_in_its_order() -> None:
    text = "[b](b.md) [a](a.md#x) [c](c.ipynb) [b](b.md) [up](../d.md) [e](f/e.md) ![p](p.png)"
    assert linked(text) == ["b", "a", "c"]


def test_every_page_is_below_one_section() -> None:
    below = [
        f"{docname.rpartition('/')[0]}/{name}".lstrip("/") for docname in LISTS for name in pages_below(docname, FOUND)
    ]
    assert sorted([*below, *SECTIONS, root_doc]) == sorted(FOUND)
