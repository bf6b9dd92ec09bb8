"""The ``>>>`` examples of the pages, run: those of a page together, from its top."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

from docs.layers import ROOT

_BLOCK = re.compile(r"^```(?:python|pycon)\n(>>> .*?)^```", re.MULTILINE | re.DOTALL)
FOLDERS = ("", "api", "commands", "gallery")
PAGES = [path for folder in FOLDERS for path in sorted((ROOT / "docs" / folder).glob("*.md"))]


def wrong(text: str, name: str) -> int:
    """Run the examples of a page, and return the number of wrong ones."""
    source = "\n".join(_BLOCK.findall(text))
    test = doctest.DocTestParser().get_doctest(source, {}, name, name, 0)
    return doctest.DocTestRunner().run(test).failed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_are_right(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not wrong(page.read_text(), page.name)


@pytest.mark.parametrize("name", ["docstrings", "draw_levels", "lines", "method_pages", "offline"])
def test_the_examples_of_what_makes_the_pages_are_right(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"docs.{name}"))
    assert tried and not failed
