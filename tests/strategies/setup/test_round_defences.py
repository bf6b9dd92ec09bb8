"""Trainings in rounds with ``--defence``: what is trimmed, what is not, and what the result says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from strategies import RunOptions, simulate
from strategies.runs.federated import task_of
from strategies.runs.set_up import set_up
from strategies.setup.round_defences import round_defences


def _options(method: str, **given: Any) -> RunOptions:
    return RunOptions(**{"method": method, "clients": 60, "settings": {"rounds": "2"}, "reference": False,
                         "nulls": False, "out": None, **given})  # fmt: skip


@pytest.mark.parametrize("method", ["fedavg-mlp", "fedavg-gnn", "silo-fedavg-gcn"])
def test_updates_are_trimmed_and_counted(method: str) -> None:
    part = simulate(_options(method, defence="trim,weight")).record["defence"]
    assert part["names"] == ["weight", "trim"] and part["flagged"] == []
    assert 0 <= part["notes"]["trim"]["clipped_updates"] < part["notes"]["trim"]["updates"]
    assert "no reports" in part["notes"]["weight"]["not_used"]


def test_updates_under_noise_are_compared() -> None:
    """Honest updates are not alike, and the deviation is that of the devices' noise."""
    options = _options("ldp-fedavg", defence="duplicates", epsilon=8.0)
    part = simulate(options).record["defence"]
    assert part["flagged"] == [] and part["notes"] == {"duplicates": {"compared": ["updates"], "flagged": 0}}
    setup = set_up(options)
    noise = task_of(setup, "c").noise
    assert noise is not None
    alike = round_defences(setup, noise).alike
    drawn = noise.perturb(np.zeros(20_000), bytes(32))
    assert alike is not None and alike.clip == noise.clip
    assert alike.sigma == pytest.approx(drawn.std(), rel=0.03)


def test_central_noise_is_not_trimmed() -> None:
    found = round_defences(set_up(_options("dp-fedavg", defence="all")))
    assert found.trimmed is None and found.alike is None and found.steps == []
    notes = found.section()["defence"]["notes"]
    assert "noise" in notes["trim"]["not_used"] and "alike by nature" in notes["duplicates"]["not_used"]


def test_without_a_defence_nothing_is_said() -> None:
    found = round_defences(set_up(_options("fedavg-mlp", defence="weight")))
    assert found.steps == [] and "rounds" in found.section()["defence"]["notes"]["weight"]["not_used"]
    assert round_defences(set_up(_options("fedavg-mlp"))).section() == {}
