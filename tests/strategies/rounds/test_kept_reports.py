from __future__ import annotations

from pathlib import Path

import numpy as np

from curator.reports.reports import Reports
from strategies.experiments.trial import gather
from strategies.rounds.collect_once import Collected
from strategies.rounds.kept_reports import are_kept, load_reports, write_reports
from strategies.setup.options import RunOptions


def test_reports_and_counts_come_back_and_the_counts_come_last(tmp_path: Path) -> None:
    reports = gather(RunOptions(clients=20, out=None)).reports
    assert reports is not None
    collected = Collected({0: b"one", 3: b"two"}, asked=5, reported=2, silent=1, rounds=1, messages=7, uplink_bytes=9)
    collected.refused["REPORT_COLLECTED"] += 2
    assert not are_kept(tmp_path)
    write_reports(tmp_path, collected, reports)
    assert are_kept(tmp_path)
    counts, found = load_reports(tmp_path)
    assert counts.reports == {} and counts.reports_sha256 == collected.reports_sha256
    for name in ("asked", "reported", "silent", "rounds", "messages", "uplink_bytes", "refused", "replayed"):
        assert getattr(counts, name) == getattr(collected, name), name
    assert found.query() == reports.query()
    assert np.array_equal(found.features, reports.features) and np.array_equal(found.answered, reports.answered)
    reports.save(tmp_path / "other")
    assert not are_kept(tmp_path / "other")  # a collection that was stopped before its counts
    assert Reports.load(tmp_path / "other").facts == reports.facts
