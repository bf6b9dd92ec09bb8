"""What people try first, in an empty folder: each is understood, or refused in one line that names what to give."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

import ldpsim as api
from ldpsim.cli.main import app
from ldpsim.cli.output import console
from ldpsim.cli.screen import Screen

QUICK = ["--clients", "60", "--no-nulls", "--no-reference", "--set", "epochs=2"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ldpsim(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("level", ["person", "a person", "user"])
def test_a_level_may_be_named_by_its_words(level: str) -> None:
    assert api.plan(["hogs"], clients=500, holds=4, level=level).wishes.level == "user"


def test_a_finished_command_shows_its_result_until_it_is_asked_again(folder: Path) -> None:
    first, second = ldpsim("run", *QUICK, "--json"), ldpsim("run", *QUICK, "--json")
    assert first.exit_code == second.exit_code == 0 and first.stdout == second.stdout
    assert "--again runs it once more" in second.stderr and "--again" not in first.stderr
    for more in (["--again"], ["--save-reports"], ["--state", "devices"]):  # these run
        assert "--again" not in ldpsim("run", *QUICK, *more, "--quiet").stderr
    assert len(list((folder / "runs").iterdir())) == 4


def test_messy_files_are_told_in_one_message_and_then_learned_from(folder: Path) -> None:
    """Semicolons, decimal commas, gaps, commas in categories, dates, strangers: three commands, the first refused."""
    rng, n = np.random.default_rng(0), 240
    group = rng.integers(0, 3, n)
    rows = [
        f'C{k};{["new", "old", "lost"][c] if k % 10 else ""};"{["Rome, Lazio", "Oslo", "Paris"][c if k % 3 else 0]}";'
        f"{'' if k % 40 == 0 else f'{10 + 5 * c + rng.random():.1f}'.replace('.', ',')};2021-0{1 + k % 9}-11"
        for k, c in enumerate(group)
    ]
    (folder / "people.csv").write_text("\n".join(["customer;segment;city;spent;since", *rows]))
    pairs = [pair for pair in rng.integers(0, n, (4000, 2)) if group[pair[0]] == group[pair[1]]][:900]
    edges = [f"C{a};C{b}" for a, b in pairs] + ["C1;stranger"]
    (folder / "edges.csv").write_text("\n".join(["from;to", *edges]))
    refused = ldpsim("import", "edges.csv", "people.csv")
    told = refused.stderr
    assert refused.exit_code == 2 and "Traceback" not in told
    for option in (
        "--source from --target to", "--id customer", "--label segment", "--one-hot city", "--decimal , --missing zero",
        "--ignore since", "--without-row drop", "--scale clip, binary or minmax",
    ):  # fmt: skip
        assert option in told, option
    cities = 'city="Rome, Lazio",Oslo,Paris'
    mended = "import edges.csv people.csv --source from --target to --id customer --label segment --decimal , "
    mended += "--missing zero --ignore since --without-row drop --scale minmax --out mine.npz"
    made = ldpsim(*mended.split(), "--one-hot", cities)
    assert made.exit_code == 0, made.output
    run = ldpsim("run", "--dataset", "mine.npz", "--method", "sbp", "--json")
    assert json.loads(run.stdout)["verdict"]["above_chance"]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_screen_is_as_wide_as_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Screen, "is_terminal", True)
    monkeypatch.setenv("COLUMNS", str(width))
    assert console().width == width
