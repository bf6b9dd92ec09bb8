"""Owners of graphs through ``simulate``: PrivGnn, PATE and the baselines, GAP and ProGAP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import PrivGnn
from ldpsim.curator.owner.teachers.answering import Teaching
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.devices.client_app import open_state
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State
from ldpsim.strategies import Refused, RunOptions, simulate
from ldpsim.strategies.people.division import divide
from ldpsim.strategies.people.owner_graphs import handed_lists
from ldpsim.strategies.people.shuffled import shuffled
from ldpsim.strategies.rounds.records import read_records
from ldpsim.strategies.runs import judging
from ldpsim.strategies.runs import prepare as preparing
from ldpsim.strategies.runs.asking import ask
from ldpsim.strategies.runs.kind import kind_of
from ldpsim.strategies.runs.kinds import graph_owner, owner
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.repeat import temporary_repeat
from ldpsim.strategies.runs.spent import is_attained

QUICK = {"queries": "45", "K": "15", "epochs": "6", "hidden": "8"}


def options(out: Path | None, method: str = "privgnn", **more: Any) -> RunOptions:
    settings = {**QUICK, **more.pop("settings", {})}
    if method != "privgnn":
        settings.pop("K")
    if method.startswith("b"):
        settings.pop("queries")
    return RunOptions(method=method, clients=160, out=out, settings=settings, **{"nulls": False, "workers": 1, **more})


def test_devices_hand_over_once(tmp_path: Path) -> None:
    state = tmp_path / "state"
    given = simulate(options(tmp_path / "a", state=state)).record["teachers"]
    assert (given["reused"], given["labels_released_in_all"]) == (0, 45)
    # 64 private people: the largest power of ten below 1 / 64; the paper's tables took ten times that
    assert (given["private"], given["delta"], given["delta_printed"]) == (64, 0.01, pytest.approx(0.1))
    assert given["epsilon_in_all"] == given["epsilon"]["label"] and state.stat().st_mode & 0o077 == 0
    unbounded = simulate(options(tmp_path / "a", settings={"scores": "log-posterior"})).record["teachers"]
    assert unbounded["epsilon_in_all"] is None
    with pytest.raises(Refused, match="REPORT_COLLECTED 64"):
        simulate(options(tmp_path / "b", state=state))
    open_state.cache_clear()
    division = divide_of(tmp_path)
    opened = State(state)
    assert [sum(len(a.parts) for a in opened.ledger(i).answers(i)) for i in range(160)] == [
        3 * (i in division.private) for i in range(160)
    ]
    with pytest.raises(Refused, match="MODE_REFUSED"):
        simulate(RunOptions(method="hogs", clients=160, out=tmp_path / "c", state=state))


@pytest.mark.parametrize("method", ["privgnn", "pate-g"])
def test_the_student_learns_from_the_released_labels_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """With other true labels of the people asked about, the teachers, their labels and the student stay the same."""
    plain = preparing.load_population
    moved = []

    def relabelled(given: RunOptions) -> Population:
        people = plain(given)
        division = divide(people, given.seeds_of(0).split)
        labels = people.labels.copy()
        labels[division.candidates] = (labels[division.candidates] + 1) % people.facts.classes
        moved.append(len(division.candidates))
        return replace(people, labels=labels)

    settings = {"teachers": "3"} if method == "pate-g" else {}
    first = simulate(options(tmp_path / "a", method, settings=settings))
    monkeypatch.setattr(preparing, "load_population", relabelled)
    again = simulate(options(tmp_path / "b", method, settings=settings))
    assert first.folder is not None and again.folder is not None and moved == [48]
    labels = "pseudo_label_accuracy"
    assert again.record["teachers"][labels] != first.record["teachers"][labels]
    assert again.record["teachers"]["labels_sha256"] == first.record["teachers"]["labels_sha256"]
    assert again.record["accuracy"]["test"] == first.record["accuracy"]["test"]
    assert again.record["reference"] == first.record["reference"]  # B1 learns from private people alone
    model = "model.safetensors"
    assert (again.folder / model).read_bytes() == (first.folder / model).read_bytes()


def test_the_accuracy_of_labels_is_that_of_the_people_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody's one feature tells the label: the features of those asked about say what is right."""
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [80, 50, 30]))
    np.savez(tmp_path / "people.npz", x=np.eye(3)[labels], edge_index=np.zeros((2, 0), np.int64), labels=labels,
             num_classes=3)  # fmt: skip
    seen: dict[str, Any] = {}
    order, release = owner.query_order, PrivGnn.labels

    def ordered(public: Any, *given: Any, **more: Any) -> Any:
        seen["classes"] = public.features.argmax(axis=1)[found := order(public, *given, **more)]
        return found

    def released(self: PrivGnn, values: np.ndarray, **more: Any) -> Any:
        seen["taught"], seen["labels"] = values.argmax(axis=1), release(self, values, **more)
        return seen["labels"]

    monkeypatch.setattr(owner, "query_order", ordered)
    monkeypatch.setattr(PrivGnn, "labels", released)
    given = replace(options(None, settings={"lambda_": "1"}), clients=None, dataset=str(tmp_path / "people.npz"))
    section = simulate(given).record["teachers"]
    truth = seen["classes"][:45]
    for name, said in (("pseudo_label_accuracy", seen["labels"]), ("teacher_accuracy", seen["taught"])):
        assert section[name] == pytest.approx(np.mean(said == truth)) and 0 < section[name] < 1


def test_null_models_of_an_owner_know_the_released_labels_of_those_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the owner releases the truth, which the one feature tells: 45 of 48 candidates have their own label."""
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [80, 50, 30]))
    np.savez(tmp_path / "people.npz", x=np.eye(3)[labels], edge_index=np.zeros((2, 0), np.int64), labels=labels,
             num_classes=3)  # fmt: skip
    order, truth = owner.query_order, []

    def ordered(public: Any, *given: Any, **more: Any) -> Any:
        truth.append(public.features.argmax(axis=1)[found := order(public, *given, **more)])
        return found

    monkeypatch.setattr(owner, "query_order", ordered)
    monkeypatch.setattr(PrivGnn, "labels", lambda self, values, **_: truth[-1][: len(values)])
    setup = prepare(replace(options(None, nulls=True), clients=None, dataset=str(tmp_path / "people.npz")))
    with temporary_repeat(setup, 0) as repeat:
        outcome = kind_of(setup.method).work(repeat, ask(repeat))
    assert outcome.null_inputs is not None and outcome.extra["teachers"]["pseudo_label_accuracy"] == 1.0
    known, division = outcome.null_inputs.labels.labels, repeat.split
    asked = np.flatnonzero(known >= 0)
    assert len(asked) == 45 and np.isin(asked, division.candidates).all()
    assert np.array_equal(known[asked], labels[asked])
    assert outcome.null_inputs.reported == {"label"}


def test_an_account_before_a_release_is_about_the_private_people() -> None:
    """Of 240 people 96 are private and 144 public: delta is the largest power of ten below 1 / 96."""
    setup = prepare(replace(options(None), clients=240))
    split = setup.plans[0].split
    account = setup.plans[0].released
    assert (len(split.private), len(split.public), account.release.delta) == (96, 144, 0.01)


def test_finished_teachers_are_counted_by_query(tmp_path: Path) -> None:
    """45 queries are chunks of 20, 20 and 5."""
    nothing = PlainGraph.build(np.zeros((45, 1)), np.zeros((2, 0), np.int64), np.zeros(45, np.int64))
    teaching = Teaching(classes=3, noise_seed=0, training_seed=0)
    files = owner.TeacherFiles.open(tmp_path, nothing, nothing, teaching, np.arange(45))
    for chunks, first, most in (((), 0, 0), ((2,), 0, 5), ((0,), 20, 20), ((0, 2), 20, 25), ((0, 1, 2), 30, 45)):
        for chunk in range(3):
            files.path(chunk).unlink(missing_ok=True)
        for chunk in chunks:
            files.path(chunk).touch()
        assert (files.trained(30), files.trained(45)) == (first, most)


def test_private_people_alone_are_others_in_a_shuffle(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, Any]] = []

    def noted(people: Population, *given: Any, **more: Any) -> Population:
        made = shuffled(people, *given, **more)
        seen.append((people.labels, made.labels))
        assert np.array_equal(more["among"], prepare(asked).plans[0].split.private)
        return made

    monkeypatch.setattr(judging, "shuffled", noted)
    asked = options(None, "pate-g", settings={"teachers": "3"}, nulls=True, reference=False)
    simulate(asked)
    division = prepare(asked).plans[0].split
    ((before, after),) = seen
    assert np.array_equal(before[division.public], after[division.public])
    assert (before[division.private] != after[division.private]).mean() > 0.5


@pytest.mark.parametrize(("method", "settings"), [("privgnn", QUICK), ("fedavg-mlp", {}), ("dp-fedavg", {})])
def test_losses_are_attained_by_somebody_who_is_in_all_repeats(method: str, settings: dict[str, str]) -> None:
    """Repeats on one division have the same people; of others nobody says that one person is in each."""
    for vary, attained in (("noise", True), ("split", False), ("all", False)):
        setup = prepare(RunOptions(method=method, clients=160, out=None, repeats=2, repeats_vary=vary,
                                  settings=settings, seeds={"noise": None}))  # fmt: skip
        assert is_attained(setup, [0, 1]) is attained
        assert is_attained(setup, [1]) is True


def divide_of(out: Path) -> Any:
    from ldpsim.devices.datasets import load

    seeds = options(out).seeds_of(0)
    return divide(load("generated", clients=160, seed=seeds.population), seeds.split)


NODE = {"level": "node", "batch": "20", "degree": "4", "epochs": "3"}


def owned(
    out: Path | None = None, method: str = "gap", settings: dict[str, str] | None = None, **more: Any
) -> RunOptions:
    given = {"reference": False, "nulls": False, "clients": 80, "epsilon": 8.0, **more}
    return RunOptions(method=method, settings={"epochs": "5", **(settings or {})}, out=out, device="cpu", **given)


def test_everybody_hands_over_and_the_levels_stand_beside_the_claim() -> None:
    record = simulate(owned()).record
    assert record["devices"]["asked"] == record["devices"]["reported"] == 80
    holds, section = record["privacy"]["holds"], record["graph_owner"]
    assert {name for name, level in holds.items() if level["status"] == "bounded"} == set()
    assert section["published"]["relationship"] == pytest.approx(8.0, abs=1e-6)
    assert section["published"]["person_joins"] is None
    assert record["privacy"]["claimed"]["value"] == section["claimed"]
    record = simulate(owned(settings=NODE)).record
    held = record["privacy"]["holds"]["central_node"]
    assert held["status"] == "bounded" and held["value"] <= 8.0
    assert "own prediction reads the own row without noise" in held["detail"]
    assert record["graph_owner"]["private_steps"] == 12


def test_the_owners_lists_are_those_that_were_handed_over() -> None:
    setup = prepare(owned())
    with temporary_repeat(setup, 0) as repeat:
        answers = read_records(setup.population.facts, ask(repeat))
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
        result = simulate(owned(tmp_path / str(number), method, seeds={"noise": 5, "training": seed}))
        models.append((result.folder / "model.safetensors").read_bytes())
    assert models[0] == models[1] != models[2]
