"""Parts of an estimate: rows of the same reports, bins over all pairs, and the edges that no pair holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paired import inside
from benchmarks.paired.calibration import read_bins
from benchmarks.paired.cells import PUBLIC, sbp
from benchmarks.paired.measure import Cell, measure
from benchmarks.paired.rows import read_rows
from strategies.setup.run_setup import load_population

COMMON = {"epsilon": 4.0, "public_features": True}


def test_parts_are_of_the_same_reports_as_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = replace(sbp("generated", **COMMON).options, clients=200)
    people = load_population(options)
    monkeypatch.setattr(inside, "load_population", lambda options: people)
    (answer,) = measure(Cell(PUBLIC, "4", (sbp("generated", **COMMON),)), 7, people, home=tmp_path / "reports")
    assert list(inside.run(["generated"], [4.0], (7, 8), tmp_path)) == ["generated, epsilon 4"]
    rows = read_rows(tmp_path / "rows.csv")
    assert {row.reports for row in rows if row.seed == 7} == {answer.reports}
    names = {row.method for row in rows}
    assert {"sbp: beliefs alone", "sbp: pool without beliefs"} <= names
    edges, missed = read_bins(tmp_path / "calibration.csv")["edges"]["generated, epsilon 4"]
    assert edges.happened + missed == pytest.approx(2 * people.edges.shape[1], abs=0.1)  # two seeds, bins of 5 digits
    found = inside.inside("generated", 4.0, 7, people)
    probability, true = found.edges
    assert len(probability) == len(true) and true.sum() + found.missed == people.edges.shape[1]
    assert probability[true].mean() > probability[~true].mean()
    assert np.mean(found.classes[1]) == pytest.approx(answer.test / 100)
