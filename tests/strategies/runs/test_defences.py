"""Runs with defences: they compose with every local method, and result.json says what they did."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.defences import DEFENCES, defend
from ldpsim.curator.methods import OwnerMethod, Reference, find, table
from ldpsim.curator.reports.reports import Reports
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.runs.run import public_knowledge
from ldpsim.strategies.runs.set_up import set_up

SETTINGS: dict[str, dict[str, str]] = {"rgnn": {"C": "4"}, "lpgnn": {"k_x": "2", "k_y": "2"}}


def _is_local(name: str) -> bool:
    kind = find(name)
    return not issubclass(kind, OwnerMethod | Reference) and "rounds" not in {entry.name for entry in fields(kind)}  # type: ignore[arg-type]


LOCAL = [name for name in sorted(table()) if _is_local(name)]


def _options(name: str, **given: Any) -> RunOptions:
    if find(name).spec.auto_share:
        given["feature_share"] = 0.3
    short = {"epochs": "2"} if find(name)().in_force().trains_network else {}
    settings = {**short, **SETTINGS.get(name, {})}
    return RunOptions(**{"method": name, "clients": 60, "reference": False, "nulls": False, "out": None,
                         "settings": settings, **given})  # fmt: skip


@pytest.mark.parametrize("name", LOCAL)
def test_every_defence_composes_with_every_local_method(name: str, tmp_path: Path) -> None:
    options = _options(name, defence="all", out=tmp_path, save_reports=True)
    result = simulate(options)
    part = result.record["defence"]
    assert part["names"] == list(DEFENCES) and part["flagged"] == [] and part["false_alarm"] == 1e-3
    assert set(part["notes"]) == set(DEFENCES)
    reports, setup = Reports.load(result.folder / "reports"), set_up(options)
    public = public_knowledge(setup.population, setup.repeats[0].split, options, setup.method)
    for defence in DEFENCES:
        kept = defend((defence,), reports, 1e-3)
        assert not kept.flagged.any()
        if kept.reports is not reports:  # else it is the graph of every run
            assert setup.method.reconstruct(kept.reports, public).edge_index.shape[0] == 2


def _with_a_liar(folder: Path, person: int = 5) -> None:
    """Edit kept reports: a person says to have a million neighbours."""
    reports = Reports.load(folder)
    reports.with_arrays(degrees=np.where(np.arange(60) == person, 1_000_000, reports.arrays["degrees"])).save(folder)


def test_a_liar_counts_as_silent_and_is_named(tmp_path: Path) -> None:
    options = _options("blink", epsilon=6.0, out=tmp_path, save_reports=True)
    folder = simulate(options).folder
    _with_a_liar(folder / "reports")
    again = replace(options, out=None, save_reports=False, from_reports=folder / "reports")
    record = simulate(replace(again, defence="degree")).record
    assert record["defence"]["flagged"] == [5] and record["defence"]["notes"]["degree"]["flagged"] == 1
    assert "defence" not in simulate(again).record


def test_null_models_have_the_same_defences(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(names: Any, reports: Reports, *rest: Any) -> Any:
        calls.append(int(reports.answered.sum()))
        return defend(names, reports, *rest)

    monkeypatch.setattr("ldpsim.strategies.runs.one_report.defend", counted)
    record = simulate(_options("solitude", defence="both-ends", nulls=True)).record
    shuffled = [name for name in record["nulls"] if name.startswith("shuffled")]
    assert shuffled and len(calls) == 2  # the run, and all data of others
