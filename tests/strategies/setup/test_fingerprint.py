from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from ldpsim.curator.methods.base import Budget
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup import fingerprint
from ldpsim.strategies.setup.fingerprint import hashed_budget, hashed_options
from ldpsim.strategies.setup.options import RunOptions

VARIED: dict[str, Any] = {
    "label_rate": 0.5, "repeats": 2, "repeats_vary": "split", "eps_features": 2.0, "settings": {"epochs": "5"},
    "on_requery": "replay", "caps": {"bit": 4.0}, "seeds": {"noise": None}, "dropout": 0.25, "seed": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "digest"),
    [
        (RunOptions(dataset="generated", clients=60), "511828da54da"),
        (RunOptions(dataset="generated", method="lpgnn", clients=60, device="cpu", **VARIED), "6ae9382305e7"),
        (RunOptions(dataset="generated", method="dp-fedavg", clients=60, split="split42", epsilon=3.0), "3dbbe3a3a8d4"),
    ],
)
def test_hashes_of_stored_results_stay_valid(options: RunOptions, digest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "ldpsim_version", lambda: "0.1.0")
    assert set_up(options).digest == digest


@pytest.mark.parametrize(
    "given",
    [{"method": "raw"}, {"split": "split42"}, {"label_rate": 0.5}, {"device": "cpu"}, {"repeats": 2}, {"dropout": 0.1},
     {"repeats_vary": "noise"}, {"on_requery": "replay"}, {"caps": {"bit": 1.0}}],
)  # fmt: skip
def test_an_option_that_can_change_a_result_is_hashed_as_given(given: dict[str, Any]) -> None:
    def hashed(options: RunOptions) -> dict[str, Any]:
        return hashed_options(options, lambda spec: spec.hashed in ("always", "unless default"))

    assert hashed(replace(RunOptions(), **given)) == {**hashed(RunOptions()), **given}


@pytest.mark.parametrize(
    "given",
    [{"clients": 61}, {"epsilon": 4.0}, {"settings": {"tau": "0.6"}}, {"gnn": "sage"}, {"seed": 1},
     {"seeds": {"split": 1}}, {"private_labels": True, "eps_labels": 1.0}],
)  # fmt: skip
def test_an_option_in_force_is_hashed_by_what_follows_from_it(given: dict[str, Any]) -> None:
    options = RunOptions(clients=60)
    assert set_up(replace(options, **given)).digest != set_up(options).digest


@pytest.mark.parametrize("given", [{"engine": "local"}, {"workers": 3}, {"out": None}, {"reference": False}])
def test_where_a_run_happens_is_not_hashed(given: dict[str, Any]) -> None:
    options = RunOptions(clients=60)
    assert set_up(replace(options, **given)).digest == set_up(options).digest


def test_a_new_field_of_the_budget_is_hashed_only_where_it_is_given() -> None:
    @dataclass(frozen=True)
    class Wider(Budget):
        eps_place: float | None = None

    assert hashed_budget(Wider(epsilon=4.0)) == hashed_budget(Budget(epsilon=4.0))
    assert hashed_budget(Wider(eps_place=2.0)) == {**hashed_budget(Budget()), "eps_place": 2.0}
