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


def test_pages_that_live_by_examples_have_some() -> None:
    assert len(_BLOCK.findall((ROOT / "docs" / "concepts.md").read_text())) >= 3
    source = "\n".join(_BLOCK.findall((ROOT / "docs" / "from-python.md").read_text()))
    assert len(doctest.DocTestParser().get_examples(source)) > 20


def test_a_wrong_example_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    """Power: a later block sees the names of an earlier one, and a wrong result fails."""
    page = "```python\n>>> a = 1\n```\ntext\n```python\n>>> a + 1\n{}\n```\n"
    assert not wrong(page.format(2), "right")
    assert wrong(page.format(3), "wrong") == 1


@pytest.mark.parametrize("name", ["docstrings", "draw_levels", "lines", "method_pages", "offline"])
def test_the_examples_of_what_makes_the_pages_are_right(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"docs.{name}"))
    assert tried and not failed
