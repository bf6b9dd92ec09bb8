"""PrivGnn, PATE and the baselines of an owner."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from scipy import stats

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods.owner.baselines import B1, B2
from ldpsim.curator.methods.owner.owner import LabelAnswers, private_graph, sage_settings
from ldpsim.curator.methods.owner.pate import PateG, PateM
from ldpsim.curator.methods.owner.privgnn import PrivGnn
from ldpsim.curator.owned import OwnedGraph
from ldpsim.curator.owner.privacy.account import LabelRelease, account
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.sage import SageSettings
from ldpsim.curator.owner.teachers.student import train_network
from ldpsim.devices.facts import PublicFacts, Split


def owned(n: int = 60, d: int = 30, *, seed: int = 0) -> OwnedGraph:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    features = (rng.random((n, d)) < np.where(np.arange(d) % 3 == labels[:, None], 0.5, 0.1)).astype(np.float32)
    left, right = rng.integers(0, n, (2, 5 * n))
    same = labels[left] == labels[right]
    nobody = np.zeros(0, np.int64)
    return OwnedGraph(PublicFacts(n, d, 3), Split(np.arange(n), nobody, nobody), features,
                      np.stack([left, right])[:, same], labels, "trusted curator")  # fmt: skip


def test_three_figures() -> None:
    method = PrivGnn(queries=1000, lambda_=0.2, delta=1e-4)
    cost = method.account(2500, 10)
    assert cost.label == pytest.approx(3.812266, abs=1e-5)  # privacy.md section 5's table
    guarantee = method.guarantee_of(cost)
    assert guarantee.trust == "trusted curator"
    assert guarantee.claimed.value == pytest.approx(8.538752, abs=1e-5)
    level = guarantee.holds["central_node"]
    assert (level.value, level.delta) == (cost.label, 1e-4) and "vectors" in level.detail
    assert guarantee.holds["user"].status == "unprotected"


def test_what_is_accounted_is_what_is_done() -> None:
    once = PrivGnn(queries=100, sampling="once", gamma=0.1, lambda_=0.1)
    asked = LabelRelease(queries=100, lambda_=0.1, delta=1e-3, classes=4, gamma=0.1, sampling="once", nodes=400)
    assert once.release(400, 4) == asked
    assert once.account(400, 4) == account("privgnn", asked)
    assert any("one sample" in reason for reason in once.reasons())


def test_noise_on_log_softmax_guarantees_nothing() -> None:
    method = PrivGnn(queries=10, scores="log-posterior")
    guarantee = method.guarantee_of(method.account(100, 3))
    assert guarantee.holds["central_node"].status == "unprotected"
    assert any("no guarantee" in reason for reason in guarantee.why_they_differ)


@pytest.mark.parametrize("kind", [PateG, PateM])
def test_pate_counts_every_teacher_that_has_a_label(kind: type[PateG]) -> None:
    graph, other = private_graph(owned()), private_graph(owned(40, seed=1))
    method = kind(queries=20, teachers=4)
    votes = method.votes(graph, PlainGraph(other.features, other.indptr, other.indices, np.full(40, -1)),
                         np.arange(20), SageSettings(hidden=8, epochs=60), classes=3, noise_seed=1,
                         training_seed=2)  # fmt: skip
    np.testing.assert_array_equal(votes.sum(1), 4)
    assert np.mean(votes.argmax(1) == other.labels[:20]) > 0.5
    assert method.account(60, 3).votes
    kind(teachers=30).check(people=60, candidates=2000, classes=3)  # two people a part
    kind(teachers=30).check(people=61, candidates=2000, classes=3)
    with pytest.raises(ValueError, match="teachers=31: 60 private people make 30 parts at most"):
        kind(teachers=31).check(people=60, candidates=2000, classes=3)
    for teachers in (0, 10_001):
        with pytest.raises(ValueError, match="must be 1..10000"):
            kind(teachers=teachers)
    assert (kind(teachers=1).teachers, kind(teachers=10_000).teachers, kind().teachers) == (1, 10_000, 20)


@pytest.mark.parametrize("kind", [PateG, PateM])
def test_a_teacher_with_some_labels_votes_and_one_without_does_not(kind: type[PateG]) -> None:
    graph = private_graph(owned())
    method = kind(queries=20, teachers=3)
    part_of = method.parts(60, noise_seed=1)
    labels = np.where((part_of == 0) | (np.arange(60) % 2 == 0), -1, graph.labels)
    partly = PlainGraph(graph.features, graph.indptr, graph.indices, labels)
    votes = method.votes(partly, private_graph(owned(40, seed=1)), np.arange(20), SageSettings(hidden=4, epochs=2),
                         classes=3, noise_seed=1, training_seed=2)  # fmt: skip
    np.testing.assert_array_equal(votes.sum(1), 2)


def test_everybody_draws_their_own_part() -> None:
    """Lengths vary as a binomial's, and nobody moves because somebody else joins; in a cut list many would."""
    method = PateM(teachers=20)
    parts = method.parts(2500, noise_seed=3)
    sizes = np.bincount(parts, minlength=20)
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], 19) * 2500 / 20
    assert low < ((sizes - 125) ** 2).sum() < high
    np.testing.assert_array_equal(method.parts(2501, noise_seed=3)[:-1], parts)
    cut = [np.zeros(n, np.int64) for n in (2500, 2501)]
    for found in cut:
        for number, part in enumerate(np.array_split(np.random.default_rng(3).permutation(len(found)), 20)):
            found[part] = number
    assert np.mean(cut[0] != cut[1][:-1]) > 0.3


@pytest.mark.parametrize("kind", [PateG, PateM])
def test_a_person_more_moves_one_vote_of_a_query(kind: type[PateG]) -> None:
    public = private_graph(owned(40, seed=1))
    moves = []
    for seed in range(4):
        whole = private_graph(owned(seed=seed))

        def votes(graph: PlainGraph, seed: int = seed) -> np.ndarray:
            return kind(teachers=6).votes(graph, public, np.arange(40), SageSettings(hidden=8, epochs=4), classes=3,
                                          noise_seed=seed, training_seed=2)  # fmt: skip

        before, after = votes(whole), votes(whole.part(np.arange(59)))
        np.testing.assert_array_equal(before.sum(1), 6)
        moves.append(np.abs(before - after).sum(1))
    assert set(np.concatenate(moves)) == {0, 2}


def test_a_network_learns_from_the_labels_it_is_given_and_not_from_those_of_the_graph() -> None:
    """A student and b2: the graph's other labels, true or false, change no weight."""
    public = private_graph(owned(40, seed=1))
    asked, settings = np.arange(0, 40, 2), SageSettings(hidden=4, epochs=5)
    told = np.random.default_rng(3).integers(0, 3, len(asked))
    blank = public.labels.copy()
    blank[1::2] = -1
    hidden, turned = np.full(40, -1), (public.labels + 1) % 3
    for learn, graphs in (
        (lambda graph: train_network(graph, asked, told, 3, settings, seed=1), (public.labels, hidden, turned)),
        (lambda graph: B2().predictions(owned(), graph, asked, settings, classes=3, seed=1), (public.labels, blank)),
    ):
        first, *others = (learn(dataclasses.replace(public, labels=labels)) for labels in graphs)
        for other in others:
            assert all(map(torch.equal, first.network.parameters(), other.network.parameters()))
            np.testing.assert_array_equal(first.predictions, other.predictions)


def test_more_queries_than_nodes_and_another_network() -> None:
    with pytest.raises(ValueError, match="--set queries=1000: must be 1 to 90, the number of public nodes"):
        PrivGnn().check(people=100, candidates=90, classes=3)
    with pytest.raises(ValueError, match="--gnn gcn"):
        sage_settings(TrainingSettings(gnn="gcn"))
    assert issubclass(PrivGnn, LabelAnswers) and not issubclass(B1, LabelAnswers)
