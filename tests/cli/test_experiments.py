"""``ldpsim compare``, ``sweep`` and ``tune``: tables, pages, what is run again, and what failed."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from ldpsim.cli import summary
from ldpsim.cli.main import app
from ldpsim.cli.report.gather import gather
from ldpsim.curator.methods import HoGS
from ldpsim.strategies.runs.repeat import Repeat

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
    assert "Epsilons differ, for a person " in shown.stdout
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
        assert "At equal epsilon for a person (4), " in text
    assert "(--noise-seed os); 2 repeats on the same people would lose 2 times as much" in seeded
    assert "lose 2 times as much" not in alone and "not private" not in real
    assert real.count("losses add") == 1 and "4 collections asked the same people (generated)" in real
    assert "a person 16" in real and "asked the same people" not in seeded + alone


def test_budgets_that_were_made_equal(tmp_path: Path) -> None:
    shown = compare(tmp_path, "hogs", "solitude", "--match", "relationship", "2")
    assert shown.exit_code == 0, shown.output
    assert "At equal epsilon for a friendship (2), " in shown.stdout
    shown = compare(tmp_path, "hogs", "solitude", "lpgnn", "raw", "--match", "relationship", "2")
    assert (
        "At equal epsilon for a friendship (2), " in shown.stdout and "raw: " not in shown.stdout
    )  # it protects nothing
    assert "lpgnn: in clear at the level of a friendship" in shown.stdout
    (folder,) = (tmp_path / "runs").iterdir()
    assert "<b>lpgnn</b> in clear at the level of a friendship" in (folder / "compare.html").read_text()


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
        assert "hogs 3 61.0 ± 1.0 78.8 ▲ 70.0 8 14.4 21,798 810 B" in text
        assert "raw 1 61.2 – 70.0 – in clear in clear none" in text
    else:
        assert "simpler 78.8 ▲, no noise 85.1, device (alone) 70.0, epsilon claimed 8, friendship 14.4" in text
    assert "Warning: simulated from a seed: these reports are not private" in text


CELLS = """
[fixed]
clients = 60
reference = false
nulls = false
device = "cpu"
settings.epochs = 3

[grid]
method = ["hogs", "raw"]
seed = [0, 1]
"""


def sweep(folder: Path, text: str, *arguments: str) -> Result:
    (folder / "grid.toml").write_text(text)
    command = ["sweep", str(folder / "grid.toml"), "--out", str(folder / "runs"), *arguments]
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, command)


def test_a_sweep_ends_with_a_table_and_the_next_runs_nothing(
    tmp_path: Path, listing: Callable[[Path], dict[str, str]]
) -> None:
    shown = sweep(tmp_path, CELLS)
    assert shown.exit_code == 0, shown.output
    folder = tmp_path / "runs" / "sweep-grid"
    assert "4 runs: 4 done now, 0 done before, 0 failed." in shown.stdout
    assert str(folder / "table.csv") in shown.stdout
    table = [line for line in shown.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, table)) <= 80
    assert len(shown.stdout.splitlines()) <= 20
    following = shlex.split(shown.stdout.partition("\nNext: ")[2].splitlines()[0])
    assert following == ["ldpsim", "report", str(folder)]
    assert (folder / "table.csv").read_text().count("\n") == 5
    assert (folder / "summary.csv").read_text().count("\n") == 3  # two methods, two seeds each
    assert len(re.findall(r"\d ± \d", shown.stdout)) == 2 and str(folder / "summary.csv") in shown.stdout
    assert len(list(folder.glob("*/result.json"))) == 4
    assert len(list(folder.glob("*/config.toml"))) == 4
    before = listing(folder)

    again = sweep(tmp_path, CELLS, "--json")
    assert again.exit_code == 0, again.output
    document = json.loads(again.stdout)
    assert (document["found"], document["failed"], len(document["rows"])) == (4, 0, 4)
    assert document["table"] == str(folder / "table.csv")
    assert document["summary"] == str(folder / "summary.csv")
    assert listing(folder) == before

    quiet = sweep(tmp_path, CELLS, "--quiet")
    assert quiet.stdout == f"{folder / 'table.csv'}\n"


def test_the_first_screen_of_a_sweep_names_the_best_setting_on_validation(tmp_path: Path) -> None:
    """Twelve settings: ten rows, from the best one on, and a sentence with the same figures."""
    grid = CELLS.replace('["hogs", "raw"]', '["mlp"]') + 'gnn = ["none"]\nsettings.epochs = [1, 2, 3, 20, 40, 60]\n'
    grid = grid.replace("settings.epochs = 3\n", "").replace('gnn = ["none"]\n', "settings.lr = [0.1, 0.01]\n")
    shown = sweep(tmp_path, grid)
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert len(lines) <= 20 and "… 2 more (--details)" in lines
    rows = [re.fullmatch(r"(mlp, .*?) +([\d.]+) +([\d.]+) ± .*", line) for line in lines]
    figures = [row.groups() for row in rows if row]
    shares = [float(validation) for _, validation, _ in figures]
    assert len(shares) == 10 and shares == sorted(shares, reverse=True) and shares[0] > shares[-1]
    setting, validation, test = figures[0]
    best = f"{setting}. It is right for {validation} % of validation people, {test} % of test people"
    assert best in " ".join(shown.stdout.split())
    folder = tmp_path / "runs" / "sweep-grid"
    assert lines[-1] == f"Written to {folder / 'table.csv'}, and means over the seeds to {folder / 'summary.csv'}"
    details = sweep(tmp_path, grid, "--details").stdout
    assert len(re.findall(r"\d ± \d", details)) == 12


def test_another_file_of_the_same_name_has_a_folder_of_its_own(tmp_path: Path) -> None:
    sweep(tmp_path, CELLS)
    folder = tmp_path / "runs" / "sweep-grid"
    table = (folder / "table.csv").read_bytes()
    other = sweep(tmp_path, CELLS.replace("epochs = 3", "epochs = 2"), "--quiet")
    assert other.stdout == f"{folder}-2/table.csv\n" and (folder / "table.csv").read_bytes() == table
    changed = sweep(tmp_path, CELLS.replace("[0, 1]", "[1, 2]"), "--json")  # the first file again, with another seed
    assert (json.loads(changed.stdout)["folder"], json.loads(changed.stdout)["found"]) == (str(folder), 2)


def test_a_failed_cell_is_exit_1_with_one_line(tmp_path: Path) -> None:
    grid = CELLS.replace("raw", "rgnn") + "settings.C = [100000]\n"
    shown = sweep(tmp_path, grid, "--json")
    assert shown.exit_code == 1
    document = json.loads(shown.stdout)
    assert [row["status"] for row in document["rows"]] == ["done", "done", "failed", "failed"]
    assert document["failed"] == 2
    assert shown.stderr.startswith("error: 2 of 4 cells failed; method=rgnn, settings.C=100000, seed=0: --set C")
    assert len(shown.stderr.splitlines()) == 1
    shown = sweep(tmp_path, grid)
    assert shown.exit_code == 1
    assert "4 runs: 0 done now, 2 done before, 2 failed." in shown.stdout


def test_people_who_are_asked_again_have_their_sum(tmp_path: Path) -> None:
    """Cells with noise of the operating system are collections of the same people; `raw` asks nobody."""
    grid = f"{CELLS}\n[[cells]]\nseeds.noise = 9\n"
    shown = sweep(tmp_path, grid.replace("[fixed]", '[fixed]\nseeds.noise = "os"\nseeds.population = 1', 1), "--json")
    assert shown.exit_code == 0, shown.output
    document = json.loads(shown.stdout)
    losses = [row["holds_user"] for row in document["rows"] if row["method"] == "hogs" and row["noise_seed"] is None]
    (found,) = document["in_all"]
    assert (found["collections"], found["holds"]["user"]["value"]) == (2, pytest.approx(sum(losses)))


@pytest.mark.parametrize("where", ["fixed", "grid", "cells"])
def test_a_sweep_file_names_no_place_of_its_reader(where: str, tmp_path: Path) -> None:
    table = {"fixed": "[fixed]\n{}\n[grid]\nseed = [0]\n", "grid": "[grid]\n{}\n", "cells": "[[cells]]\n{}\n"}[where]
    for name in ("data_dir", "collector_key", "from_reports"):
        value = '["/evil"]' if where == "grid" else '"/evil"'
        shown = sweep(tmp_path, table.format(f"{name} = {value}"))
        assert shown.exit_code == 2, shown.output
        assert f"{name} is a place on the machine of whoever wrote the file" in shown.stderr
    assert not (tmp_path / "runs").exists()


def test_a_grid_on_the_command_line_beside_a_file_or_alone(tmp_path: Path) -> None:
    shown = sweep(tmp_path, CELLS, "-g", "seed=3", "-g", "epsilon=3,4", "--json")
    assert shown.exit_code == 0, shown.output
    rows = json.loads(shown.stdout)["rows"]
    assert [(row["method"], row["epsilon"], row["seed"]) for row in rows] == [
        ("hogs", 3.0, 3), ("hogs", 4.0, 3), ("raw", 8.0, 3),
    ]  # fmt: skip
    alone = f"sweep -g method=mlp -g clients=60 -g settings.epochs=2 --quiet --out {tmp_path}"
    assert CliRunner().invoke(app, alone.split()).stdout == f"{tmp_path / 'sweep-grid' / 'table.csv'}\n"


TUNED = ["--clients", "60", "--set", "epochs=3", "--device", "cpu"]


def ldpsim(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, [str(argument) for argument in arguments])


def tune(*arguments: object) -> Result:
    return ldpsim("tune", "hogs", *TUNED, *arguments)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often people were asked, one entry a collection."""
    from ldpsim.strategies.experiments import tune as tuning

    asked: list[int] = []
    ask = tuning.ask

    def counting(repeat: Repeat) -> object:
        asked.append(len(asked))
        return ask(repeat)

    monkeypatch.setattr(tuning, "ask", counting)
    return asked


def test_curator_parameters_are_compared_on_one_set_of_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = counted(monkeypatch)
    shown = tune("--grid", "tau=.5,.9", "--grid", "lr=.01,.1", "--json")
    assert shown.exit_code == 0, shown.output
    document = json.loads(shown.stdout)
    assert (len(asked), document["collections"], len(document["rows"])) == (1, 1, 4)
    assert {(row["values"]["tau"], row["values"]["lr"]) for row in document["rows"]} == {
        (0.5, 0.01), (0.5, 0.1), (0.9, 0.01), (0.9, 0.1),
    }  # fmt: skip
    scores = [row["val_accuracy"] for row in document["rows"]]
    assert scores == sorted(scores, reverse=True)
    best = document["best"]
    assert best["values"] == {"epochs": 3, **document["rows"][0]["values"]}
    assert (best["provenance"], best["collections"], best["epsilon"], best["dataset"]) == ("ours", 1, 8.0, "generated")


def test_the_score_is_what_a_run_reaches(tmp_path: Path) -> None:
    document = json.loads(tune("--grid", "lr=.1", "--json").stdout)
    shown = ldpsim("run", *TUNED, "--set", "lr=.1", "--no-reference", "--no-nulls", "--json", "--out", tmp_path)
    record = json.loads(shown.stdout)
    assert document["rows"][0]["val_accuracy"] == record["accuracy"]["val"]


def test_a_run_with_the_tuned_setting_counts_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = tune("--grid", "tau=.5,.9", "--repeats", "2", "--quiet")
    assert shown.exit_code == 0, shown.output
    (setting,) = tomllib.loads(shown.stdout)["setting"]
    assert setting["collections"] == 2
    from ldpsim.curator import tuned

    monkeypatch.setattr(tuned, "settings_of", lambda method: (setting,) if method == "hogs" else ())
    run = ldpsim(
        "run", "--clients", 60, "--tuned", "--no-reference", "--no-nulls", "--json", "--out", tmp_path / "runs"
    )
    record = json.loads(run.stdout)
    assert (record["privacy"]["collections"], record["privacy"]["searched"]) == (1, 2)
    assert record["config"]["parameters"]["tau"] == setting["values"]["tau"]
    assert record["config"]["parameters"]["epochs"] == 3
    assert record["config"]["provenance"]["tau"].startswith("ours: validation accuracy over 2 collections")


def test_a_reference_asks_nobody() -> None:
    shown = ldpsim("tune", "raw", *TUNED, "--grid", "lr=.01,.1")
    assert shown.exit_code == 0, shown.output
    assert "0 collections: no reports." in shown.stdout


def test_a_grid_cannot_change_what_people_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method whose parameter stands in its query: comparing it on one set of reports would be wrong."""
    from ldpsim.curator.methods import HoGS

    plain = HoGS.questions

    def with_tau(self: HoGS, facts: object, split: object, budget: object, collection: str) -> object:
        return plain(self, facts, split, budget, f"{collection}-{self.tau}")  # type: ignore[arg-type]

    monkeypatch.setattr(HoGS, "questions", with_tau)
    shown = tune("--grid", "tau=.5,.9")
    assert shown.exit_code == 2
    assert "--grid tau=.5: changes what people are asked; `ldpsim sweep -g` runs such values" in shown.stderr


def test_collections_that_were_made_are_summed_by_level() -> None:
    arguments = ("--grid", "lr=.1", "--repeats", "2", "--noise-seed", "os")
    asked = json.loads(tune(*arguments, "--json").stdout)["in_all"]
    one = json.loads(ldpsim("run", *TUNED, "--no-reference", "--no-nulls", "--json").stdout)["privacy"]["holds"]["user"]
    assert (asked["collections"], asked["holds"]["user"]["value"]) == (2, pytest.approx(2 * one["value"]))
    said = " ".join(tune(*arguments).stdout.split())
    assert "2 collections asked the same people (generated), and losses add: a bit" in said
    assert "If 2 collections asked the same people" in " ".join(tune(*arguments[:4]).stdout.split())


@pytest.mark.parametrize("command", ["compare", "sweep"])
def test_ctrl_c_keeps_finished_cells_and_the_same_command_goes_on(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listing: Callable[[Path], dict[str, str]]
) -> None:
    """As ``run`` does (``test_run.py``); the finished cell's files are the same to the byte afterwards."""
    words = {"compare": ["rr", "hogs"], "sweep": ["-g", "method=rr,hogs", "-g", "clients=60", "-g", "nulls=false",
                                                    "-g", "settings.epochs=3"]}[command]  # fmt: skip
    given = [command, *words, *(SMALL if command == "compare" else []), "--out", str(tmp_path / "runs")]

    def run() -> Result:
        return CliRunner(env={"COLUMNS": "80"}).invoke(app, given)

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(HoGS, "train", stop)
        stopped = run()
    (folder,) = (tmp_path / "runs").iterdir()
    assert stopped.exit_code == 130 and "Traceback" not in stopped.output
    last = stopped.stderr.splitlines()[-1]
    assert last.startswith("error: interrupted: ")
    assert f"1 of 2 cells are finished and kept in {folder}; the same command goes on" in last
    (finished,) = (path.parent for path in folder.glob("*/result.json"))
    before = listing(finished)
    went_on = run()
    assert went_on.exit_code == 0, went_on.output
    assert len(list(folder.glob("*/result.json"))) == 2 and listing(finished) == before
    assert [*(tmp_path / "runs").iterdir()] == [folder]
