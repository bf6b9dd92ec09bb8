"""Knowledge of the curator before anybody is asked, with and without each part that a run makes public."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import LPGNN, HoGS
from ldpsim.curator.methods.base import Method
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.device import Refusal
from ldpsim.devices.wire import REASONS
from ldpsim.strategies.engines.grids import FlowerFailed
from ldpsim.strategies.people.owner_graphs import sparse_features
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.runs.run import Refused, RunFailed, ask_devices, public_knowledge
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.options import RunOptions


@pytest.mark.parametrize("method, given, labels, features, edges", [
    (HoGS(), {}, True, False, False),
    (HoGS(), {"private_labels": True}, False, False, False),
    (HoGS(), {"public_features": True}, True, True, False),
    (LPGNN(), {}, False, False, True),
    (LPGNN(version="text"), {}, True, False, True),
    (LPGNN(adjacency="private"), {}, False, False, False),
])  # fmt: skip
def test_the_curator_knows_what_is_public_and_no_test_label(
    population: Population, method: Method, given: dict[str, bool], labels: bool, features: bool, edges: bool
) -> None:
    split = make_split("random", population, 0)
    options = RunOptions(method=method.spec.name, **given)  # type: ignore[arg-type]
    public = public_knowledge(population, split, options, method)
    expected = np.full(len(population), -1)
    if labels:
        expected[split.labelled] = population.labels[split.labelled]
    assert np.array_equal(public.labels, expected)
    assert (public.labels[split.test] == -1).all() and len(split.test) == 10
    assert (public.features is not None) == features and (public.edges is not None) == edges
    if public.features is not None:
        assert (public.features != sparse_features(population)).nnz == 0
    if public.edges is not None:
        assert np.array_equal(public.edges, population.edges)


class Scene:
    """A scene whose devices give a collection that is made up."""

    def __init__(self, population: Population, home: Path, method: str, **counts: Any) -> None:
        self.setup: Any = set_up(RunOptions(method=method, out=None), population=population)
        self.split, self.seeds, self.home = self.setup.repeats[0].split, self.setup.repeats[0].seeds, home
        self.questions = self.setup.method.questions(population.facts, self.split, self.setup.budget, "c")
        self.silent, self.ended, self.asked = frozenset({3}), 0, list[Any]()
        self.found = Collected(**counts)
        self.setup = replace(self.setup, collect=self.collect)

    def collect(self, home: Path, asked: Any, **more: Any) -> Collected:
        self.asked.append((home, asked, more))
        if self.found.seconds < 0:
            raise FlowerFailed("it broke")
        return self.found

    def end_collection(self) -> None:
        self.ended += 1


@pytest.mark.parametrize(("counts", "kind", "said", "ended"), [
    ({"asked": 1200, "refused": Counter(REPORT_COLLECTED=1000, POLICY_REFUSED=200)}, Refused,
     "refused: none of 1,200 devices reported (POLICY_REFUSED 200, REPORT_COLLECTED 1,000): ", 1),
    ({"asked": 1200}, RunFailed, "none of 1,200 devices answered", 0), ({"seconds": -1.0}, RunFailed, "it broke", 0),
])  # fmt: skip
def test_a_collection_without_a_report_says_why(
    population: Population, tmp_path: Path, counts: dict[str, Any], kind: type[Exception], said: str, ended: int
) -> None:
    scene: Any = Scene(population, tmp_path, "rr", **counts)
    with pytest.raises(kind) as raised:
        ask_devices(scene)
    assert str(raised.value).startswith(said) and scene.ended == ended
    again = "a run without --state, or with a new folder there, enrols other devices"
    assert str(raised.value).endswith(again) == bool(ended)
    if ended:
        reasons = str(raised.value).removeprefix(said).removesuffix(f"; {again}").split("; ")
        assert sorted(reasons) == sorted([REASONS[Refusal.REPORT_COLLECTED], REASONS[Refusal.POLICY_REFUSED]])
