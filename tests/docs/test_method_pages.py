"""Pages of the methods: each method has one, with all its parts, and what it says comes from the code."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from docs.method_pages import FOLDER, documented, of_method, page, pages_file, paper_link, section
from ldpsim.curator.methods import BUILT_IN, find
from ldpsim.curator.privacy.levels import LEVELS

PARTS = ["What holds", "How it works", "Settings", "Results", "Example"]


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_is_written_by_hand_fits(name: str) -> None:
    """Results, figure and section exist."""
    noted = of_method(name)
    results = FOLDER.parent / "results"
    assert noted["results"] and all((results / f"{stem}.md").is_file() for stem in noted["results"])
    assert "figure" not in noted or (results / noted["figure"]).is_file() and noted["caption"]
    assert "section" not in noted or section(noted["section"])


def test_no_page_is_for_a_method_that_is_not_there() -> None:
    assert set(pages_file()) == set(BUILT_IN)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_setting_is_explained(name: str) -> None:
    kind = find(name)
    meaning = documented(kind)
    assert all(meaning.get(entry.name) for entry in fields(kind))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in BUILT_IN if not name.startswith(("mlp", "raw", "rnd", "ohd"))])
def test_a_method_of_a_paper_links_it(name: str) -> None:
    kind = find(name)
    without = any(word in kind.spec.paper for word in ("reference", "null model", "this project"))
    assert without or re.match(r"https://(arxiv\.org|doi\.org|openreview\.net)/", paper_link(kind)), kind.spec.paper


@pytest.mark.parametrize("name", ["rr", "lp-and", "b2"])
def test_a_page_has_its_parts(name: str) -> None:
    text = page(name)
    assert [part for part in PARTS if f"\n## {part}\n" in text] == PARTS
    assert all(f"| `{level}` | {spec.changes} |" in text for level, spec in LEVELS.items())
    example = text.partition("## Example")[2]
    assert ">>> result = simulate(options)" in example and "Traceback" not in example
    assert re.search(r"^user (bounded|unprotected|not asked) ", example, re.MULTILINE)


def test_the_loss_of_a_page_is_that_of_the_question() -> None:
    """Randomised response at epsilon 8: a list entry loses 8, and both ends report an edge."""
    text = page("rr")
    assert re.search(r"`bit_adjacency` .* \| 8 \|", text) and re.search(r"`relationship` .* \| 16 \|", text)
