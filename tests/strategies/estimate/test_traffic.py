from __future__ import annotations

from dataclasses import replace

import pytest

from ldpsim.strategies import simulate
from ldpsim.strategies.estimate.fits import asked_of
from ldpsim.strategies.estimate.graph_facts import known_before
from ldpsim.strategies.estimate.traffic import expected_traffic, miniature
from ldpsim.strategies.setup.options import RunOptions


@pytest.mark.parametrize("method", ["hogs", "rgnn", "ldpgen", "vote"])
def test_bytes_are_within_two_per_cent_of_a_run(method: str) -> None:
    settings = {} if method == "vote" else {"epochs": "2"}  # vote trains no network
    options = RunOptions(method=method, dataset="generated", clients=400, out=None, reference=False, nulls=False,
                         device="cpu", engine="local", settings=settings)  # fmt: skip
    facts = known_before(options)
    assert facts is not None
    paper = expected_traffic(asked_of(options, facts), facts)
    sent = simulate(options, keep_graph=False).record["communication"]
    assert paper.up == pytest.approx(sent["uplink_bytes_per_device"], rel=0.02)
    # A vote's table depends on what earlier answers say.
    assert paper.down == pytest.approx(sent["downlink_bytes_per_device"], rel=0.3 if method == "vote" else 0.02)
    assert paper.rounds == (2 if method == "ldpgen" else 1)


def test_a_miniature_has_the_facts() -> None:
    facts = known_before(RunOptions(clients=50_000))
    assert facts is not None
    people = miniature(replace(facts, homophily=0.4, mean_degree=9.0, features=80, words=6.0), 900, seed=2)
    assert people.degrees.mean() == pytest.approx(9.0, rel=0.1)
    assert people.homophily == pytest.approx(0.4, abs=0.1)
    assert len(people.feature_indices) / 900 == pytest.approx(6.0, rel=0.25)
