"""What DP-FedAvg's models cost, against dp-accounting's own accountants."""

from __future__ import annotations

import dp_accounting as dp
import pytest
from dp_accounting import pld, rdp

from curator.methods import find
from curator.methods.base import Budget
from curator.privacy.federated import Rounds, central_epsilon, noise_multiplier_for, printed_epsilon
from curator.privacy.levels import LEVELS
from devices.facts import PublicFacts

FACTS = PublicFacts(n=1000, d=5, classes=3)


def test_everybody_asked_is_one_gaussian_at_half_the_multiplier() -> None:
    asked = Rounds(rounds=4, people=500, sample=500, delta=1e-3)
    ours = central_epsilon(asked, 8.0)
    accountant = pld.PLDAccountant(dp.NeighboringRelation.REPLACE_ONE, value_discretization_interval=1e-3)
    accountant.compose(dp.GaussianDpEvent(8.0), 4)  # this accountant knows that a replacement moves a sum twice
    assert ours <= accountant.get_epsilon(1e-3) + 1e-9
    assert ours == pytest.approx(accountant.get_epsilon(1e-3), rel=5e-3)
    # power: the usual figure, which forgets that a replaced device moves the mean twice as far, is far below
    assert printed_epsilon(asked, 8.0) < 0.6 * ours


def test_drawn_devices_cost_what_dp_accounting_says() -> None:
    asked = Rounds(rounds=20, people=1000, sample=50, delta=1e-4)
    accountant = rdp.RdpAccountant(neighboring_relation=dp.NeighboringRelation.REPLACE_ONE)
    # this one takes the noise over the sensitivity itself, which is twice the clipping norm
    accountant.compose(dp.SampledWithoutReplacementDpEvent(1000, 50, dp.GaussianDpEvent(2.0)), 20)
    assert central_epsilon(asked, 4.0) == pytest.approx(accountant.get_epsilon(1e-4), abs=2e-9)
    poisson = pld.PLDAccountant(value_discretization_interval=1e-3)
    poisson.compose(dp.PoissonSampledDpEvent(0.05, dp.GaussianDpEvent(4.0)), 20)
    assert printed_epsilon(asked, 4.0) == pytest.approx(poisson.get_epsilon(1e-4), abs=2e-9)
    assert central_epsilon(asked, 4.0) < central_epsilon(Rounds(20, 1000, 1000, 1e-4), 4.0)


@pytest.mark.parametrize("sample", [500, 100])
def test_the_multiplier_is_the_smallest_that_holds(sample: int) -> None:
    asked = Rounds(rounds=10, people=500, sample=sample, delta=1e-3)
    multiplier = noise_multiplier_for(asked, 2.0)
    assert central_epsilon(asked, multiplier) <= 2.0 < central_epsilon(asked, multiplier * 0.995)


def test_guarantees_say_who_is_protected_from_whom() -> None:
    central = find("dp-fedavg")().guarantee(FACTS, (), Budget(epsilon=3.0)).to_dict()
    assert central["trust"] == "trusted curator" and central["claimed"]["value"] < 3.0
    assert central["holds"]["central_node"]["status"] == "bounded"
    assert 2.9 < central["holds"]["central_node"]["value"] <= 3.0
    assert central["holds"]["user"]["status"] == central["holds"]["label"]["status"] == "unprotected"
    local = find("ldp-fedavg")().guarantee(FACTS, (), Budget(epsilon=3.0)).to_dict()
    assert local["trust"] == "untrusted curator"
    assert local["holds"]["user"] == {**local["holds"]["user"], "status": "bounded", "value": 3.0}
    assert local["holds"]["user"]["delta"] * FACTS.n < 1
    for name in ("fedavg-mlp", "fedprox", "fedavg-gnn", "fedgcn", "silo-fedavg-gcn", "silo-fedgcn", "silo-fedprox"):
        found = find(name)().guarantee(FACTS, (), Budget())
        assert found.trust == "trusted curator" and found.holds["user"].status == "unprotected"
        assert found.why_they_differ and set(found.holds) == set(LEVELS)
        edges = "unprotected" if "adjacency" in find(name).uses else "not asked"  # type: ignore[attr-defined]
        assert found.holds["relationship"].status == edges
    assert {level.status for level in find("isolate")().guarantee(FACTS, (), Budget()).holds.values()} == {"not asked"}


@pytest.mark.parametrize(
    ("method", "settings", "line"),
    [
        ("fedavg-mlp", {"rounds": "0"}, "--set rounds=0"),
        ("fedavg-mlp", {"fraction": "1.5"}, "--set fraction=1.5"),
        ("fedavg-mlp", {"server_optimiser": "sgd"}, "average, adam"),
        ("fedavg-mlp", {"dropping": "1"}, "--set dropping=1"),
        ("fedprox", {"proximal_mu": "0"}, "--set proximal_mu=0"),
        ("dp-fedavg", {"clip": "-1"}, "--set clip=-1"),
        ("dp-fedavg", {"clipping": "none"}, "fixed, adaptive"),
        ("ldp-fedavg", {"fraction": "0.3"}, "take turns"),
        ("ldp-fedavg", {"evaluate_every": "5"}, "label"),
        ("silo-fedavg-gcn", {"partition": "louvain"}, "dirichlet, metis"),
        ("silo-fedavg-gcn", {"silos": "1"}, "at least 2"),
    ],
)
def test_a_mistake_is_one_line(method: str, settings: dict[str, str], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        find(method).from_settings(settings)


def test_fedavg_of_a_gcn_is_explained_where_it_is_chosen() -> None:
    with pytest.raises(ValueError, match=r"no edge to train on.*fedavg-gnn"):
        find("fedavg-gcn")
    with pytest.raises(ValueError, match="no edge to train on"):
        find("silo-fedavg-gcn")(silos=40).check_people(50)  # type: ignore[attr-defined]
