"""One measured run: every phase of the product is there, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.speed import scale_run


@pytest.mark.parametrize(("method", "graph"), [("lpgnn", "generated"), ("sbp", "arxiv-like")])
def test_a_run_has_its_phases_and_leaves_nothing(
    method: str, graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ldpsim.curator.linear.threads.limit_threads", lambda most: None)
    run = scale_run.measured(method, 200, graph, 2, nulls=False)
    assert {"population", "enrol", "collect", "reconstruct", "ledgers"} <= set(run["phases"])
    assert run["cpu"] > 0 and run["peak"] > 50 and 0 < run["test"] <= 1
    most = max(phase["peak"] for phase in run["phases"].values())
    assert run["peak"] == pytest.approx(most, abs=8)
    assert run["uplink_bytes"] > 0 and run["folder_bytes"] > run["ledger_bytes"] > 0
    assert list(tmp_path.iterdir()) == []
