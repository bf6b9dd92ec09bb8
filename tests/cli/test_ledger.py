from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from ldpsim.cli.ledger import states_in
from ldpsim.cli.main import app
from ldpsim.devices.data.population import build_population
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.mechanisms import OneBit, RandomizedResponse
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report

Listing = Callable[[Path], dict[str, str]]
N, D = 12, 5


def show(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["ledger", "show", *map(str, arguments)])


def error_line(*arguments: object) -> str:
    shown = show(*arguments)
    assert (shown.exit_code, shown.stdout) == (2, ""), shown.output
    assert len(shown.stderr.splitlines()) == 1
    return shown.stderr


def question(collection: str) -> Query:
    row = RandomizedResponse.from_epsilon(2.0, n=N, reporting="both")
    bits = OneBit.from_epsilon(0.5, d=D)
    return Query(collection, ((Ask("adjacency", (row,)), Ask("features", (bits,))),))


def make(folder: Path, *, silent: int = 2) -> None:
    """Enrol N devices; all but the last ones answer the same question."""
    population = build_population(
        "tiny", n=N, d=D, edges=np.array([[0, 1, 2], [1, 2, 3]]), feature_indptr=np.arange(N + 1),
        feature_indices=np.arange(N) % D, feature_values=None, labels=np.arange(N) % 2, classes=2,
    )  # fmt: skip
    query = question("the-first")
    state = enrol(folder, population, policy_for([query], population.facts), seed=7)
    for index in range(N - silent):
        assert isinstance(state.device(index).answer(query), Report)
    state.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    make(tmp_path / "run" / "state")
    return tmp_path / "run" / "state"


def test_summed_over_all_devices(state: Path, listing: Listing) -> None:
    before = listing(state)
    shown = show(state)
    assert shown.exit_code == 0
    text = " ".join(shown.stdout.split())
    for words in ("12 devices", "mode report", "asked again: refuse", "one_bit, randomized_response", "not private",
                  "the-first", "adjacency 2 22 22", "features 0.5 2.5 2.5",
                  "a list entry 2 1.6667",
                  "a person: all that a person reports 24.5 20.4167"):  # fmt: skip
        assert words in text, words
    assert all(len(line) <= 80 for line in shown.stdout.splitlines() if str(state) not in line)
    assert listing(state) == before


def test_a_runs_folder_means_its_devices(state: Path) -> None:
    assert show(state.parent).stdout == show(state).stdout
    make(state.parent / "state-1")
    assert [s.folder.name for s in states_in(state.parent)] == ["state", "state-1"]


def test_as_json(state: Path) -> None:
    (whole,) = json.loads(show(state, "--json").stdout)["states"]
    assert whole["devices"] == N
    assert whole["simulation_seeded"] is True
    assert whole["policy"]["caps"]["adjacency"]["bit"] == 2.0
    assert [(r["attribute"], r["collection"], r["devices"]) for r in whole["releases"]] == [
        ("adjacency", "the-first", N - 2), ("features", "the-first", N - 2),
    ]  # fmt: skip
    assert whole["lifetime_per_device"]["user"] == {"max": 24.5, "mean": pytest.approx(24.5 * (N - 2) / N, abs=1e-6)}
    (one,) = json.loads(show(state, "--device", 3, "--json").stdout)["states"]
    assert [(e["attribute"], e["loss_bit"], e["loss_vector"]) for e in one["entries"]] == [
        ("adjacency", 2.0, 22.0), ("features", 0.5, 2.5),
    ]  # fmt: skip
    assert one["lifetime_per_device"]["vector"]["max"] == 2.5
    assert "device 3 released" in show(state, "--device", 3).stdout
    assert "device 11: nothing" in show(state, "--device", 11).stdout


def test_mistakes(state: Path) -> None:
    assert "no such folder" in error_line(state / "ledger.sqlite")
    assert f"devices 0 to {N - 1}" in error_line(state, "--device", N)
    assert "--device -1" in error_line(state, "--device", "-1")


@pytest.mark.parametrize("file", ["ledger.sqlite", "enrolment.json", "secrets.bin"])
@pytest.mark.parametrize("how", ["gone", "empty", "cut", "rubbish"])
def test_damage_is_told_and_not_touched(state: Path, file: str, how: str, listing: Listing) -> None:
    path = state / file
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "cut": data[: len(data) // 2], "rubbish": b"\x07rubbish" * 50}[how])
    before = listing(state.parent)
    line = error_line(state)
    assert str(state) in line or "enrolled" in line
    assert "damaged" in line or "missing" in line or "enrolled" in line
    assert listing(state.parent) == before


@pytest.mark.parametrize(
    "change", ["number = 1", "body = x'00'", "device = 11", "kind = 'update'", "collection = 'second'"]
)
def test_an_edited_row_is_found(state: Path, change: str) -> None:
    with sqlite3.connect(state / "ledger.sqlite") as db:
        db.execute(f"UPDATE answer SET {change} WHERE device = 3")
    db.close()
    line = error_line(state)
    assert "does not carry its seal" in line or "is missing" in line
    assert "LEDGER_DAMAGED" in line
