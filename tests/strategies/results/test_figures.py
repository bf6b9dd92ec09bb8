"""Final figures: what is measured has a name, and what is open has no number."""

from __future__ import annotations

from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.results.figures import figures


def test_the_figures_of_a_run_are_those_of_its_record() -> None:
    record = simulate(RunOptions(clients=60, settings={"epochs": "2"}, out=None)).record
    found = dict(figures(record))
    assert found["accuracy.test"] == record["accuracy"]["test"] and "accuracy.std" not in found
    assert found["privacy.holds.relationship"] == record["privacy"]["holds"]["relationship"]["value"]
    assert record["privacy"]["holds"]["label"]["value"] is None and "privacy.holds.label" not in found
    assert found["nulls.chance"] == record["nulls"]["chance"]["test"]
    assert found["nulls.shuffled_all"] == record["nulls"]["shuffled"]["all"]["test"]
    assert found["communication.uplink_bytes"] == record["communication"]["uplink_bytes"]
    assert found["seconds.total"] > 0 and found["reference.nonprivate_test"] <= 1
    assert all(type(value) is float for value in found.values())


def test_an_open_level_and_a_delta_of_zero_have_no_number() -> None:
    holds = {
        "node": {"value": None, "status": "unprotected", "delta": 0.0},
        "label": {"value": 2.0, "status": "bounded", "delta": 1e-6},
        "bit_feature": {"value": 1.0, "status": "bounded", "delta": 0.0},
    }
    assert dict(figures({"privacy": {"holds": holds, "claimed": {"value": float("inf")}}})) == {
        "privacy.holds.label": 2.0, "privacy.holds.label.delta": 1e-6, "privacy.holds.bit_feature": 1.0,
    }  # fmt: skip
