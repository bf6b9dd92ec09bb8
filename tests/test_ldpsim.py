"""Python's front door: ``import ldpsim``.

It covers ``strategies/outputs/run_result.py`` too.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldpsim

SMALL: dict[str, Any] = {"clients": 60, "reference": False, "nulls": False, "settings": {"epochs": "2"}}


def test_importing_it_loads_no_library_and_switches_telemetry_off() -> None:
    code = (
        "import sys, os, ldpsim\n"
        "heavy = {'torch', 'numpy', 'scipy', 'flwr', 'ray', 'pandas', 'torch_geometric', 'matplotlib', 'typer'}\n"
        "print(sorted(heavy & set(sys.modules)), [os.environ[name] for name in ldpsim.NO_TELEMETRY][0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] 0\n"


def test_every_name_is_there_and_the_types_name_the_same() -> None:
    assert dir(ldpsim) == sorted(ldpsim.__all__)
    for name in ldpsim.__all__:
        assert getattr(ldpsim, name) is not None
    assert set(ldpsim._PLACES) == {name for name in ldpsim.__all__ if name not in vars(ldpsim)}
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = ldpsim.nothing


def test_options_by_name_are_those_of_an_options_object() -> None:
    by_name = ldpsim.simulate(method="rr", out=None, **SMALL)
    given = ldpsim.simulate(ldpsim.RunOptions(method="hogs", out=None, **SMALL), method="rr", keep_graph=False)
    assert by_name.record["config_hash"] == given.record["config_hash"]
    assert by_name.record["accuracy"] == given.record["accuracy"]
    assert len(by_name.graph) == 60
    with pytest.raises(ldpsim.NoGraph, match="kept no graph"):
        _ = given.graph


GRID: Any = {"fixed": {"clients": 60}, "grid": {"epsilon": [1]}}


@pytest.mark.parametrize(("call", "said"), [
    (lambda out: ldpsim.simulate(metod="hogs", out=out), "^metod: there is no such option; did you mean method"),
    (lambda out: ldpsim.compare(["hogs"], metod="rr", out=out), "^metod: there is no such option; did you mean method"),
    (lambda out: ldpsim.sweep(GRID, out, worker=1), "^worker: there is no such option; did you mean workers"),
    (lambda out: ldpsim.sweep(GRID, out, wrong=1), "^wrong: there is no such option"),
])  # fmt: skip
def test_an_unknown_option_is_one_line_that_names_the_nearest(call: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        call(tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.usefixtures("cells_in_this_process")
def test_a_comparison_and_a_sweep_are_data_frames(tmp_path: Path) -> None:
    compared = ldpsim.compare(["rr", "mlp"], out=tmp_path, workers=1, **SMALL)
    frame = compared.to_frame()
    assert frame["method"].tolist() == ["rr", "mlp"] and frame["holds_relationship"][0] == 16.0
    grid = {"fixed": {"clients": 60, "method": "rr", "reference": False, "nulls": False, "settings.epochs": 2},
            "grid": {"epsilon": [1, 4]}}  # fmt: skip
    swept = ldpsim.sweep(grid, tmp_path / "grid", workers=1).to_frame()
    assert swept["epsilon"].tolist() == [1.0, 4.0] and (swept["status"] == "done").all()
    with pytest.raises(ValueError, match=r"^\[grid\] epsilom: a run has no such option; did you mean epsilon"):
        ldpsim.sweep({"grid": {"epsilom": [1]}}, tmp_path / "wrong")


def test_a_plan_asks_nobody_and_takes_its_target_and_facts_by_name() -> None:
    made = ldpsim.plan(["hogs", "vote"], clients=500, holds=4.0, homophily=0.9)
    assert made.facts.n == 500 and made.facts.homophily == 0.9 and made.target.level == "user"
    assert {row.name for row in made.rows} == {"hogs", "vote"}
    with pytest.raises(ValueError, match="^homophilly: there is no such option"):
        ldpsim.plan(["hogs"], homophilly=0.9)


def test_a_model_of_ones_own_is_scored_without_the_labels() -> None:
    result = ldpsim.simulate(method="rr", out=None, **SMALL)
    own = result.graph.to_pyg().prediction
    assert result.score(own) == result.score(own.numpy()) == result.record["accuracy"]["test"]
    people = ldpsim.datasets.load("generated", clients=60, seed=ldpsim.RunOptions(**SMALL).seeds_of(0).population)
    assert result.score(people.labels) == 1.0
    unknown = result.graph.test
    wrong = people.labels.copy()
    wrong[unknown[:3]] += 1
    assert result.score(wrong) == pytest.approx(1 - 3 / len(unknown))
    assert (result.graph.to_pyg().y.numpy()[unknown] == -1).all()
    for bad in (np.zeros(59, int), np.zeros(60), np.zeros((60, 5))):
        with pytest.raises(ValueError, match="^score: give one class"):
            result.score(bad)
