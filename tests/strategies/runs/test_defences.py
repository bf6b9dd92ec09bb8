"""Runs with defences: they compose with every local method, and result.json says what they did."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.defences import DEFENCES, Defended, defend
from ldpsim.curator.methods import OwnerMethod, Reference, find, table
from ldpsim.curator.reports.reports import Reports
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.runs.one_report import OneReportRun, _without_flagged
from ldpsim.strategies.runs.run import RepeatContext, public_knowledge
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
    assert result.folder is not None
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
    assert reports.degrees is not None
    replace(reports, degrees=np.where(np.arange(60) == person, 1_000_000, reports.degrees)).save(folder)


def test_a_liar_counts_as_silent_and_is_named(tmp_path: Path) -> None:
    options = _options("blink", epsilon=6.0, out=tmp_path, save_reports=True)
    folder = simulate(options).folder
    assert folder is not None
    _with_a_liar(folder / "reports")
    again = replace(options, out=None, save_reports=False, from_reports=folder / "reports")
    record = simulate(replace(again, defence="degree")).record
    assert record["defence"]["flagged"] == [5] and record["defence"]["notes"]["degree"]["flagged"] == 1
    assert "defence" not in simulate(again).record
    assert sum(record["reconstruction"]["degrees"]["noisy"]) == 59  # the liar's row is not among the reported ones


def test_the_class_of_a_liar_is_not_learned_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = _options("blink", epsilon=6.0, out=tmp_path, save_reports=True)
    folder = simulate(options).folder
    assert folder is not None
    _with_a_liar(folder / "reports", 3)
    divisions: list[Any] = []
    real = OneReportRun.graph

    def graph(run: OneReportRun, scene: Any, reports: Reports | None) -> Any:
        divisions.append(scene.split)
        return real(run, scene, reports)

    monkeypatch.setattr(OneReportRun, "graph", graph)
    again = replace(options, out=None, save_reports=False, from_reports=folder / "reports")
    scores = [simulate(replace(again, defence=name)).record["accuracy"]["per_repeat"] for name in ("none", "degree")]
    plain, guarded = divisions
    assert 3 in plain.labelled and guarded.labelled.tolist() == [node for node in plain.labelled if node != 3]
    assert guarded.test.tolist() == plain.test.tolist() and len(scores) == 2


def test_somebody_is_left_to_learn_from() -> None:
    setup = set_up(_options("blink"))
    scene = RepeatContext(setup, 0, Path(), Path(), None, "c", False, (), lambda *_: None)
    everybody = Defended(None, np.ones(60, np.bool_), {})  # type: ignore[arg-type]
    assert _without_flagged(scene, everybody) is scene and _without_flagged(scene, None) is scene
    half = replace(everybody, flagged=np.isin(np.arange(60), scene.split.train[1:]))
    assert _without_flagged(scene, half).split.train.tolist() == scene.split.train[:1].tolist()


def test_null_models_have_the_same_defences(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(names: Any, reports: Reports, *rest: Any) -> Any:
        calls.append(int(reports.answered.sum()))
        return defend(names, reports, *rest)

    monkeypatch.setattr("ldpsim.strategies.runs.one_report.defend", counted)
    record = simulate(_options("solitude", defence="both-ends", nulls=True)).record
    shuffled = [name for name in record["nulls"] if name.startswith("shuffled")]
    assert shuffled and len(calls) == 2  # the run, and all data of others


def test_a_hash_changes_with_a_defence_alone() -> None:
    plain = _options("blink")
    assert set_up(plain).digest == set_up(replace(plain, defence="none", false_alarm=1e-3)).digest
    assert set_up(plain).digest != set_up(replace(plain, defence="degree")).digest


@pytest.mark.parametrize("name", ["b1", "fedavg-mlp", "ldp-fedavg", "silo-fedgcn"])
def test_where_nobody_reports_there_is_nothing_to_defend(name: str) -> None:
    with pytest.raises(ValueError, match=f"--defence all: {name} does not read it"):
        set_up(_options(name, defence="all", clients=300, settings={}))
