from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from curator.methods import find
from curator.methods.base import Budget
from devices.facts import PublicFacts, Split
from strategies import simulate
from strategies.setup.options import RunOptions
from strategies.setup.sampler import chosen_sampler, drawn_by

FEW = RunOptions(
    dataset="generated-v1", clients=60, nulls=False, reference=False, settings={"epochs": "2"}, device="cpu"
)


@pytest.mark.parametrize(("wanted", "found"), [(None, 2), (1, 1), (2, 2)])
def test_the_version_of_a_run(wanted: int | None, found: int) -> None:
    assert chosen_sampler(wanted, find("hogs")()) == found


@pytest.mark.parametrize("method", ["rgnn", "raw", "vote", "fedavg-mlp"])
def test_methods_without_randomised_response_keep_version_1(method: str) -> None:
    assert chosen_sampler(2, find(method)()) == 1


@pytest.mark.parametrize("method", ["hogs", "blink", "dprr", "symrr", "rr", "sbp", "solitude", "ldpgen"])
def test_questions_of_a_version(method: str) -> None:
    """The version changes randomised response alone."""
    facts, nodes = PublicFacts(40, 6, 2), np.arange(40)
    split = Split(nodes[:20], nodes[20:30], nodes[30:])
    budget = Budget(public_features=method not in ("hogs", "sbp", "solitude"))
    made = find(method)().questions(facts, split, budget, "c")
    assert drawn_by(made, 1) == tuple(made)
    for old, new in zip(made, drawn_by(made, 2), strict=True):
        assert old.devices is new.devices
        for attribute in old.query.attributes:
            asked = [m.name for stage in old.query.plan for ask in stage if ask.attribute == attribute
                     for m in ask.mechanisms]  # fmt: skip
            same = old.query.fingerprint(attribute) == new.query.fingerprint(attribute)
            assert same == ("randomized_response" not in asked)
            assert old.query.loss(attribute) == new.query.loss(attribute)


def test_devices_answer_both_versions_and_each_once(tmp_path: Path) -> None:
    """A device that enrolled for one version answers the other, as its mechanism and loss are the same."""
    older = replace(FEW, sampler=1, out=tmp_path / "runs", state=tmp_path / "state", on_requery="replay")
    newer = replace(older, sampler=2, out=tmp_path / "newer", state=tmp_path / "other")
    first, second = simulate(older), simulate(newer)
    for result, version in ((first, 1), (second, 2)):
        assert result.record["config"]["sampler"] == version
        assert result.record["devices"]["reported"] == 60
    assert first.record["privacy"]["holds"] == second.record["privacy"]["holds"]
    assert first.record["devices"]["reports_sha256"] != second.record["devices"]["reports_sha256"]
    again = simulate(replace(newer, out=tmp_path / "again")).record["devices"]
    assert (again["replayed"], again["reports_sha256"]) == (60, second.record["devices"]["reports_sha256"])
    # The other version is another question about the same list: a second answer would be a second release.
    with pytest.raises(Exception, match="REPORT_COLLECTED"):
        simulate(replace(newer, sampler=1, out=tmp_path / "third"))
