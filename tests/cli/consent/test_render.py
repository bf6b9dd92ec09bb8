"""Consent sheet as text of any width, and as a page that says the same."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli.consent.render import as_page, as_text, check_file, write_sheet
from cli.consent.sheet import Sheet, sheet_of
from cli.consent.texts import LANGUAGES
from devices.facts import PublicFacts
from strategies.flower_app.deployed import PublicFile, agreed_policy, questions_of
from tests.cli.consent.agreed import agreed
from tests.cli.consent.test_sheet import all_texts


@pytest.fixture(params=LANGUAGES)
def sheet(request: pytest.FixtureRequest) -> Sheet:
    return sheet_of(*agreed(), language=request.param)


@pytest.mark.parametrize("width", [40, 80])
def test_no_line_is_too_long_and_nothing_is_lost(sheet: Sheet, width: int) -> None:
    text = as_text(sheet, width)
    assert max(map(len, text.splitlines())) <= width and text.endswith("\n") and not text.endswith("\n\n")
    flat = " ".join(re.sub(r"^- ", "", line.strip()) for line in text.splitlines()).lower()
    flat = re.sub(r"\s+", " ", flat)
    for said in all_texts(replace(sheet, columns=("", "", sheet.columns[2]))):
        assert re.sub(r"\s+", " ", said).lower() in flat


def test_times_stand_in_one_column() -> None:
    lines = as_text(sheet_of(*agreed(epsilon=1.0))).splitlines()
    assert "   74  One of your features. Does it have this value, or that one?" in lines
    assert "  100  NOT PROTECTED: your label alone. Which of two labels is yours?" in lines


def test_the_page_says_the_same_and_fetches_nothing(sheet: Sheet) -> None:
    page = as_page(sheet)
    words = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page.partition("<body>")[2]))).lower()
    for said in all_texts(sheet):
        assert re.sub(r"\s+", " ", said).lower() in words
    assert f'<html lang="{sheet.language}">' in page and "default-src 'none'" in page
    assert "<script" not in page and "http" not in page.partition("<body>")[2] and len(page) < 40_000
    hostile = replace(sheet, title="<b>&")
    assert "<h1>&lt;b&gt;&amp;</h1>" in as_page(hostile)


def test_a_file_is_text_or_a_page(sheet: Sheet, tmp_path: Path) -> None:
    write_sheet(tmp_path / "sheet.txt", sheet)
    write_sheet(tmp_path / "sheet.html", sheet)
    assert (tmp_path / "sheet.txt").read_text() == as_text(sheet, 80)
    assert (tmp_path / "sheet.html").read_text() == as_page(sheet)
    assert (tmp_path / "sheet.html").stat().st_mode & 0o777 == 0o644
    for name in ("sheet.pdf", "sheet"):
        with pytest.raises(ValueError, match="the name of a sheet ends with .txt or .html"):
            check_file(tmp_path / name)


def test_the_guide_shows_a_sheet_of_today() -> None:
    public = PublicFile(PublicFacts(4, 16, 2), np.array([0, 1, 0, -1]))
    config = {"method": "hogs", "epsilon": 4.0}
    text = as_text(sheet_of(agreed_policy(config, public), questions_of(config, public)))
    shown = text[text.index("How often could somebody") : text.index("- For experts")]
    assert f"```text\n{shown}```" in (Path(__file__).parents[3] / "docs" / "deployment.md").read_text()
