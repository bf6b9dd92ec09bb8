"""Teachers: training beside PyG's and torch's, who is asked what, and the order of queries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import networkx
import numpy as np
import pytest
import torch
from scipy import stats

from ldpsim.curator.owner.privacy.label import label_probabilities
from ldpsim.curator.owner.teachers.answering import Teaching, ask_all, on_simplex, posterior_of, posteriors
from ldpsim.curator.owner.teachers.graph import PlainGraph, save_array
from ldpsim.curator.owner.teachers.perceptron import perceptron_scores, train_perceptron
from ldpsim.curator.owner.teachers.release import log_posteriors, noisy_labels
from ldpsim.curator.owner.teachers.sage import SageSettings, train
from ldpsim.curator.owner.teachers.selection import SELECTIONS, pagerank, query_order
from tests.curator.owner.teachers.pyg_reference import edges_of, trained_by_pyg

CLASSES = 3


def exact(graph: PlainGraph) -> PlainGraph:
    """Return the graph in float64."""
    return replace(graph, features=graph.features.astype(np.float64))


@pytest.mark.parametrize("dropout", [0.0, 0.5, 0.3])
@pytest.mark.parametrize("weight_decay", [0.0, 0.01])
def test_a_stack_of_teachers_equals_pygs_in_float64(
    private: PlainGraph, public: PlainGraph, dropout: float, weight_decay: float
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
        theirs = trained_by_pyg(graphs[at], CLASSES, settings, 7 + at)
        with torch.no_grad():
            expected = theirs(torch.from_numpy(target.features), edges_of(public)).exp().numpy()
        scores = np.stack([posterior_of(networks, target, node)[at] for node in range(len(public))])
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
        np.testing.assert_allclose(posterior_of(network, public, node)[0], everybody[node], atol=1e-5)


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


QUICK = SageSettings(hidden=8, epochs=15)


def teaching(**given: object) -> Teaching:
    values = {"classes": 3, "neighbours": 12, "settings": QUICK, "noise_seed": 4, "training_seed": 5, **given}
    return Teaching(**values)  # type: ignore[arg-type]


def test_people_are_drawn_afresh_for_each_query_and_independently() -> None:
    fresh = teaching(gamma=0.3)
    drawn = np.zeros((200, 500), bool)
    for query in range(200):
        drawn[query, fresh.sample(500, query)] = True
    # sizes vary as a binomial's: a fixed-size sample, the published code's, would not vary at all
    spread = drawn.sum(1).var(ddof=1) / (500 * 0.3 * 0.7)
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], 199) / 199
    assert low < spread < high
    assert abs(drawn.mean() - 0.3) < 5 * np.sqrt(0.21 / drawn.size)
    once = teaching(sampling="once")
    assert np.array_equal(once.sample(500, 0), once.sample(500, 99))
    assert not np.array_equal(fresh.sample(500, 0), fresh.sample(500, 1))


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_the_nearest_people_are_those_of_a_plain_search(private: PlainGraph, public: PlainGraph, distance: str) -> None:
    sampled, point = np.arange(5, 55), public.features[3]
    people = private.features[sampled].astype(float)
    if distance == "euclidean":
        far = ((people - point) ** 2).sum(1)
    else:
        far = 1 - people @ point / np.linalg.norm(people, axis=1) / np.linalg.norm(point)
    found = teaching(distance=distance).nearest(private, sampled, point)
    assert len(found) == 12 and np.all(np.diff(found) > 0)
    chosen = np.isin(sampled, found)
    assert far[chosen].max() <= far[~chosen].min() + 1e-6


def test_a_sample_smaller_than_k_or_empty_gives_a_valid_posterior(private: PlainGraph, public: PlainGraph) -> None:
    queries = [(0, 1), (1, 2)]
    few = posteriors(private, public, queries, teaching(neighbours=1000, gamma=0.5))
    np.testing.assert_allclose(few.sum(1), 1)
    nobody = posteriors(private, public, queries, teaching(gamma=1e-6))
    np.testing.assert_array_equal(nobody, np.full((2, 3), 1 / 3))
    private.labels[:] = -1
    np.testing.assert_array_equal(posteriors(private, public, queries, teaching()), np.full((2, 3), 1 / 3))
    np.testing.assert_array_equal(on_simplex(np.array([np.nan, 1.0])), [0.5, 0.5])


def test_a_query_s_answer_depends_on_its_number_alone(private: PlainGraph, public: PlainGraph) -> None:
    together = posteriors(private, public, [(0, 3), (1, 7), (2, 9)], teaching())
    alone = posteriors(private, public, [(2, 9)], teaching())
    assert together[2].tobytes() == alone[0].tobytes()
    assert posteriors(private, public, [(3, 9)], teaching()).tobytes() != alone.tobytes()


def test_the_labels_follow_the_exact_law() -> None:
    """A sure posterior's label is right with probability A(c, lambda); the broken variant has no noise."""
    count, classes, lambda_ = 20_000, 10, 0.8
    sure = np.tile(np.eye(classes)[4], (count, 1))
    hits = int(np.sum(noisy_labels(sure, lambda_, noise_seed=3) == 4))
    right, wrong = label_probabilities(classes, lambda_)
    low, high = stats.binom.ppf([5e-7, 1 - 5e-7], count, right)
    assert low <= hits <= high
    assert not low <= count * wrong <= high
    # noise on log-softmax flips a sure label almost never: that is why no guarantee covers it
    assert np.mean(noisy_labels(log_posteriors(sure), lambda_, noise_seed=3) == 4) > 0.99


@pytest.mark.parametrize("how", SELECTIONS)
def test_every_candidate_once_and_the_same_order_again(public: PlainGraph, how: str) -> None:
    candidates = np.arange(3, 40)
    order = query_order(public, candidates, how, seed=1)
    np.testing.assert_array_equal(np.sort(order), candidates)
    np.testing.assert_array_equal(order, query_order(public, candidates, how, seed=1))


def test_degree_and_pagerank_come_largest_first(public: PlainGraph) -> None:
    degree = np.diff(public.indptr)
    order = query_order(public, np.arange(50), "degree", seed=0)
    assert np.all(np.diff(degree[order]) <= 0)
    rank = pagerank(public)
    assert np.all(np.diff(rank[query_order(public, np.arange(50), "pagerank", seed=0)]) <= 0)
    graph = networkx.Graph()
    graph.add_nodes_from(range(50))
    graph.add_edges_from(zip(np.repeat(np.arange(50), degree).tolist(), public.indices.tolist(), strict=True))
    theirs = networkx.pagerank(graph, tol=1e-12)
    np.testing.assert_allclose(rank, [theirs[node] for node in range(50)], atol=1e-9)


def test_the_network_and_its_training_are_those_of_torch(private: PlainGraph) -> None:
    """Three linear layers with ReLU between them, full batches of the labelled people, torch's Adam."""
    labels = np.where(np.arange(60) % 3 == 0, -1, private.labels)
    settings = SageSettings(hidden=8, epochs=12, dropout=0.0, lr=0.02, weight_decay=0.1)
    found = train_perceptron(private.features, labels, 3, settings, 4)
    layers = [torch.nn.Linear(a, b) for a, b in ((private.features.shape[1], 8), (8, 8), (8, 3))]
    generator = torch.Generator().manual_seed(4)
    for layer in layers:  # of the size that torch draws too: 1 / root of the inputs
        bound = layer.in_features**-0.5
        start = torch.empty(layer.in_features, layer.out_features).uniform_(-bound, bound, generator=generator)
        layer.weight.data = start.T.contiguous()
        layer.bias.data.uniform_(-bound, bound, generator=generator)
    network = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02, weight_decay=0.1)
    known = np.flatnonzero(labels >= 0)
    for _ in range(12):
        optimiser.zero_grad()
        scores = network(torch.from_numpy(private.features[known]))
        torch.nn.functional.cross_entropy(scores, torch.from_numpy(labels[known])).backward()
        optimiser.step()
    for layer, ours in zip(layers, found.layers, strict=True):
        torch.testing.assert_close(ours.weight, layer.weight.T, rtol=0, atol=1e-4)
        torch.testing.assert_close(ours.bias, layer.bias, rtol=0, atol=1e-4)
    theirs = network(torch.from_numpy(private.features)).detach().double().numpy()
    assert perceptron_scores(found, private.features) == pytest.approx(theirs, abs=1e-3)
