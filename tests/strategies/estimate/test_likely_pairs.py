from __future__ import annotations

import pytest

from ldpsim.curator.methods import find
from ldpsim.curator.methods.local.hogs import HoGS
from ldpsim.strategies.estimate.fits import asked_of
from ldpsim.strategies.estimate.graph_facts import measured
from ldpsim.strategies.estimate.likely_pairs import likely_pairs
from ldpsim.strategies.experiments.trial import gather
from ldpsim.strategies.setup.options import RunOptions


@pytest.mark.parametrize("more", [{}, {"public_features": True}, {"reporting": "one-end"}])
@pytest.mark.parametrize("epsilon", [1e-4, 1e-3, 0.02, 0.2, 0.7, 1.5, 3.0, 8.0])
def test_the_pairs_that_hogs_holds_are_as_many_as_expected(epsilon: float, more: dict[str, object]) -> None:
    """Over all budgets that a loss of a whole record gives, down to 1e-4; within a fifth, or 3 pairs a person."""
    options = RunOptions(clients=400, epsilon=epsilon, out=None, **more)  # type: ignore[arg-type]
    trial = gather(options)
    method = HoGS()
    assert trial.reports is not None
    held = method.reconstruct_topology(trial.reports, trial.public)[2]["potential_links"]
    facts = measured(trial.population)
    expected = likely_pairs(method, asked_of(options, facts), facts)
    assert expected == pytest.approx(held, rel=0.2, abs=3 * 400)


def test_other_methods_have_no_such_law() -> None:
    options = RunOptions(method="sbp", clients=400, epsilon=1e-3, out=None)
    facts = measured(gather(options).population)
    assert likely_pairs(find("sbp")(), asked_of(options, facts), facts) is None
