"""Settings of the methods that train in rounds on devices.

It covers ``curator.methods.federated.private`` too.
"""

from __future__ import annotations

import pytest

from curator.methods.federated.fedavg import FedAvgMLP, FedProx


@pytest.mark.parametrize("mu", ["0", "-0.1", "nan", "inf"])
def test_a_proximal_weight_is_a_finite_number_above_0(mu: str) -> None:
    with pytest.raises(ValueError, match=f"--set proximal_mu={mu}: must be a finite number above 0"):
        FedProx.from_settings({"proximal_mu": mu})
    assert FedProx.from_settings({"proximal_mu": "0.25"}).mu == 0.25
    assert FedAvgMLP().mu == 0
