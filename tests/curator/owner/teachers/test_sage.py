"""Training of teachers.

It covers ``ldpsim.curator.owner.teachers.randomness``, ``ldpsim.curator.owner.teachers.stacked``, ``graph``,
``weights`` too.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from ldpsim.curator.owner.teachers.answering import ask, ask_all
from ldpsim.curator.owner.teachers.graph import Piece, PlainGraph, cut, save_array
from ldpsim.curator.owner.teachers.randomness import Masks, weights_generator
from ldpsim.curator.owner.teachers.sage import SageSettings, train_sage
from ldpsim.curator.owner.teachers.stacked import train_stacked
from ldpsim.curator.owner.teachers.weights import Layout, TeacherWeights

CLASSES = 3


def make(graph: PlainGraph, nodes: np.ndarray, settings: SageSettings, *, query: int = 0) -> tuple:
    piece = cut(graph, nodes, dtype=np.float64)
    layout = Layout(graph.features.shape[1], settings.hidden, CLASSES)
    generator = weights_generator(7, query)
    start = layout.draw(generator, torch.float64)
    masks = Masks(generator, epochs=settings.epochs, rows=len(piece), units=settings.hidden, dropout=settings.dropout)
    return piece, start, layout, masks, settings


def double(trained: TeacherWeights, graph: PlainGraph) -> np.ndarray:
    """Posteriors of all nodes with nothing rounded to float32."""
    exact = PlainGraph(graph.features.astype(np.float64), graph.indptr, graph.indices, graph.labels)
    degree = np.diff(graph.indptr)
    means = np.zeros_like(exact.features)
    for node in np.flatnonzero(degree):
        means[node] = exact.features[graph.neighbours(node)].mean(0)
    hidden = trained.hidden(torch.from_numpy(exact.features), torch.from_numpy(means))
    near = torch.zeros_like(hidden)
    for node in np.flatnonzero(degree):
        near[node] = hidden[torch.from_numpy(graph.neighbours(node))].mean(0)
    return torch.softmax(trained.scores(hidden, near), 1).numpy()


@pytest.mark.parametrize("dropout", [0.0, 0.5, 0.3])
@pytest.mark.parametrize("weight_decay", [0.0, 0.01])
def test_a_teacher_equals_pygs_in_float64(
    private: PlainGraph, public: PlainGraph, pyg: ModuleType, dropout: float, weight_decay: float
) -> None:
    settings = SageSettings(hidden=16, epochs=50, dropout=dropout, weight_decay=weight_decay)
    nodes = np.sort(np.random.default_rng(3).choice(60, 45, replace=False))
    private.labels[nodes[:4]] = -1  # people without a label stand in the graph and are not trained on
    piece, start, layout, masks, _ = make(private, nodes, settings)
    assert 0 < len(piece.means) < len(piece)
    ours = double(train_sage(piece, start, layout, masks, settings), public)
    theirs = pyg.trained_by_pyg(piece, start, layout, masks, settings)
    rows = np.repeat(np.arange(len(public)), np.diff(public.indptr))
    edges = torch.from_numpy(np.stack([public.indices, rows]))
    with torch.no_grad():
        expected = theirs(torch.from_numpy(public.features.astype(np.float64)), edges).exp().numpy()
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-8)
    assert np.abs(ours - 1 / CLASSES).max() > 0.1  # something was learned


def test_features_that_nobody_has_keep_their_initial_weights(private: PlainGraph) -> None:
    private.features[:, 5] = 0
    piece, start, layout, masks, settings = make(private, np.arange(60), SageSettings(hidden=8, epochs=5))
    found = layout.parts(train_sage(piece, start, layout, masks, settings).vector)
    before = layout.parts(start)
    assert torch.equal(found["own1"][5], before["own1"][5])
    assert not torch.equal(found["own1"][6], before["own1"][6])


def test_a_stack_equals_one_at_a_time(private: PlainGraph) -> None:
    settings = SageSettings(hidden=16, epochs=40)
    rng = np.random.default_rng(5)
    tasks = [make(private, np.sort(rng.choice(60, 30, replace=False)), settings, query=q) for q in range(3)]
    pieces, starts, layouts, masks, _ = zip(*tasks, strict=True)
    stacked = train_stacked(pieces, starts, layouts[0], masks, settings, device=torch.device("cpu"))
    for one, (piece, start, layout, mask, _) in zip(stacked, tasks, strict=True):
        alone = train_sage(piece, start, layout, mask, settings)
        torch.testing.assert_close(one.vector, alone.vector, rtol=0, atol=1e-8)
        torch.testing.assert_close(one.variance, alone.variance, rtol=0, atol=1e-8)
    with pytest.raises(ValueError, match="one size"):
        other = make(private, np.arange(20), settings)[0]
        train_stacked([pieces[0], other], starts[:2], layouts[0], masks[:2], settings, device=torch.device("cpu"))


def test_the_rotated_basis_takes_the_same_steps_where_the_optimiser_allows(private: PlainGraph) -> None:
    """Before any step the rotated network is the same function; Adam then makes it another training."""
    nodes = np.arange(10, 34)
    plain = SageSettings(hidden=8, epochs=1, lr=1e-12, dropout=0.0)
    rotated = SageSettings(hidden=8, epochs=1, lr=1e-12, dropout=0.0, basis="rotated")
    a = train_sage(*make(private, nodes, plain))
    b = train_sage(*make(private, nodes, rotated))
    torch.testing.assert_close(a.vector, b.vector, rtol=0, atol=1e-9)
    torch.testing.assert_close(a.mean, b.mean, rtol=0, atol=1e-9)


def test_the_rotated_basis_learns_as_well(private: PlainGraph, public: PlainGraph) -> None:
    nodes = np.arange(10, 34)
    right = {}
    for basis in ("given", "rotated"):
        trained = train_sage(*make(private, nodes, SageSettings(hidden=16, epochs=100, basis=basis)))
        right[basis] = np.mean(double(trained, public).argmax(1) == public.labels)
    assert abs(right["given"] - right["rotated"]) <= 0.2 and min(right.values()) > 0.5


def test_asking_one_node_and_asking_all_agree(private: PlainGraph, public: PlainGraph) -> None:
    piece = cut(private, np.arange(60))
    layout, generator = Layout(40, 16, CLASSES), weights_generator(1, 1)
    start = layout.draw(generator)
    masks = Masks(generator, epochs=20, rows=60, units=16, dropout=0.5)
    trained = train_sage(piece, start, layout, masks, SageSettings(hidden=16, epochs=20))
    everybody = ask_all(trained, public)
    for node in (0, 10, 49):  # the last has no neighbour
        np.testing.assert_allclose(ask(trained, public, node), everybody[node], atol=1e-5)


def test_what_cannot_be_learned_from_is_refused(private: PlainGraph) -> None:
    settings = SageSettings(hidden=4, epochs=1)
    with pytest.raises(ValueError, match="two nodes"):
        train_sage(*make(private, np.array([3]), settings))
    private.labels[:] = -1
    with pytest.raises(ValueError, match="with a label"):
        train_sage(*make(private, np.arange(9), settings))
    for wrong in ({"basis": "other"}, {"hidden": 0}, {"dropout": 1.0}, {"lr": 0.0}):
        with pytest.raises(ValueError):
            SageSettings(**wrong)


def test_masks_keep_the_share_that_is_asked() -> None:
    for dropout in (0.0, 0.5, 0.25):
        masks = Masks(weights_generator(0, 0), epochs=40, rows=30, units=64, dropout=dropout)
        kept = np.mean([masks.epoch(epoch).mean() for epoch in range(40)])
        assert abs(kept - (1 - dropout)) < 5 * 0.5 / np.sqrt(40 * 30 * 64)  # 5 sigma: false alarm below 1e-6
        assert masks.epoch(0).shape == (30, 64)


def test_a_piece_has_the_nodes_with_neighbours_first(private: PlainGraph) -> None:
    piece: Piece = cut(private, np.arange(60))
    assert len(piece.means) == np.count_nonzero(np.diff(private.indptr))
    np.testing.assert_allclose(piece.means, private.mean_features[piece.order[: len(piece.means)]], atol=1e-6)
    np.testing.assert_array_equal(piece.labels, private.labels[piece.order])


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
