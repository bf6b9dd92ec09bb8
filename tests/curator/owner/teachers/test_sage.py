"""Training of teachers.

It covers ``ldpsim.curator.owner.teachers.answering`` and ``graph`` too.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from ldpsim.curator.owner.teachers.answering import ask, ask_all
from ldpsim.curator.owner.teachers.graph import PlainGraph, save_array
from ldpsim.curator.owner.teachers.sage import SageSettings, train

CLASSES = 3


def exact(graph: PlainGraph) -> PlainGraph:
    """Return the graph in float64."""
    return replace(graph, features=graph.features.astype(np.float64))


@pytest.mark.parametrize("dropout", [0.0, 0.5, 0.3])
@pytest.mark.parametrize("weight_decay", [0.0, 0.01])
def test_a_stack_of_teachers_equals_pygs_in_float64(
    private: PlainGraph, public: PlainGraph, pyg: ModuleType, dropout: float, weight_decay: float
) -> None:
    """Also a network with less nodes than the stack has rows: its dropout has more rows, so it is compared without."""
    settings = SageSettings(hidden=16, epochs=50, dropout=dropout, weight_decay=weight_decay)
    rng = np.random.default_rng(3)
    graphs = [exact(private.part(np.sort(rng.choice(60, size, replace=False)))) for size in (45, 30, 45)]
    for graph in graphs:
        graph.labels[:4] = -1  # people without a label stand in the graph and are not trained on
        assert (np.diff(graph.indptr) == 0).any()
    networks, target = train(graphs, [7, 8, 9], CLASSES, settings, rows=45), exact(public)
    for at in (0, 2) if dropout else (0, 1, 2):
        theirs = pyg.trained_by_pyg(graphs[at], CLASSES, settings, 7 + at)
        with torch.no_grad():
            expected = theirs(torch.from_numpy(target.features), pyg.edges_of(public)).exp().numpy()
        scores = np.stack([ask(networks, target, node)[at] for node in range(len(public))])
        ours = torch.softmax(torch.from_numpy(scores), 1).numpy()
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-8)
        assert np.abs(ours - 1 / CLASSES).max() > 0.1  # something was learned


def test_a_network_has_the_same_bytes_in_any_stack(private: PlainGraph) -> None:
    settings, rng = SageSettings(hidden=16, epochs=20), np.random.default_rng(5)
    graphs = [private.part(np.sort(rng.choice(60, size, replace=False))) for size in (30, 25, 28, 30, 22)]
    together = train(graphs, range(5), CLASSES, settings, rows=32)
    for at, graph in enumerate(graphs):
        alone = train([graph], [at], CLASSES, settings, rows=32)
        for one, many in zip(alone.state_dict().values(), together.state_dict().values(), strict=True):
            assert torch.equal(one[0], many[at])
    assert not torch.equal(together.first[0], together.first[3])


def test_asking_one_node_and_asking_all_agree(private: PlainGraph, public: PlainGraph) -> None:
    network = train([private], [1], CLASSES, SageSettings(hidden=16, epochs=20))
    everybody = ask_all(network, public)
    for node in (0, 10, 49):  # the last has no neighbour
        np.testing.assert_allclose(ask(network, public, node)[0], everybody[node], atol=1e-5)


def test_a_part_has_the_edges_among_its_people(private: PlainGraph) -> None:
    people = np.array([4, 9, 10, 31, 50, 59])
    part = private.part(people)
    dense = private.mean.toarray() > 0
    np.testing.assert_array_equal(part.mean.toarray() > 0, dense[people][:, people])
    np.testing.assert_array_equal(part.features, private.features[people])
    np.testing.assert_array_equal(part.labels, private.labels[people])
    everybody = private.part(np.arange(60))
    np.testing.assert_array_equal(everybody.indices, private.indices)
    np.testing.assert_allclose(everybody.mean_features[10], private.features[private.neighbours(10)].mean(0), atol=1e-6)
    assert not private.mean_features[59].any()


def test_an_array_is_written_whole_for_its_owner_alone(tmp_path: Path, private: PlainGraph) -> None:
    path = tmp_path / "a.npy"
    for array in (np.arange(5), np.ones((2, 3), np.float32)):  # the second in the place of the first
        save_array(path, array)
        assert np.load(path).tolist() == array.tolist() and np.load(path).dtype == array.dtype
    with pytest.raises(ValueError, match="Object arrays"):  # reading one would run code
        save_array(path, np.array([print]))
    assert [found.name for found in tmp_path.iterdir()] == ["a.npy"] and path.stat().st_mode & 0o777 == 0o600
    assert np.load(path).tolist() == np.ones((2, 3)).tolist()
    private.save(tmp_path / "graph")
    assert (tmp_path / "graph").stat().st_mode & 0o777 == 0o700
    again = PlainGraph.load(tmp_path / "graph")
    for name in ("features", "indptr", "indices", "labels"):
        assert getattr(again, name).tolist() == getattr(private, name).tolist()
        assert isinstance(getattr(again, name), np.memmap)
