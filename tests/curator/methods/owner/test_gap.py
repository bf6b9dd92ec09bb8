"""GAP and ProGAP on a small graph: cached hops, corner cases, what is refused. Covers graph_owner and progap too."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import find
from ldpsim.curator.methods.owner import graph_owner
from ldpsim.curator.methods.owner.graph_owner import GraphOwner
from ldpsim.curator.owner.aggregation.sums import HandedLists
from ldpsim.curator.owner.aggregation.training import Learners
from ldpsim.curator.setting_error import SettingError

BOTH = ("gap", "progap")
N, CLASSES = 90, 3


def people(lonely: bool = False) -> tuple[HandedLists, Learners]:
    rng = np.random.default_rng(5)
    labels = np.arange(N) % CLASSES
    features = (rng.random((N, 12)) < 0.2 + 0.3 * (np.arange(12) % CLASSES == labels[:, None])).astype(np.float32)
    features[7] = 0.0  # a row of zeros
    linked = np.triu(rng.random((N, N)) < 0.12 * (labels[:, None] == labels) + 0.01, 1)
    if lonely:
        linked[:, 3] = linked[3] = False
    senders, names = np.nonzero(linked | linked.T)
    data = HandedLists(csr_array(features), labels, senders.astype(np.int64), names.astype(np.int64))
    return data, Learners(labels, np.arange(60), np.arange(60, 75))


def learn(name: str, *, noise: bool = True, epochs: int = 5, lonely: bool = False, epsilon: float = 8.0,
          noise_seed: int = 1, **given: Any) -> tuple[Any, Any]:  # fmt: skip
    method = find(name)(**given)
    data, learners = people(lonely)
    settings = TrainingSettings(gnn="mlp", epochs=epochs, hidden=8, weight_decay=0.0)
    released = method.release(people=N, training=60, epochs=epochs, epsilon=epsilon)
    return method.learn(data, learners, released, settings, classes=CLASSES, order_seed=1, noise_seed=noise_seed,
                        seed=1, noise=noise)  # fmt: skip


def released_of(name: str, epochs: int, **given: Any) -> Any:
    method = find(name)(**given)
    return method.release(people=N, training=60, epochs=epochs, epsilon=8.0)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("level", ["edge", "node"])
def test_hops_are_drawn_once_and_answers_do_not_draw_again(
    name: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[float] = []
    sums = graph_owner.noisy_sums

    def counted(arcs: Any, rows: Any, deviation: float, draws: Any) -> Any:
        drawn.append(deviation)
        norms = np.linalg.norm(rows, axis=1)
        assert ((norms < 1 + 1e-6) & ((norms > 1 - 1e-6) | (norms == 0))).all()
        return sums(arcs, rows, deviation, draws)

    monkeypatch.setattr(graph_owner, "noisy_sums", counted)
    one, _ = learn(name, level=level, hops=3, noise_multiplier=2.0)
    released = released_of(name, 5, level=level, hops=3, noise_multiplier=2.0)
    assert drawn == [released.deviation] * 3 and released.deviation > 0
    again, _ = learn(name, level=level, hops=3, noise_multiplier=2.0)
    assert np.array_equal(one, again)
    assert not np.array_equal(one, learn(name, level=level, hops=3, noise_seed=2, noise_multiplier=9.0)[0])


def test_each_training_of_the_node_level_takes_its_steps_under_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Any] = []
    fit = graph_owner.fit_in_place

    def counted(*given: Any, private: Any, **more: Any) -> None:
        taken.append(private)
        fit(*given, private=private, **more)

    monkeypatch.setattr(graph_owner, "fit_in_place", counted)
    for name, trainings in (("gap", 2), ("progap", 3)):
        taken.clear()
        learn(name, level="node", batch=20, epochs=4, noise_multiplier=2.0)
        released = released_of(name, 4, level="node", batch=20, noise_multiplier=2.0)
        assert len(taken) == trainings and released.training.steps == trainings * 12
        assert {(each.steps, each.rate, each.multiplier) for each in taken} == {(12, 20 / 60, released.multiplier)}
        taken.clear()
        learn(name)
        assert taken == [None] * trainings


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("level", ["edge", "node"])
def test_without_hops_it_is_the_network_without_a_graph(name: str, level: str) -> None:
    method = find(name)(level=level)
    alone = method.without_graph().release(people=N, training=60, epochs=5, epsilon=8.0)
    assert (alone.training.hops, alone.relationship) == (0, 0.0)
    assert (alone.multiplier > 0) == (level == "node")
    learn(name, level=level, hops=0)


def test_long_lists_are_cut_or_refused() -> None:
    learn("gap", level="node", degree=1)
    with pytest.raises(SettingError, match=r"longer=refuse, degree=1: a list has \d+ people"):
        learn("gap", level="node", degree=1, longer="refuse")
    one, _ = learn("gap", level="node", degree=80, longer="refuse")
    two, _ = learn("gap", level="node", degree=80)
    assert np.array_equal(one, two)


def test_the_epoch_and_the_delta() -> None:
    learn("gap", keep="best")
    learn("progap", level="node", keep="best", batch=20, noise_multiplier=2.0)
    made = find("gap")()
    assert made.release(people=2708, training=2031, epochs=9, epsilon=1.0).training.delta == 1e-5
    node = replace(made, level="node")
    assert node.release(people=2708, training=2031, epochs=9, epsilon=1.0).training.delta == 1e-4
    assert replace(made, delta=1e-7).release(people=2708, training=9, epochs=9, epsilon=1.0).training.delta == 1e-7
    with pytest.raises(SettingError, match=r"delta=0.01: must be below 1 / 2,708 people"):
        replace(made, delta=0.01).release(people=2708, training=9, epochs=9, epsilon=1.0)
    assert node.effective_spec().training_defaults["epochs"] == 10 < made.effective_spec().training_defaults["epochs"]


def test_a_given_multiplier_is_the_noise() -> None:
    made = find("gap")(noise_multiplier=3.0)
    assert isinstance(made, GraphOwner) and "epsilon" not in made.effective_spec().options_read
    assert made.release(people=N, training=60, epochs=5, epsilon=1.0).deviation == 3.0 * math.sqrt(2)


def test_nobody_to_learn_from() -> None:
    data, learners = people()
    method = find("gap")()
    released = method.release(people=N, training=0, epochs=5, epsilon=8.0)
    with pytest.raises(ValueError, match="no training node has a label"):
        method.learn(data, replace(learners, train=np.zeros(0, np.int64)), released, TrainingSettings(gnn="mlp"),
                     classes=CLASSES, order_seed=1, noise_seed=1, seed=1)  # fmt: skip
