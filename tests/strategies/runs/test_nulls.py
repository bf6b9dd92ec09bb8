"""Null models of whole runs: other devices, the right law, and nothing that stays behind."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.client_app import open_state
from ldpsim.devices.enrolment.state import State
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.people.shuffled import shuffled
from ldpsim.strategies.progress import quiet
from ldpsim.strategies.runs import nulls as module
from ldpsim.strategies.runs import run as run_module
from ldpsim.strategies.runs.run import RepeatContext, ask_devices
from ldpsim.strategies.runs.set_up import set_scene, set_up

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
def scene(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RepeatContext]:
    """A run's scene, its collection open; parametrised by options."""
    setup = set_up(options(tmp_path, **request.param))
    found = set_scene(setup, 0, tmp_path, tmp_path / "state", quiet)
    yield found
    found.end_collection()
    open_state.cache_clear()


def reports_of(scene: RepeatContext) -> Reports:
    questions, collected = ask_devices(scene)
    return Reports.from_bytes(scene.setup.population.facts, questions, collected.answers)


def asked(scene: RepeatContext, attributes: Iterable[str], silent: frozenset[int] = frozenset()) -> Reports:
    with module._others(scene, None, attributes, silent) as other:
        return reports_of(other)


# ---- the law of the shuffled reports -------------------------------------------------


@pytest.mark.parametrize("scene", [CLEAR], indirect=True)
@pytest.mark.parametrize("attribute", ["features", "label"])
def test_reports_with_one_attribute_of_others_are_those_of_shuffled_people(
    scene: RepeatContext, attribute: str
) -> None:
    """Without noise both are equal: the answers of people in whose records this attribute alone is shuffled."""
    real, strangers = reports_of(scene), asked(scene, ("features", "label"))
    composed, exact = real.with_answers_of(strangers, attribute), asked(scene, (attribute,))
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


@pytest.mark.parametrize("every", [True, False])
def test_the_reference_with_settings_of_its_own_is_one_of_all(every: bool) -> None:
    found = simulate(options(None, reference=True, nulls=False, all_nulls=every)).record["reference"]
    assert found["nonprivate_test"] is not None and (found["nonprivate_test_own_settings"] is not None) == every


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


# ---- other devices, other people, nothing left ---------------------------------------


def test_nobody_of_a_state_folder_is_asked_for_a_null(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    homes: list[tuple[Path, bytes]] = []

    def noted(setup: Any, number: int, folder: Path, home: Path, tell: Any) -> RepeatContext:
        found = set_scene(setup, number, folder, home, tell)
        homes.append((home, (home / "secrets.bin").read_bytes()))
        return found

    monkeypatch.setattr(module, "set_scene", noted)
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
    monkeypatch.setattr(run_module, "features_alone", lambda known, **_: seen.append(known) or np.zeros(60, np.int64))
    monkeypatch.setattr(run_module, "graph_alone", lambda known: None if known.edges is None else np.zeros(60))
    record = simulate(
        options(None, **{"settings": {} if given["method"] == "vote" else {"epochs": "3"}, **given})
    ).record
    assert set(record["verdict"]["ask_nobody"]) == names | {"chance"}
    (known,) = seen
    assert known.taught_by_validation is taught


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

    for name in ("features_alone", "without_noise"):
        monkeypatch.setattr(run_module, name, slow)
    monkeypatch.setattr("ldpsim.strategies.runs.simulate.models_at_once", lambda setup: workers)
    record = simulate(
        options(None, method="hogs", reference=True, all_nulls=False, repeats=repeats), on_accuracy=hear
    ).record
    assert waited == [True] * 2 * repeats
    assert len(early) == 1 and (repeats > 1 or early == [record["accuracy"]["test"]])


class FakeBundle:
    """It names the feature of a device that shows no friend, and the other class to one that does."""

    columns = 2

    def classes_of(self, records: Any, devices: Any) -> Any:
        assert len(records) == len(devices)
        return (records.feature_indices + (records.neighbour_counts > 0)) % 2


def test_own_features_are_scored_without_lists(tmp_path: Path) -> None:
    """Features say the class, and everybody has a friend: a device that shows the list would be wrong."""
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1], 30))
    ends = np.stack([np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)])
    np.savez(tmp_path / "people.npz", x=np.eye(2)[labels], edge_index=ends, labels=labels, num_classes=2)
    setup = set_up(options(tmp_path, method="hogs", dataset=str(tmp_path / "people.npz"), clients=None))
    scene = set_scene(setup, 0, tmp_path, tmp_path / "state", quiet)
    alone: Any = FakeBundle()
    found = module.own_features_score(scene, alone)
    assert found is not None and found.test == 1.0 and found.right is not None
    assert len(found.right) == len(scene.split.test) and found.right.all()
    without_features: Any = SimpleNamespace(columns=0)
    assert module.own_features_score(scene, None) is None is module.own_features_score(scene, without_features)
    scene.end_collection()


def test_the_own_features_of_a_device_alone_are_in_a_result() -> None:
    """Its bundle has a model of them where features are public; hogs asks for them otherwise."""
    for public in (True, False):
        found = nulls_of(method="hogs", public_features=public, all_nulls=False)
        assert found["device_alone"] is not None and ("device_features" in found) is public
