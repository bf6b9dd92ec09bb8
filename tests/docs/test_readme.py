"""README: its commands and its Python run, and its results stand in the tables that it links."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import click
import pytest
from typer.main import get_command

from docs.layers import ROOT
from ldpsim.cli.main import app

README = (ROOT / "README.md").read_text()
RESULT = re.compile(
    r"^\| \[\w+\]\((docs/results/\w+)\.md\)[^|]* \| [^|]+ \| ([\d.]+) \| ([\d.]+ ± [\d.]+)"
    r" \| (\w+) \| (\w+) \| (\w+) \|$", re.MULTILINE
)  # fmt: skip
HOLDS = ("holds_relationship", "holds_vector", "holds_label")


def test_it_is_short_and_defines_its_words() -> None:
    """Eighty lines; of the glossary's words it needs *report* and *curator*, in bold where they are defined."""
    assert len(README.splitlines()) <= 80
    assert {"report", "curator"} <= set(re.findall(r"\*\*(\w+)\*\*", README.partition("```")[0]))
    assert not re.search(r"null model|asking nobody|nobody is asked|relationship|in clear", README)


def test_both_commands_stand_in_one_block_and_ci_runs_them() -> None:
    (block,) = re.findall(r"^```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    commands = [line.partition("#")[0].strip() for line in block.splitlines()]
    assert commands == ["make run", "make test"]
    assert all(re.search(r"# about \d+ (?:s|minutes)\b", line) for line in block.splitlines())
    assert set(commands) <= set((ROOT / ".ci" / "run").read_text().splitlines())


def test_the_commands_of_its_table_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Seven rows; options and the values of choices and numbers are known, and nothing runs."""
    table = README.partition("| task |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(table) == 7
    monkeypatch.chdir(tmp_path)
    for name in ("edges.csv", "people.csv"):
        Path(name).touch()
    monkeypatch.setattr(click.Command, "invoke", lambda self, context: None)
    for row in table:
        commands = re.findall(r"`(ldpsim [^`]+)`", row)
        assert commands, row
        for command in commands:
            with get_command(app).make_context("ldpsim", shlex.split(command)[1:]) as context:
                context.command.invoke(context)


def test_its_python_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(code.strip().splitlines()) <= 10
    assert "clients=3000" in code
    small = f"clients=60, settings={{'epochs': '3'}}, out=__import__('pathlib').Path({str(tmp_path)!r})"
    exec(code.replace("clients=3000", small))
    assert capsys.readouterr().out.splitlines()[-1] == "4.0"
    assert list(tmp_path.glob("*-generated-*/result.json"))


def test_its_results_stand_in_the_tables_that_it_links() -> None:
    """A row of README is one of the CSV file of its link: our accuracy, the paper's, and the epsilons that hold."""
    rows = RESULT.findall(README)
    assert len(rows) == 5
    for page, paper, ours, *holds in rows:
        with (ROOT / f"{page}.csv").open(newline="", encoding="utf-8") as lines:
            table = [row for row in csv.DictReader(lines) if row["data set"] == "cora" and row["paper"]]
        levels = {
            name: "unprotected" if epsilon == "public" else epsilon
            for name, epsilon in zip(HOLDS, holds, strict=True)
            if table[0].get(name)  # a table has the levels that its method is about
        }
        expected = {"ours": f"{ours} (10)", **levels}
        assert any(expected.items() <= row.items() and f"{float(row['paper']):.1f}" == paper for row in table), page


@pytest.mark.parametrize("name", ["run", "verdict"])
def test_a_picture_fetches_nothing(name: str) -> None:
    picture = (ROOT / "docs" / "images" / f"{name}.svg").read_text()
    assert not re.findall(r"url\(\s*[\"']?http|@import|<image|href", picture)
