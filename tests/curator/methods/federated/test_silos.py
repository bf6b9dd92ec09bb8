"""Settings of the methods that train in silos."""

from __future__ import annotations

from typing import Any

import pytest

from ldpsim.curator.methods import find
from ldpsim.curator.methods.federated.silos import SiloFedProx, Silos


@pytest.mark.parametrize("mu", ["0", "-0.1", "nan", "inf"])
def test_a_proximal_weight_is_a_finite_number_above_0(mu: str) -> None:
    with pytest.raises(ValueError, match=f"--set proximal_mu={mu}: must be 1e-09 to"):
        SiloFedProx.from_settings({"proximal_mu": mu})
    assert SiloFedProx.from_settings({"proximal_mu": "0.25"}).mu == 0.25
    assert find("silo-fedavg-gcn")().mu == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [Silos, SiloFedProx])
@pytest.mark.parametrize("wrong", [{"silos": 1}, {"partition": "random"}, {"beta": 0.0}, {"rounds": 0}])
def test_parameters_outside_their_range(kind: type[Silos], wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"--set {name}="):
        kind(**wrong)
    assert kind(silos=2, partition="metis").silos == 2
