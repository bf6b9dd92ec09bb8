"""GAP and ProGAP through ``simulate``: records handed over, noise that a run keeps, the row without a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.people.owner_graphs import handed_lists
from ldpsim.strategies.rounds.batches import read_records
from ldpsim.strategies.runs import graph_owner
from ldpsim.strategies.runs.set_up import set_up, temporary_scene

NODE = {"level": "node", "batch": "20", "degree": "4", "epochs": "3"}


def options(
    out: Path | None = None, method: str = "gap", settings: dict[str, str] | None = None, **more: Any
) -> RunOptions:
    given = {"reference": False, "nulls": False, "clients": 80, "epsilon": 8.0, **more}
    return RunOptions(method=method, settings={"epochs": "5", **(settings or {})}, out=out, device="cpu", **given)


def test_everybody_hands_over_and_the_levels_stand_beside_the_claim() -> None:
    record = simulate(options()).record
    assert record["devices"]["asked"] == record["devices"]["reported"] == 80
    holds, section = record["privacy"]["holds"], record["graph_owner"]
    assert {name for name, level in holds.items() if level["status"] == "bounded"} == set()
    assert section["published"]["relationship"] == pytest.approx(8.0, abs=1e-6)
    assert section["published"]["person_joins"] is None
    assert record["privacy"]["claimed"]["value"] == section["claimed"]
    record = simulate(options(settings=NODE)).record
    held = record["privacy"]["holds"]["central_node"]
    assert held["status"] == "bounded" and held["value"] <= 8.0
    assert "own prediction reads the own row without noise" in held["detail"]
    assert record["graph_owner"]["private_steps"] == 12


def test_the_owners_lists_are_those_that_were_handed_over() -> None:
    setup = set_up(options())
    with temporary_scene(setup, 0) as scene:
        _, collected = graph_owner.ask_devices(scene)
        answers = read_records(setup.population.facts, collected)
        del answers[5]
        data, whole = handed_lists(setup.population.facts, answers), graph_owner._raw(setup)
    assert data.labels[5] == -1 and not data.features[[5]].nnz and 5 not in data.senders
    kept = whole.senders != 5
    assert np.array_equal(data.senders, whole.senders[kept]) and np.array_equal(data.names, whole.names[kept])
    assert np.array_equal(np.delete(data.labels, 5), np.delete(whole.labels, 5))
    rest = np.delete(np.arange(80), 5)
    assert (data.features[rest] - whole.features[rest]).count_nonzero() == 0
    assert data.arcs(0, None)[[5]].nnz == 0  # an arc needs the names of both ends


@pytest.mark.parametrize("method", ["gap", "progap"])
def test_the_first_weights_come_from_the_seed_of_the_training(method: str, tmp_path: Path) -> None:
    models = []
    for number, seed in enumerate((1, 1, 2)):
        result = simulate(options(tmp_path / str(number), method, seeds={"noise": 5, "training": seed}))
        models.append((result.folder / "model.safetensors").read_bytes())
    assert models[0] == models[1] != models[2]
