"""README: its Python runs, and its results stand in the tables that it links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.layers import ROOT

README = (ROOT / "README.md").read_text()
RESULT = re.compile(
    r"^\| \[\w+\]\((docs/results/\w+)\.md\) \| [^|]+ \| ([\d.]*) ?\| ([\d.]+ ± [\d.]+) \|", re.MULTILINE
)


def test_its_python_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(code.strip().splitlines()) <= 10
    assert "clients=3000" in code
    small = f"clients=60, settings={{'epochs': '3'}}, out=__import__('pathlib').Path({str(tmp_path)!r})"
    exec(code.replace("clients=3000", small))
    assert "'status': 'bounded'" in capsys.readouterr().out
    assert list(tmp_path.glob("*-generated-*/result.json"))


def test_its_results_stand_in_the_tables_that_it_links() -> None:
    """A row's own accuracy and the paper's are in the CSV file, or on the page, of its link."""
    rows = RESULT.findall(README)
    assert len(rows) == 6
    for page, paper, ours in rows:
        text = (ROOT / f"{page}.md").read_text()
        if paper:
            lines = (ROOT / f"{page}.csv").read_text().splitlines()
            text = next(line for line in lines if f",{ours} (10),{paper}" in line)
        assert ours in text, page


@pytest.mark.parametrize("name", ["run", "verdict"])
def test_a_picture_fetches_nothing(name: str) -> None:
    picture = (ROOT / "docs" / "images" / f"{name}.svg").read_text()
    assert not re.findall(r"url\(\s*[\"']?http|@import|<image|href", picture)
