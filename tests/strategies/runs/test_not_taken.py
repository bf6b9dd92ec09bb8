"""Null models that a run has not taken: each has its reason in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import find
from ldpsim.curator.nulls.inputs import NullInputs
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.devices.facts import Split
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.runs import not_taken
from ldpsim.strategies.runs.not_taken import reasons

pytestmark = pytest.mark.usefixtures("short_perceptron")
SPLIT = Split(np.array([0, 1]), np.array([2]), np.array([3]))
EDGES, FEATURES = np.array([[0], [1]]), np.ones((4, 2))
GRAPH = ("graph_alone", "graph_learned")
BARS = {*GRAPH, "features_alone"}
DEVICES = ("device_alone", "device_features", "device_alone_with_friends")


def evidence(labels: tuple[int, ...] = (0, 1, 0, -1), **given: Any) -> NullInputs:
    return NullInputs(ObservedLabels(np.array(labels), 2), SPLIT, **{"edges": EDGES, "features": FEATURES, **given})


def found(
    known: NullInputs | None, *taken: str, verb: str = "reported", volunteers: bool = False, state: Any = "enrolled",
    bundles: Any = None,
) -> dict[str, str]:  # fmt: skip
    method = find({"reported": "hogs", "read": "raw", "public": "gap"}[verb])()
    setup = SimpleNamespace(method=method, budget=SimpleNamespace(volunteers=volunteers))
    repeat: Any = SimpleNamespace(setup=setup, state=state)
    return reasons(repeat, known, taken, bundles)


def test_what_was_taken_has_no_reason() -> None:
    assert found(evidence(), *BARS) == {} and found(None) == {}


@pytest.mark.parametrize("verb", ["reported", "read", "public"])
def test_what_the_curator_does_not_have_is_the_reason(verb: str) -> None:
    graph = f"not run: no graph is {verb}"
    assert found(evidence(edges=None), "features_alone", verb=verb) == {"graph_alone": graph, "graph_learned": graph}
    # an answer about the graph alone stands for it where people volunteer
    assert found(evidence(edges=None), "features_alone", "graph_alone", verb=verb) == {"graph_learned": graph}
    features = {"features_alone": f"not run: no features are {verb}"}
    assert found(evidence(features=None), *GRAPH, verb=verb) == features


def test_other_reasons() -> None:
    volunteers = found(evidence(features=None), *GRAPH, volunteers=True)
    assert volunteers == {"features_alone": "not run: volunteers alone give features"}
    nothing = found(evidence(features=np.ones((4, 0))), *GRAPH)
    assert nothing == {"features_alone": "not run: the people have no features"}
    unlabelled = found(evidence(labels=(-1, -1, 0, -1)))
    assert unlabelled == dict.fromkeys(BARS, "not run: no label of a training person is known")
    assert found(evidence(), *BARS, state=None) == {"shuffled_all": "not run: there are no reports"}


def test_a_part_of_a_family_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    unchosen = found(evidence(labels=(0, 1, -1, -1)), *BARS)
    assert unchosen == {"graph_learned": "labels that spread alone: no validation label is known to choose by"}
    monkeypatch.setattr(not_taken, "MOST_PEOPLE", 3)
    assert found(evidence(), *BARS) == {"graph_learned": "without LINK, which is skipped above 3 people"}
    monkeypatch.setattr(not_taken, "MOST_PEOPLE", 4)
    assert found(evidence(), *BARS) == {}


def test_devices_need_labels_and_features_in_clear() -> None:
    plain, model = SimpleNamespace(columns=0), SimpleNamespace(columns=2)
    assert found(evidence(), *BARS, bundles=(model, None)) == dict.fromkeys(DEVICES, "not run: no label is public")
    without = {"device_features": "not run: no features are public"}
    assert found(evidence(), *BARS, bundles=(model, plain)) == without
    assert found(evidence(), *BARS, bundles=(plain, model)) == {}


NO_REPORTS = "there are no reports"


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"method": "hogs"}, {"device_features": "no features are public"}),
        ({"method": "lpgnn"}, dict.fromkeys(DEVICES, "no label is public")),
        ({"method": "vote", "volunteers": 0.3, "settings": {}}, {"graph_learned": "no graph is reported"}),
        ({"method": "featfree"}, {"features_alone": "no features are read", "shuffled_all": NO_REPORTS}),
        ({"method": "mlp"}, {**dict.fromkeys(GRAPH, "no graph is read"), "shuffled_all": NO_REPORTS}),
        ({"method": "fedavg-mlp", "settings": {"rounds": "1"}},
         {**dict.fromkeys(GRAPH, "no graph is reported"), "features_alone": "no features are reported"}),
        ({"method": "gap"}, dict.fromkeys(GRAPH, "no graph is public")),
    ],
)  # fmt: skip
def test_each_bar_of_a_run_has_a_figure_or_a_reason(given: dict[str, Any], missing: dict[str, str]) -> None:
    usual = {"clients": 60, "settings": {"epochs": "2"}, "reference": False, "device": "cpu", "out": None}
    record = simulate(RunOptions(**{**usual, **given})).record  # type: ignore[arg-type]
    assert record["nulls_not_taken"] == {name: f"not run: {reason}" for name, reason in missing.items()}
    assert {name for name in BARS if record["nulls"].get(name) is None} == missing.keys() & BARS
