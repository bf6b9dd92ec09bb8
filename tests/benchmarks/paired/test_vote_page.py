"""The page of vote from made-up rows: counts of goals and of safe cells, matched levels, and lies that are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.paired.cells import NOBODY, PUBLIC
from benchmarks.paired.measure import FEATURES_ALONE, STRONG_NULL
from benchmarks.paired.rows import Row, read_rows
from benchmarks.paired.summary import Results
from benchmarks.paired.vote_cells import (
    BATCHES,
    FEW,
    GROUPS,
    NO_FEATURES,
    OF_A_PERSON,
    VOTE,
    by_name,
    homophily_name,
    load,
    vote,
)
from benchmarks.paired.vote_liars import draw, with_lies
from benchmarks.paired.vote_page import NAME, TABLE, headline, page, reached, safe_line, write
from strategies.experiments.trial import gather_for
from strategies.runs.set_up import set_up


def row(method: str, seed: int, test: float, setting: str = PUBLIC, budget: str = "4", dataset: str = "cora") -> Row:
    return Row(dataset, setting, budget, seed, method, "", test, test, 1.0, 1, "q", "r", "c")


ROWS = [
    *(row(VOTE, seed, 84.0 + seed % 2) for seed in range(4)),
    *(row(VOTE, seed, 77.0, budget="1") for seed in range(4)),
    *(row(STRONG_NULL, seed, 77.0 + seed % 2, NOBODY, "") for seed in range(4)),
    *(row(FEATURES_ALONE, seed, 76.0 + seed % 2, NOBODY, "") for seed in range(4)),
    *(row("sbp", seed, 77.5, budget=f"{OF_A_PERSON:g}") for seed in range(3)),
    *(row(VOTE, seed, 71.0, NO_FEATURES) for seed in range(3)),
    *(row(VOTE, seed, 72.5, f"{NO_FEATURES}, three batches") for seed in range(3)),
    *(row(BATCHES, seed, 70.0, FEW) for seed in range(3)),
    *(row(name, seed, 71.0, FEW) for seed in range(3) for name in (STRONG_NULL, FEATURES_ALONE)),
]


def test_goals_are_paired_gains_over_the_strong_null() -> None:
    found = {place: (round(value, 1), goal) for place, _, goal, value, _ in reached(Results(ROWS))}
    assert found["cora", PUBLIC, "4"] == (7.0, 7)
    assert found["cora", FEW, "4"] == (-1.0, 10)
    assert found["cora", NO_FEATURES, "4"] == (72.5, 72)  # three batches where they were run
    assert headline(Results(ROWS)).startswith("Of 22 goals 2 were reached, 2 were missed and 18 were not run.")


def test_a_cell_below_features_alone_is_named() -> None:
    assert "in 2 of 3 cells. These are not:" in safe_line(Results(ROWS))
    assert f"| cora, {FEW}, 4 | {BATCHES}: -1.0" in page(Results(ROWS))


def test_the_page_holds_the_matched_person_and_is_written_whole(tmp_path: Path) -> None:
    write(ROWS, tmp_path, picture=False)
    text = (tmp_path / NAME).read_text()
    assert "| sbp | 0.00148 | 77.5 ± 0.0 (3) | +6.8" in text and "None" not in text
    assert read_rows(tmp_path / TABLE) == ROWS


def test_all_cells_name_people_that_exist() -> None:
    cells = by_name(GROUPS)
    assert len({repr(cell) for cell in cells}) == len(cells)
    made = [cell for cell in cells if cell.shown_dataset in ("partnered", homophily_name(0.2))]
    assert {load(cell).name for cell in made} == {"partnered", homophily_name(0.2)}


def test_liars_report_their_second_candidate() -> None:
    setup = set_up(vote("generated", clients=60, epsilon=4.0, public_features=True).options)
    reports = gather_for(setup).reports
    assert reports is not None and reports.votes is not None
    liars = draw(range(60), 0.5, 60, seed=1)
    lied = with_lies(reports, liars)
    assert liars.sum() == 30 and (lied.votes[liars] == 1).all()
    assert np.array_equal(lied.votes[~liars], reports.votes[~liars])
    assert not any((part.votes[liars] > 1).any() for part in lied.parts)
    assert (draw(range(60), 0.2, 60, seed=1) <= liars).all()
