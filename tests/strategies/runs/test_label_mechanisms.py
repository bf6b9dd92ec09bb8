"""Whole runs with label mechanisms other than GRR, also of another package, with every method that asks for labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ldpsim.curator.methods import table
from ldpsim.devices import mechanisms
from ldpsim.strategies import RunOptions, simulate
from tests.curator.reports.kinds import Flags, Unequal
from tests.devices.mechanisms.test_of_another_package import Entry

SPECS = {name: kind.spec for name, kind in table().items()}
ASKING = [name for name, spec in SPECS.items() if spec.trust == "untrusted curator" and "grr" in spec.mechanisms]
SMALL = {"clients": 60, "dataset": "generated", "engine": "local", "workers": 1, "reference": False, "device": "cpu",
         "out": None, "dropout": 0.05}  # fmt: skip


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    offered = [Entry(Unequal), Entry(Flags)]
    mechanisms._installed.cache_clear()
    monkeypatch.setattr(mechanisms, "entry_points", lambda group: offered if group == "ldpsim.mechanisms" else [])
    yield
    mechanisms._installed.cache_clear()


def options(method: str, mechanism: str, **more: Any) -> RunOptions:
    own = table()[method]()
    given = {**SMALL, "method": method, "label_mechanism": mechanism, "epsilon": 8.0, "eps_labels": 1.0,
             "private_labels": not own.in_force().asks_labels, "settings": {"epochs": "3"},
             **more}  # fmt: skip
    if not own.in_force().trains_network:
        given["settings"] = {}
    return RunOptions(**given)


@pytest.mark.usefixtures("short_perceptron")
@pytest.mark.parametrize("method", ASKING)
def test_a_mechanism_of_another_package_works_with_every_method(method: str) -> None:
    """Its report is a row of flags, which was refused as an array element; now also null models read it."""
    result = simulate(options(method, "flags"))
    record = result.record
    assert record["devices"]["reported"] > 0 and not record["devices"]["failed"]
    assert 0 <= record["accuracy"]["test"] <= 1 and record["nulls"]
    assert record["privacy"]["holds"]["label"]["value"] == pytest.approx(1.0, abs=1e-8)
