"""One measured run: every phase of the product is there, and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.speed import scale_run


@pytest.mark.parametrize(("drawn", "asked"), [(False, {"enrol", "collect", "ledgers"}), (True, {"collect"})])
def test_a_run_has_its_phases_and_leaves_nothing(
    drawn: bool, asked: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ldpsim.curator.linear.threads.limit_threads", lambda most: None)
    found = scale_run.measured("lpgnn", 120, "generated", 2, drawn=drawn, nulls=False)
    assert {"population", "reconstruct", "train", "evaluate", *asked} <= set(found["phases"])
    assert found["cpu"] > 0 and found["peak"] > 50
    most = max(phase["peak"] for phase in found["phases"].values())
    assert found["peak"] == pytest.approx(most, abs=8)
    assert (found["uplink_bytes"] > 0) is not drawn and found["folder_bytes"] > found["ledger_bytes"] or drawn
    assert (found["ledger_bytes"] > 0) is not drawn
    assert list(tmp_path.iterdir()) == []


def test_the_graph_like_arxiv_is_a_data_set_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ldpsim.curator.linear.threads.limit_threads", lambda most: None)
    found = scale_run.measured("sbp", 200, "arxiv-like", 2, drawn=True, nulls=False)
    assert found["graph"] == "arxiv-like" and 0 < found["test"] <= 1
