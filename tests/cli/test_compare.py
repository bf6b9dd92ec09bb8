from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from ldpsim.cli import summary
from ldpsim.cli.main import app
from ldpsim.cli.report.gather import gather

pytestmark = pytest.mark.usefixtures("cells_in_this_process")

SMALL = ["--clients", "60", "--device", "cpu", "--set", "epochs=3", "--no-nulls"]


def compare(folder: Path, *arguments: str) -> Result:
    command = ["compare", *arguments, *SMALL, "--out", str(folder / "runs")]
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, command)


def test_a_table_a_page_and_a_folder_a_run(tmp_path: Path, listing: Callable[[Path], dict[str, str]]) -> None:
    shown = compare(tmp_path, "hogs", "lpgnn", "raw", "--repeats", "2")
    assert shown.exit_code == 0, shown.output
    (folder,) = (tmp_path / "runs").iterdir()
    lines = [line for line in shown.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[2:5]] == ["hogs", "lpgnn", "raw"]
    assert "Budgets are not equal" in shown.stdout and "in clear" in shown.stdout
    assert f"Written to {folder / 'compare.html'}" in shown.stdout
    assert len(list(folder.glob("*/result.json"))) == 3
    assert (folder / "table.csv").read_text().count("\n") == 4
    page = (folder / "compare.html").read_text()
    assert page.index("<span>hogs</span>") < page.index("<span>lpgnn</span>") < page.index("<span>raw</span>")

    before = listing(folder)
    again = compare(tmp_path, "hogs", "lpgnn", "raw", "--repeats", "2", "--json")
    document = json.loads(again.stdout)
    assert [record["method"] for record in document["results"]] == ["hogs", "lpgnn", "raw"]
    assert document["html"] == str(folder / "compare.html") and Path(document["html"]).is_absolute()
    assert document["failed"] == {}
    assert listing(folder) == before  # nothing was run again, and the page is the same to the byte

    quiet = compare(tmp_path, "hogs", "lpgnn", "raw", "--repeats", "2", "--quiet")
    assert quiet.stdout == f"{folder / 'compare.html'}\n"


def test_words_and_figures_are_those_of_one_collection_and_the_sum_stands_once(tmp_path: Path) -> None:
    """Two repeats at 4 were "a person 8" above "no meaningful protection" above "what holds is 4"."""

    def words(*arguments: str) -> str:
        return " ".join(compare(tmp_path, "hogs", "solitude", "--match", "user", "4", *arguments).stdout.split())

    alone, seeded, real = words(), words("--repeats", "2"), words("--repeats", "2", "--noise-seed", "os")
    for text in (alone, seeded, real):
        assert "at the level of a person what holds is 4 for every method" in text
    assert "Simulated from a seed: not private. 2 repeats on the same people would lose 2 times as much." in seeded
    assert "Simulated from a seed: not private. a" not in alone and "not private" not in real
    assert real.count("losses add") == 1 and "4 collections asked the same people (generated)" in real
    assert "a person 16" in real and "asked the same people" not in seeded + alone


def test_budgets_that_were_made_equal(tmp_path: Path) -> None:
    shown = compare(tmp_path, "hogs", "solitude", "--match", "relationship", "2")
    assert shown.exit_code == 0, shown.output
    assert "Budgets are equal" in shown.stdout and "not equal" not in shown.stdout
    shown = compare(tmp_path, "hogs", "solitude", "raw", "--match", "relationship", "2")
    assert "Budgets are not equal" in shown.stdout
    assert "raw: in clear at the level of a relationship" in shown.stdout
    (folder,) = (tmp_path / "runs").iterdir()
    assert "<b>raw</b> in clear at the level of a relationship" in (folder / "compare.html").read_text()


def test_a_method_that_fails_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    shown = compare(tmp_path, "rgnn", "raw", "--set", "m=100000")
    assert shown.exit_code == 1
    assert "rgnn failed" in shown.stdout and "raw" in shown.stdout
    assert shown.stderr.startswith("error: 1 of 2 methods failed; rgnn: ")
    assert len(shown.stderr.splitlines()) == 1
    (folder,) = (tmp_path / "runs").iterdir()
    assert "<b>rgnn</b>" in (folder / "compare.html").read_text()
    assert set(json.loads((folder / "compare.json").read_text())["failures"]) == {"rgnn"}


@pytest.mark.parametrize("width", [80, 40])
def test_several_results_on_a_terminal(width: int, comparison: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(width=width, highlight=False)
    monkeypatch.setattr(summary, "console", lambda: screen)
    found = gather([comparison])
    with screen.capture() as capture:
        summary.show_groups(found.groups, found.sums)
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= width and "…" not in capture.get()
    text = " ".join(capture.get().split())
    if width == 80:
        assert "hogs 3 61.0 ± 1.0 70.0 78.8 ▲ 8 14.4 21,797.6 810 B" in text
        assert "raw 1 61.2 70.0 – – in clear in clear" in text
    else:
        assert "asking nobody 30.2, best null 78.8 ▲, no noise 85.1, claim 8, a relationship 14.4" in text
    assert "Labels on the graph alone are 17.6" in text and "null models: not taken" in text
    assert "Simulated from a seed: not private." in text
