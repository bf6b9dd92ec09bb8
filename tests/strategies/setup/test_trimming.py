"""Trainings in rounds with ``--defence``: what is trimmed, what is not, and what the result says."""

from __future__ import annotations

from typing import Any

import pytest

from strategies import RunOptions, simulate
from strategies.runs.set_up import set_up
from strategies.setup.trimming import trim_section, trimmed_updates


def _options(method: str, **given: Any) -> RunOptions:
    return RunOptions(**{"method": method, "clients": 60, "settings": {"rounds": "2"}, "reference": False,
                         "nulls": False, "out": None, **given})  # fmt: skip


@pytest.mark.parametrize("method", ["fedavg-mlp", "fedavg-gnn", "silo-fedavg-gcn"])
def test_updates_are_trimmed_and_counted(method: str) -> None:
    part = simulate(_options(method, defence="trim,weight")).record["defence"]
    assert part["names"] == ["weight", "trim"] and part["flagged"] == []
    assert 0 <= part["notes"]["trim"]["clipped_updates"] < part["notes"]["trim"]["updates"]
    assert "no reports" in part["notes"]["weight"]["not_used"]


def test_central_noise_is_not_trimmed() -> None:
    setup = set_up(_options("dp-fedavg", defence="all"))
    assert trimmed_updates(setup) is None
    assert "noise" in trim_section(setup.options, None)["defence"]["notes"]["trim"]["not_used"]


def test_without_a_defence_nothing_is_said() -> None:
    setup = set_up(_options("fedavg-mlp", defence="weight"))
    assert trimmed_updates(setup) is None and trim_section(_options("fedavg-mlp"), None) == {}
    assert "rounds" in trim_section(setup.options, None)["defence"]["notes"]["weight"]["not_used"]
