"""Every local method: on graphs that are hard on it, with defences, and with label mechanisms of another package."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.defences import DEFENCES, Defended, defend
from ldpsim.curator.methods import OwnerMethod, Reference, find, table
from ldpsim.curator.reports.exclusion import silenced
from ldpsim.curator.reports.reports import Reports
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.runs.asking import ask
from ldpsim.strategies.runs.kind import kind_of
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.repeat import public_knowledge, temporary_repeat
from ldpsim.strategies.setup.read_options import read_alone

N, D, CLASSES = 40, 12, 3
LOCAL = sorted(
    name
    for name, kind in table().items()
    if not issubclass(kind, OwnerMethod) and "rounds" not in {entry.name for entry in fields(kind)}  # nor federated
)
SMALL: dict[str, dict[str, str]] = {
    "rgnn": {"C": "4", "m": "3"}, "ldpgen": {"graph": "one-sided"}, "lpgnn": {"k_x": "2", "k_y": "2"},
}  # fmt: skip


def _people(folder: Path, **changes: Any) -> Path:
    rng = np.random.default_rng(3)
    labels = np.arange(N) % CLASSES
    same = labels[:, None] == labels
    upper = np.triu(rng.random((N, N)) < np.where(same, 0.25, 0.03), 1)
    features = (rng.random((N, D)) < np.where(np.arange(D) % CLASSES == labels[:, None], 0.6, 0.1)).astype(float)
    split = {"train": np.arange(20), "val": np.arange(20, 30), "test": np.arange(30, N)}
    arrays = {
        "x": features, "edge_index": np.stack(np.nonzero(upper)), "labels": labels, "num_classes": CLASSES, **split,
        **changes,
    }  # fmt: skip
    path = folder / "people.npz"
    np.savez(path, **arrays)
    return path


HARD: dict[str, dict[str, Any]] = {
    "pairs": {
        "edge_index": np.array([[0, 1, 2, 25], [1, 2, 3, 31]]),
        "labels": np.where(np.arange(N) < 30, np.arange(N) % 2, 2),
        "x": np.where(np.arange(N)[:, None] % 4 == 0, 0.0, np.arange(N * D).reshape(N, D) % 3 == 0),
    },
    "nothing": {
        "edge_index": np.zeros((2, 0), np.int64),
        "x": np.zeros((N, D)),
        "labels": np.where(np.arange(N) < 30, 1, np.arange(N) % CLASSES),
    },
}


def _run(name: str, path: Path, **given: Any) -> dict[str, Any]:
    settings = {"epochs": "2", **SMALL.get(name, {}), **given.pop("settings", {})}
    options = RunOptions(
        method=name, dataset=str(path), settings=settings, split="file", reference=False, nulls=False,
        epsilon=40.0, **{"out": None, **given},
    )  # fmt: skip
    return simulate(read_alone(options)[0]).record


@pytest.mark.parametrize("what", HARD)
@pytest.mark.parametrize("name", LOCAL)
def test_it_runs(name: str, what: str, tmp_path: Path) -> None:
    settings = {"k_y": "0"} if (name, what) == ("lpgnn", "nothing") else {}
    volunteers = {"volunteers": 0.3} if find(name).needs_volunteers else {}
    record = _run(name, _people(tmp_path, **HARD[what]), settings=settings, **volunteers)
    assert 0 <= record["accuracy"]["test"] <= 1
    if not issubclass(find(name), Reference):  # a sum is one of the labels, too: who knows none is not asked
        assert record["devices"]["reported"] == (30 if volunteers else N)


FEW: dict[str, dict[str, str]] = {"rgnn": {"C": "4"}, "lpgnn": {"k_x": "2", "k_y": "2"}}


def _is_local(name: str) -> bool:
    kind = find(name)
    return not issubclass(kind, OwnerMethod | Reference) and "rounds" not in {entry.name for entry in fields(kind)}  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["rgnn", "lpgnn", "vote", "hogs", "sbp"])
@pytest.mark.parametrize("asked", [False, True])
def test_labels_that_people_are_asked_for_are_not_public(name: str, asked: bool) -> None:
    """Methods that ask for labels by themselves, --private-labels, and volunteers; those of test people never are."""
    given = {"volunteers": 0.2} if name == "vote" else {}
    by_itself = name in ("rgnn", "lpgnn", "vote")
    more = {"private_labels": True, "eps_labels": 1.0} if asked and not by_itself else {}
    setup = prepare(_options(name, **given, **more))
    split, labels = setup.plans[0].split, setup.population.labels
    known = public_knowledge(setup.population, split, setup.options, setup.method).labels
    public = np.zeros(0, np.int64) if by_itself or asked else split.labelled
    assert np.array_equal(np.flatnonzero(known >= 0), public) and np.array_equal(known[public], labels[public])


DEFENDED = [name for name in sorted(table()) if _is_local(name) and "defence" in find(name).spec.options_read]


def _options(name: str, **given: Any) -> RunOptions:
    if find(name)().features_optional:
        given["feature_share"] = 0.3
    short = {"epochs": "2"} if find(name)().effective_spec().trains_network else {}
    settings = {**short, **FEW.get(name, {})}
    return RunOptions(**{"method": name, "clients": 60, "reference": False, "nulls": False, "out": None,
                         "settings": settings, **given})  # fmt: skip


@pytest.mark.parametrize("name", DEFENDED)
def test_every_defence_composes_with_every_local_method(name: str, tmp_path: Path) -> None:
    options = _options(name, defence="all", out=tmp_path, save_reports=True)
    result = simulate(options)
    part = result.record["defence"]
    assert part["names"] == list(DEFENCES) and part["flagged"] == [] and part["false_alarm"] == 1e-3
    assert set(part["notes"]) == set(DEFENCES)
    reports, setup = Reports.load(result.folder / "reports"), prepare(options)
    public = public_knowledge(setup.population, setup.plans[0].split, options, setup.method)
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

    monkeypatch.setattr("ldpsim.strategies.runs.kinds.local.defend", counted)
    record = simulate(_options("solitude", defence="both-ends", nulls=True)).record
    shuffled = [name for name in record["nulls"] if name.startswith("shuffled")]
    assert shuffled and len(calls) == 2  # the run, and all data of others


@pytest.mark.parametrize("everybody", [False, True])
def test_nobody_learns_from_the_labels_in_clear_of_flagged_people(
    everybody: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the method nor a null model; the division stays where no validation person would be left."""
    setup = prepare(_options("hogs", defence="both-ends", nulls=True))
    with temporary_repeat(setup, 0) as repeat:
        train, val, test = repeat.split.train, repeat.split.val, repeat.split.test
        guilty = np.concatenate([train[:2], val if everybody else val[1:4], test[:1]])

        def flag(names: Any, reports: Reports, *_: Any) -> Defended:
            flagged = np.isin(np.arange(60), guilty)
            return Defended(silenced(reports, flagged), flagged, {})

        monkeypatch.setattr("ldpsim.strategies.runs.kinds.local.defend", flag)
        outcome = kind_of(setup.method).work(repeat, ask(repeat))
    known, graph = outcome.null_inputs, outcome.graph
    assert known is not None and graph is not None and outcome.extra["defence"]["flagged"] == sorted(guilty.tolist())
    assert outcome.reports is not None  # null models with one attribute of others read the rest of them
    assert np.array_equal(np.flatnonzero(~outcome.reports.answered), np.sort(guilty))
    left = [part if everybody else np.setdiff1d(part, guilty) for part in (train, val)]
    assert all(map(np.array_equal, (graph.train, graph.val), left))
    assert np.array_equal(np.flatnonzero(known.labels.labels >= 0), np.sort(np.concatenate(left)))


SPECS = {name: kind.spec for name, kind in table().items()}
ASKING = [name for name, spec in SPECS.items() if spec.trust == "untrusted curator" and "grr" in spec.mechanisms]
ONE_WORKER = {"clients": 60, "dataset": "generated", "engine": "local", "workers": 1, "reference": False,
              "device": "cpu", "out": None, "dropout": 0.05}  # fmt: skip


def options(method: str, mechanism: str, **more: Any) -> RunOptions:
    own = table()[method]()
    given = {**ONE_WORKER, "method": method, "label_mechanism": mechanism, "epsilon": 8.0, "eps_labels": 1.0,
             "private_labels": not own.effective_spec().asks_labels, "settings": {"epochs": "3"},
             **more}  # fmt: skip
    if not own.effective_spec().trains_network:
        given["settings"] = {}
    return RunOptions(**given)


@pytest.mark.usefixtures("short_perceptron", "of_another_package")
@pytest.mark.parametrize("method", ASKING)
def test_a_mechanism_of_another_package_works_with_every_method(method: str) -> None:
    """Its report is a row of flags, which was refused as an array element; now also null models read it."""
    result = simulate(options(method, "flags"))
    record = result.record
    assert record["devices"]["reported"] > 0 and not record["devices"]["failed"]
    assert 0 <= record["accuracy"]["test"] <= 1 and record["nulls"]
    assert record["privacy"]["holds"]["label"]["value"] == pytest.approx(1.0, abs=1e-8)
