"""Cells of graph federated learning: their search, and what a searched cell runs with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.papers import graph_federated as paper
from benchmarks.papers.cell import TableCell
from benchmarks.study import read_rows


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the place of a table of the search that is not there yet."""
    monkeypatch.setattr(paper, "SEARCH", tmp_path / "search.csv")
    paper.searched.cache_clear()
    yield tmp_path / "search.csv"
    paper.searched.cache_clear()


def test_a_cell_without_a_search_has_the_published_configuration() -> None:
    first = {"lr": 0.25, "local_steps": 4}
    assert (
        paper.chosen_settings("random", "cora", "gcn", "fedavg")
        == paper.chosen_settings("random", "cora", "gcn", "local")
        == first
    )
    assert paper.chosen_settings("random", "cora", "gcn", "fedopt") == {**first, "server_lr": 0.5}
    assert paper.chosen_settings("random", "cora", "gcn", "fedprox") == {**first, "proximal_mu": 0.1}


def test_the_search_chooses_by_validation_and_others_follow_fedavgs_choice(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[TableCell] = []
    best = {"lr": "0.05", "local_steps": "16"}

    def records_of(cells: list[TableCell], home: Path) -> list[dict[str, Any]]:
        found = []
        for cell in cells:
            settings = cell.options.settings
            right = all(settings[name] == value for name, value in best.items())
            found.append({"accuracy": {"val": 0.8 + 0.05 * right, "test": 0.9 - right}, "config_hash": "abc"})
        return found

    monkeypatch.setattr(paper, "run_cells", lambda cells, folder, workers: asked.extend(cells))
    monkeypatch.setattr(paper, "records_of", records_of)
    paper.search(tmp_path, "random", "cora", "gcn", "fedavg")
    assert len(asked) == 9 and {cell.options.seed for cell in asked} == {paper.SEARCH_SEED}
    assert paper.chosen_settings("random", "cora", "gcn", "fedavg") == best
    assert paper.chosen_settings("random", "cora", "gcn", "fedopt") == {**best, "server_lr": 0.5}
    assert paper.chosen_settings("louvain", "cora", "gcn", "fedavg") == paper.FIRST
    assert paper.chosen_settings("random", "cora", "sage", "fedavg") == paper.FIRST
    paper.search(tmp_path, "random", "cora", "gcn", "fedopt")
    assert all(best.items() <= cell.options.settings.items() for cell in asked[9:])
    assert {cell.options.settings["server_lr"] for cell in asked[9:]} == {"0.5", "0.1"}
    paper.search(tmp_path, "random", "cora", "gcn", "fedavg")  # again: its rows are replaced
    assert len(read_rows(table)) == 11


def test_settings_of_the_methods() -> None:
    def settings(method: str) -> dict[str, str]:
        options = paper.scope_options(
            "louvain", "citeseer", "gcn", method, paper.chosen_settings("louvain", "citeseer", "gcn", method)
        )
        assert options.split == "332-each/665" and options.settings["hidden"] == "64"
        return {"method": options.method, **options.settings}

    assert settings("local")["server_optimiser"] == "none" and settings("fedavg").get("server_optimiser") is None
    assert (settings("global")["silos"], settings("fedavg")["silos"], settings("fedavg")["partition"]) == (
        "1",
        "5",
        "louvain",
    )
    assert settings("fedopt")["server_optimiser"] == "sgd" and settings("fedprox")["method"] == "silo-fedprox"
