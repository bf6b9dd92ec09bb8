"""Null models of whole runs: other devices, the right law, and nothing that stays behind."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import find
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.client_app import open_state
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.mechanisms.score_rows import score_table
from ldpsim.devices.prediction import DeviceModel
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.people.owner_graphs import sparse_features
from ldpsim.strategies.people.shuffled import shuffled
from ldpsim.strategies.results.outcome import Score
from ldpsim.strategies.results.rows import row_of
from ldpsim.strategies.runs import judging as module
from ldpsim.strategies.runs.asking import ask
from ldpsim.strategies.runs.judging import models_at_once
from ldpsim.strategies.runs.kinds import local
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.repeat import Repeat, start_repeat

pytestmark = pytest.mark.usefixtures("short_perceptron")
CLEAR = {"method": "lpgnn", "eps_features": float("inf"), "eps_labels": float("inf")}


def options(out: Path | None, **given: Any) -> RunOptions:
    usual = {"clients": 60, "settings": {"epochs": "3"}, "reference": False, "all_nulls": True, "device": "cpu",
             "out": out}  # fmt: skip
    return RunOptions(**{**usual, **given})  # type: ignore[arg-type]


def nulls_of(**given: Any) -> dict[str, Any]:
    found: dict[str, Any] = simulate(options(None, **given)).record["nulls"]
    return found


@pytest.fixture
def repeat(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Repeat]:
    """A run's repeat, its collection open; parametrised by options."""
    setup = prepare(options(tmp_path, **request.param))
    found = start_repeat(setup, 0, tmp_path, tmp_path / "state")
    yield found
    found.end_collection()
    open_state.cache_clear()


def reports_of(repeat: Repeat) -> Reports:
    reports = ask(repeat).decoded
    assert reports is not None
    return reports


def asked(repeat: Repeat, attributes: Iterable[str], dropouts: frozenset[int] = frozenset()) -> Reports:
    with module._others(repeat, attributes, dropouts) as other:
        return reports_of(other)


# ---- the law of the shuffled reports -------------------------------------------------


@pytest.mark.parametrize("repeat", [CLEAR], indirect=True)
@pytest.mark.parametrize("attribute", ["features", "label"])
def test_reports_with_one_attribute_of_others_are_those_of_shuffled_people(repeat: Repeat, attribute: str) -> None:
    """Without noise both are equal: the answers of people in whose records this attribute alone is shuffled."""
    real, strangers = reports_of(repeat), asked(repeat, ("features", "label"))
    composed, exact = real.with_answers_of(strangers, attribute), asked(repeat, (attribute,))
    assert np.array_equal(composed.features.toarray(), exact.features.toarray())
    assert np.array_equal(composed.labels, exact.labels)
    changed = real.features.toarray() if attribute == "features" else real.labels
    now = composed.features.toarray() if attribute == "features" else composed.labels
    assert not np.array_equal(changed, now)


@pytest.mark.parametrize("method", ["hogs", "fp-ldpgen"])
def test_each_private_attribute_is_shuffled_alone_and_all_together(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One collection of other people is enough, but a question of two stages needs one for each attribute."""
    collections: list[tuple[str, ...]] = []

    def noted(people: Any, attributes: Iterable[str], seed: int, **more: Any) -> Any:
        collections.append(tuple(attributes))
        return shuffled(people, attributes, seed, **more)

    monkeypatch.setattr(module, "shuffled", noted)
    every = nulls_of(method=method)["shuffled"]
    assert list(every) == ["adjacency", "features", "all"]
    both = ("adjacency", "features")
    assert collections == ([both] if method == "hogs" else [both, ("adjacency",), ("features",)])
    collections.clear()
    assert nulls_of(method=method, all_nulls=False)["shuffled"] == {"all": every["all"]} and collections == [both]


@pytest.mark.parametrize("labels", [True, False])
def test_the_reference_learns_from_all_who_are_asked_for_a_label(labels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads in clear what the method reads: labels that people beside volunteers report under noise, too."""
    kind, learned = find("raw"), list[np.ndarray]()
    train = kind.train

    def noted(self: Any, graph: Any, **given: Any) -> Any:
        learned.append(graph.train)
        return train(self, graph, **given)

    monkeypatch.setattr(kind, "train", noted)
    given = options(None, method="vote", volunteers=0.2, private_labels=labels, reference=True, nulls=False,
                    all_nulls=False, settings={})  # fmt: skip
    simulate(given)
    split = prepare(given).plans[0].split
    assert len(learned) == 1 and len(split.ordinary)
    expected = np.concatenate([split.train, split.ordinary]) if labels else split.train
    assert np.array_equal(learned[0], np.sort(expected))


@pytest.mark.parametrize("every", [True, False])
def test_the_reference_with_settings_of_its_own_is_one_of_all(every: bool) -> None:
    found = simulate(options(None, reference=True, nulls=False, all_nulls=every)).record["reference"]
    assert found["nonprivate_test"] is not None and (found["nonprivate_test_own_settings"] is not None) == every


@pytest.mark.parametrize("labels", [False, True])
def test_everybody_but_volunteers_is_somebody_else_in_a_shuffle(labels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Test people are scored, and other people who know their label are asked: none of them keeps what is private."""
    seen: list[tuple[Any, set[str], Any]] = []

    def noted(people: Any, attributes: Iterable[str], seed: int, **more: Any) -> Any:
        made = shuffled(people, attributes := list(attributes), seed, **more)
        seen.append((people, set(attributes), made))
        return made

    monkeypatch.setattr(module, "shuffled", noted)
    given = {"method": "vote", "volunteers": 0.2, "private_labels": labels, "all_nulls": False}
    setup = prepare(options(None, settings={}, **given))
    nulls_of(settings={}, **given)
    split = setup.plans[0].split
    people, attributes, made = seen[-1]
    assert attributes == {"adjacency", "features"} | ({"label"} if labels else set())
    others = np.setdiff1d(np.arange(60), split.labelled)
    assert np.isin(split.test, others).all() and len(others) > len(split.test)
    rows, new = (sparse_features(each).toarray() for each in (people, made))
    assert np.array_equal(rows[split.labelled], new[split.labelled])
    apart = [person for person in others if (rows == rows[person]).all(axis=1).sum() == 1]  # nobody else has such a row
    assert len(apart) > 0.9 * len(others) and (rows[apart] != new[apart]).any(axis=1).all()
    assert sorted(map(tuple, new[others])) == sorted(map(tuple, rows[others]))


# ---- what a shuffle takes away -------------------------------------------------------


def test_shuffling_the_features_that_say_everything_leaves_chance(tmp_path: Path) -> None:
    """The graph is noise, the features are the class: without them three classes are guessed."""
    rng, n = np.random.default_rng(0), 240
    labels = rng.integers(0, 3, n)
    file = tmp_path / "people.npz"
    np.savez(file, x=np.eye(3)[labels], edge_index=rng.integers(0, n, (2, 60)), labels=labels, num_classes=3)
    record = simulate(
        options(None, **CLEAR, dataset=str(file), clients=None, settings={"epochs": "60", "k_x": "0", "k_y": "0"})
    ).record
    shuffled_tests, bought = record["nulls"]["shuffled"], record["verdict"]["bought"]
    assert record["accuracy"]["test"] > 0.97
    # 60 test people: chance is 1/3, and 43 right or more happen with probability 3e-9
    assert shuffled_tests["features"]["test"] < 43 / 60 and shuffled_tests["all"]["test"] < 43 / 60
    assert bought["features"]["low"] > 0.25
    assert record["nulls"]["features_alone"]["test"] > 0.97


def test_beside_volunteers_answers_about_the_list_and_about_features_alone_are_null_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is noise and features are the class: answers about features alone tell it, those about the list do not.

    They stand in place of the models of public data, which are not trained. A run whose answers are about one of both
    already has neither.
    """
    rng, n = np.random.default_rng(0), 240
    labels = rng.permutation(np.arange(n) % 3)
    file = tmp_path / "people.npz"
    np.savez(file, x=np.eye(3)[labels], edge_index=rng.integers(0, n, (2, 60)), labels=labels, num_classes=3)
    given: dict[str, Any] = {"method": "vote", "volunteers": 0.25, "epsilon": 12.0, "clients": None}
    given |= {"dataset": str(file), "all_nulls": False}
    trained: list[str] = []
    with monkeypatch.context() as patched:
        for name in ("graph_alone", "features_alone"):
            patched.setattr(module, name, lambda *_, name=name, **__: trained.append(name))
        found = nulls_of(settings={}, **given)
    # 60 test people: chance is 1/3, and 43 right or more happen with probability 3e-9
    assert found["features_alone"]["test"] > 0.95 and found["graph_alone"]["test"] < 43 / 60 and not trained
    for evidence in ("features", "list"):
        half = nulls_of(settings={"evidence": evidence}, **given)
        assert half["graph_alone"] is None is half["features_alone"] and half["shuffled"]


# ---- other devices, other people, nothing left ---------------------------------------


def test_nobody_of_a_state_folder_is_asked_for_a_null(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    homes: list[tuple[Path, bytes]] = []

    def noted(setup: Any, number: int, folder: Path, home: Path, **more: Any) -> Repeat:
        found = start_repeat(setup, number, folder, home, **more)
        homes.append((home, (home / "secrets.bin").read_bytes()))
        assert found.state is not None
        synchronous = found.state.ledger()._db.execute("PRAGMA synchronous").fetchone()
        assert synchronous == (0,)  # nobody needs what these people answered after a crash
        return found

    monkeypatch.setattr(module, "start_repeat", noted)
    found = {}
    for taken in (True, False):
        state = tmp_path / f"state-{taken}"
        result = simulate(options(tmp_path / f"runs-{taken}", state=state, nulls=taken))
        found[taken] = (rows_in(state), (state / "secrets.bin").read_bytes(), result.record["devices"],
                        result.record["accuracy"], result.record["privacy"])  # fmt: skip
        assert result.folder is not None and not (result.folder / "nulls").exists()
        assert not (state / "collection.json").exists()
    assert found[True] == found[False] and found[True][0] == 60
    ((home, secrets),) = homes
    assert home.parent.name == "nulls" and not home.exists()
    own = found[True][1]
    pieces = {own[start : start + 32] for start in range(0, len(own), 32)}
    assert not pieces & {secrets[start : start + 32] for start in range(0, len(secrets), 32)}


@pytest.mark.parametrize("method", ["hogs", "fedavg-mlp"])
def test_the_same_devices_are_silent_among_the_other_people(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[frozenset[int]] = []

    def noted(setup: Any, number: int, *given: Any, **more: Any) -> Repeat:
        seen.append(setup.plans[number].dropouts)
        return start_repeat(setup, number, *given, **more)

    monkeypatch.setattr(module, "start_repeat", noted)
    settings = {"rounds": "2"} if method == "fedavg-mlp" else {"epochs": "2"}
    given = options(None, method=method, settings=settings, dropout=0.3, all_nulls=False)
    simulate(given)
    assert seen == [prepare(given).plans[0].dropouts] and seen[0]


def rows_in(state: Path) -> int:
    opened = State(state)
    try:
        return len(opened.ledger().answers())
    finally:
        opened.close()
        open_state.cache_clear()


@pytest.mark.parametrize("given", [
    {"method": "hogs"}, {"method": "fedavg-mlp", "settings": {"rounds": "3"}},
    {"method": "privgnn", "clients": 160, "settings": {"queries": "20", "K": "10", "epochs": "5", "hidden": "8"},
     "workers": 1},
], ids=lambda given: given["method"])  # fmt: skip
def test_a_run_that_dies_in_its_null_models_is_continued(
    given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its collection is open until the result is written, and the folder of the null models is made again."""
    whole = simulate(options(tmp_path / "whole", **given)).record

    times = iter(range(2))

    def die(*_: Any, **__: Any) -> None:
        """A killed process removes nothing, neither before the collection nor after it."""
        if next(times):
            raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(module.shutil, "rmtree", die)
        with pytest.raises(KeyboardInterrupt):
            simulate(options(tmp_path / "runs", **given))
    open_state.cache_clear()
    (folder,) = (path for path in (tmp_path / "runs").iterdir() if path.name != "teachers")
    assert (folder / "nulls").exists() and not (folder / "result.json").exists()
    again = simulate(options(tmp_path / "runs", **given))
    assert again.folder == folder and not (folder / "nulls").exists()
    for part in ("accuracy", "nulls", "verdict"):
        assert again.record[part] == whole[part]
    assert again.record["devices"]["reports_sha256"] == whole["devices"]["reports_sha256"]


# ---- devices that predict for themselves ---------------------------------------------


def test_a_device_after_the_reports_and_one_alone_have_the_scores_of_their_own_device_models(tmp_path: Path) -> None:
    """Device models by hand on people without a friend or a feature: every device names the largest class share."""
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "people.npz", x=np.zeros((60, 1)), edge_index=np.zeros((2, 0), np.int64),
             labels=rng.permutation(np.repeat([0, 1, 2], [30, 20, 10])), num_classes=3)  # fmt: skip
    setup = prepare(options(tmp_path, method="hogs", dataset=str(tmp_path / "people.npz"), clients=None))
    repeat = start_repeat(setup, 0, tmp_path, tmp_path / "state")
    labels, nobody = setup.population.labels[repeat.split.test], np.zeros((60, 3))
    table = score_table(nobody, np.eye(3))
    first, second = (
        DeviceModel.of(table, shares, saturation=10) for shares in np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    )
    scores = module.devices_scores(repeat, (first, second))
    for found, named in zip(scores, (0, 2), strict=True):
        assert found is not None and found.test == np.mean(labels == named)
        assert found.right.tolist() == (labels == named).tolist()
    assert scores[0] != scores[1] and scores[0].test != scores[1].test
    assert module.devices_scores(repeat, (first, None))[1] is None is module.devices_scores(repeat, None)[0]
    repeat.end_collection()


def test_both_scores_of_devices_stand_in_their_places_in_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    given = iter([(Score(0.9), Score(0.2)), (Score(0.7), Score(0.4))])
    monkeypatch.setattr("ldpsim.strategies.runs.judging.devices_scores", lambda *_: next(given))
    told = iter([(Score(0.95), Score(0.3)), (Score(0.75), Score(0.5))])
    monkeypatch.setattr("ldpsim.strategies.runs.judging.scores_with_friends", lambda *_: next(told))
    record = simulate(options(None, method="hogs", repeats=2, all_nulls=False)).record
    assert record["accuracy"]["device"] == pytest.approx(0.8)
    assert record["accuracy"]["device_with_friends"] == pytest.approx(0.85)
    assert record["nulls"]["device_alone_with_friends"]["test"] == pytest.approx(0.4)
    assert record["nulls"]["device_alone"]["test"] == pytest.approx(0.3)
    row = row_of(record, "")
    assert (row["device"], row["device_alone"]) == (pytest.approx(0.8), pytest.approx(0.3))
    assert (row["device_with_friends"], row["device_alone_with_friends"]) == (pytest.approx(0.85), pytest.approx(0.4))


@pytest.mark.parametrize(
    "given",
    [{"method": "vote", "volunteers": 0.3}, {"method": "vote", "private_labels": True, "volunteers": 0.2},
     {"method": "hogs"}],
    ids=lambda given: "-".join(given),
)  # fmt: skip
@pytest.mark.parametrize("kind", ["guess", "features", "label"])
def test_no_label_of_a_test_person_is_told(given: dict[str, Any], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other labels of the test people change nothing of what friends tell, and a label is told by kind label alone.

    Nor does who volunteers, or has a public label, tell anything.
    """
    heard: list[tuple[Any, ...]] = []
    compute = module.scores_with_told

    def noted(model: Any, everybody: Any, devices: Any, tells: Any, *, kind: str, knowing: Any) -> Any:
        heard.append((model, everybody, devices, tells, knowing))
        return compute(model, everybody, devices, tells, kind=kind, knowing=knowing)

    monkeypatch.setattr(module, "scores_with_told", noted)
    settings = {"epochs": "2"} if given["method"] == "hogs" else {}
    simulate(RunOptions(clients=150, friends_tell=kind, reference=False, nulls=False, out=None, device="cpu",
                        settings=settings, **given))  # fmt: skip
    for model, everybody, devices, tells, knowing in heard:
        found = compute(model, everybody, devices, tells, kind=kind, knowing=knowing)
        others = everybody.labels.copy()
        others[devices] = (others[devices] + 1) % model.classes
        assert np.array_equal(compute(model, replace(everybody, labels=others), devices, tells, kind=kind,
                                      knowing=knowing), found)  # fmt: skip
        assert not knowing[devices].any() and tells[devices].all() and not tells.all()
        rest = np.flatnonzero(knowing)
        others = everybody.labels.copy()
        others[rest] = (others[rest] + 1) % model.classes
        same = np.array_equal(compute(model, replace(everybody, labels=others), devices, tells, kind=kind,
                                      knowing=knowing), found)  # fmt: skip
        assert same is (kind != "label" or not (knowing & tells).any())


def test_a_larger_share_of_people_who_tell_has_all_of_a_smaller_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 people 20, 100 or all are willing, whatever their data are; those whose label is in clear never tell."""
    heard: list[np.ndarray] = []
    compute = module.scores_with_told

    def noted(model: Any, everybody: Any, devices: Any, tells: Any, **more: Any) -> Any:
        heard.append(tells)
        return compute(model, everybody, devices, tells, **more)

    monkeypatch.setattr(module, "scores_with_told", noted)
    run = RunOptions(method="vote", clients=200, volunteers=0.2, reference=False, nulls=False, out=None, device="cpu")
    accuracy = {share: simulate(replace(run, friends_share=share)).record["accuracy"] for share in (0.1, 0.5, 1.0)}
    few, half, everybody = heard[0], heard[2], heard[4]
    assert everybody.sum() == 160 and not (few & ~half).any() and not (half & ~everybody).any()
    assert 5 <= few.sum() <= 20 and 60 <= half.sum() <= 100
    assert len({each["device"] for each in accuracy.values()}) == 1  # the device without friends hears nobody
    assert len({each["device_with_friends"] for each in accuracy.values()}) > 1


# ---- each kind of run ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "shuffled_names", "alone"),
    [
        ({"method": "raw"}, [], (True, True)),
        ({"method": "mlp"}, [], (False, True)),
        ({"method": "rnd"}, [], (True, False)),
        ({"method": "featfree"}, [], (True, False)),
        ({"method": "rgnn", "settings": {"epochs": "3", "C": "4"}}, ["features", "label", "all"], (True, True)),
        ({"method": "isolate", "settings": {"local_steps": "2"}}, [], (False, False)),
        ({"method": "fedgcn", "settings": {"rounds": "2"}}, ["all"], (False, False)),
        ({"method": "silo-fedavg-gcn", "settings": {"silos": "3", "rounds": "2"}}, ["all"], (False, False)),
        ({"method": "pate-g", "clients": 160, "settings": {"queries": "20", "teachers": "4", "epochs": "4"}},
         ["all"], (True, True)),
        ({"method": "b1", "clients": 160, "settings": {"epochs": "4"}}, [], (True, True)),
    ],
    ids=lambda value: value["method"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_each_kind_of_run_has_its_null_models(
    given: dict[str, Any], shuffled_names: list[str], alone: tuple[bool, bool]
) -> None:
    record = simulate(options(None, **given)).record
    found = record["nulls"]
    assert list(found["shuffled"]) == shuffled_names
    assert (found["graph_alone"] is not None, found["features_alone"] is not None) == alone
    assert ("graph_learned" in found) == alone[0]
    assert 0 <= found["chance"]["test"] <= 1
    assert (record["verdict"]["margin"] is None) == (record["verdict"]["above_nulls"] is None)


@pytest.mark.parametrize(
    ("given", "names", "taught"),
    [
        ({"method": "vote", "public_features": True}, {"features_alone", "shuffled_adjacency"}, True),
        ({"method": "hogs", "public_features": True}, {"features_alone", "shuffled_adjacency"}, False),
        ({"method": "hogs"}, {"shuffled_all"}, False),
        ({"method": "upgnet"}, {"graph_alone", "graph_learned", "shuffled_features"}, False),
    ],
    ids=["vote", "hogs-public", "hogs", "upgnet"],
)
def test_null_models_that_ask_nobody_and_the_labels_they_learn_from(
    given: dict[str, Any], names: set[str], taught: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are those of public data, and the method on data of others; they learn from the same labels as it does."""
    seen: list[Any] = []
    monkeypatch.setattr(module, "features_alone", lambda known, **_: seen.append(known) or np.zeros(60, np.int64))
    monkeypatch.setattr(module, "graph_alone", lambda known: None if known.edges is None else np.zeros(60))
    record = simulate(
        options(None, **{"settings": {} if given["method"] == "vote" else {"epochs": "3"}, **given})
    ).record
    assert set(record["verdict"]["ask_nobody"]) == names | {"chance"}
    (known,) = seen
    assert known.uses_validation_labels is taught


@pytest.mark.parametrize("given", [
    {"method": "hogs", "eps_adjacency": 6.0, "gnn": "gat"},
    {"method": "lpgnn", "eps_features": 2.0, "eps_labels": 2.0},
])  # fmt: skip
def test_models_side_by_side_are_the_models_one_after_another(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = {"clients": 150, "settings": {"epochs": "30"}, "reference": True, **given}
    alone = simulate(options(None, **usual)).record
    monkeypatch.setattr("ldpsim.strategies.runs.simulate.models_at_once", lambda setup: 3)
    beside = simulate(options(None, **usual)).record
    for part in ("accuracy", "reference"):
        assert alone[part] == beside[part]
    assert {**alone["nulls"], "seconds": 0} == {**beside["nulls"], "seconds": 0}


def test_what_may_draw_from_torchs_own_state_trains_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network of a person's own, a method of another package, and what is not trained by the curator."""
    monkeypatch.setattr(module, "trainings_at_once", lambda size: 3)
    setup, in_rounds = (
        prepare(options(None, method="hogs")),
        options(None, method="fedavg-mlp", settings={"rounds": "2"}),
    )
    assert [models_at_once(setup), models_at_once(prepare(in_rounds))] == [3, 1]
    for known in ("NETWORKS", "BUILT_IN"):
        with monkeypatch.context() as nothing:
            nothing.setattr(module, known, {})
            assert models_at_once(setup) == 1


@pytest.mark.parametrize(("workers", "repeats"), [(1, 1), (2, 1), (2, 2)])
def test_the_accuracy_is_there_before_null_models_and_reference(
    workers: int, repeats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They wait for it here: they would wait in vain if it came after them."""
    there, early, waited = threading.Event(), list[float](), list[bool]()

    def slow(*_: Any, **__: Any) -> np.ndarray:
        waited.append(there.wait(30))
        return np.zeros(60, np.int64)

    def hear(accuracy: float) -> None:
        early.append(accuracy)
        there.set()

    monkeypatch.setattr(module, "features_alone", slow)
    monkeypatch.setattr(local, "without_noise", slow)
    monkeypatch.setattr("ldpsim.strategies.runs.simulate.models_at_once", lambda setup: workers)
    record = simulate(
        options(None, method="hogs", reference=True, all_nulls=False, repeats=repeats), on_accuracy=hear
    ).record
    assert waited == [True] * 2 * repeats
    assert len(early) == 1 and (repeats > 1 or early == [record["accuracy"]["test"]])


class FakeDeviceModel:
    """It names the feature of a device whose list is left out, and the other class where the list counts."""

    columns = 2

    def scores(self, records: Any, devices: Any, *, lists: bool = True) -> Any:
        assert len(records) == len(devices) and (records.neighbour_counts > 0).all()
        return np.eye(2)[(records.feature_indices + lists) % 2]


def test_own_features_are_scored_without_lists(tmp_path: Path) -> None:
    """Features say the class, and everybody has a friend: a device that shows the list would be wrong."""
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1], 30))
    ends = np.stack([np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)])
    np.savez(tmp_path / "people.npz", x=np.eye(2)[labels], edge_index=ends, labels=labels, num_classes=2)
    setup = prepare(options(tmp_path, method="hogs", dataset=str(tmp_path / "people.npz"), clients=None))
    repeat = start_repeat(setup, 0, tmp_path, tmp_path / "state")
    alone: Any = FakeDeviceModel()
    found = module.own_features_score(repeat, alone)
    assert found is not None and found.test == 1.0 and found.right is not None
    assert len(found.right) == len(repeat.split.test) and found.right.all()
    without_features: Any = SimpleNamespace(columns=0)
    assert module.own_features_score(repeat, None) is None is module.own_features_score(repeat, without_features)
    repeat.end_collection()


def test_the_own_features_of_a_device_alone_are_in_a_result() -> None:
    """Its device model has a model of them where features are public; hogs asks for them otherwise."""
    for public in (True, False):
        found = nulls_of(method="hogs", public_features=public, all_nulls=False)
        assert found["device_alone"] is not None and ("device_features" in found) is public
