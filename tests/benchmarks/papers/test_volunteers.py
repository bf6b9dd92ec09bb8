"""The table of the vote beside volunteers: made of its rows alone, and the one on the page."""

from __future__ import annotations

from pathlib import Path

from benchmarks import RESULTS
from benchmarks.papers.volunteers import ASKED, CELLS, LABELS, NOT_ASKED, draw, row_of, section, studies
from benchmarks.study import read_rows


def _row(dataset: str, share: str, epsilon: str, seed: int, accuracy: float, **nulls: float) -> dict[str, str]:
    found = {
        "chance": "",
        "features_alone": "",
        "graph_alone": "",
        **{name: str(value) for name, value in nulls.items()},
    }
    return {
        "labels": ASKED,
        "dataset": dataset,
        "volunteers": share,
        "epsilon": epsilon,
        "seed": str(seed),
        "accuracy": str(accuracy),
        **found,
    }


ROWS = [
    _row("cora", "0.1", "4", seed, 0.6 + seed / 10, chance=0.3, features_alone=0.5, graph_alone=0.4)
    for seed in range(2)
]


def test_a_line_has_means_and_spreads_of_its_seeds() -> None:
    other = {**_row("pubmed", "0.01", "4", 1, 0.25), "labels": NOT_ASKED}
    assert section([*ROWS, _row("pubmed", "0.01", "4", 1, 0.75), other], ASKED).splitlines()[2:] == [
        "| cora | 10 % | - | - | 65.0 ± 7.1 (2) | - | 30.0 ± 0.0 (2) | 50.0 ± 0.0 (2) | 40.0 ± 0.0 (2) |",
        "| pubmed | 1 % | - | - | 75.0 (1) | - | - | - | - |",
    ]


def test_a_row_has_the_figures_of_a_result() -> None:
    nulls = {"chance": {"test": 0.3}, "features_alone": None, "shuffled": {"all": {"test": 0.25}}}
    assert row_of({"accuracy": {"test": 0.5}, "nulls": nulls}) == {
        "accuracy": "0.50000", "chance": "0.30000", "features_alone": "", "graph_alone": "", "shuffled_all": "0.25000",
    }  # fmt: skip


def test_every_cell_has_a_key_of_its_own(tmp_path: Path) -> None:
    study = studies(tmp_path)[0]
    assert len({study.key_of(cell) for cell in CELLS}) == len(CELLS) == 1310
    assert study.results.found(CELLS) == [None] * 1310


def test_the_picture_is_drawn_of_what_there_is(tmp_path: Path) -> None:
    draw(ROWS, tmp_path / "figures" / "picture.png")
    assert (tmp_path / "figures" / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_tables_of_the_page_are_those_of_its_rows() -> None:
    rows, page = read_rows(RESULTS / "volunteers.csv"), (RESULTS / "vote.md").read_text()
    assert all(section(rows, labels) in page for labels in LABELS)
