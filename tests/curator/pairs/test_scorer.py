"""Link scorer: it learns which rows go together, and from known edges and other pairs alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from curator.learning.training import TrainingSettings
from curator.pairs import scorer
from curator.pairs.ranking import auc
from curator.pairs.scorer import LINK_TRAINING, LinkScorer, TrainedLinks, _batches, train_links

N = 60
GROUP = np.arange(N) % 3
ROWS = np.eye(3, dtype=np.float32)[GROUP]
SETTINGS = TrainingSettings(**{**LINK_TRAINING, "epochs": 30})


def pairs(alike: bool, rng: np.random.Generator, count: int) -> np.ndarray:
    left, right = rng.integers(N, size=(2, 40 * count))
    chosen = (left != right) & ((GROUP[left] == GROUP[right]) == alike)
    return np.stack([left[chosen], right[chosen]])[:, :count]


def scored(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(7)
    held = [np.concatenate([pairs(True, rng, 20), pairs(False, rng, 20)], axis=1) for _ in range(2)]
    edges = np.unique(np.sort(pairs(True, rng, 60), axis=0), axis=1)
    found = train_links(ROWS, edges, np.concatenate(held, axis=1), 40, settings=SETTINGS, seed=seed, device="cpu")
    assert found.val_auc == auc(found.predictions[:40]) and 1 <= found.best_epoch <= 30
    return found.predictions


def test_pairs_of_one_group_are_told_from_others() -> None:
    assert auc(scored()[40:]) > 0.99


def test_a_seed_gives_the_same_bytes() -> None:
    assert scored().tobytes() == scored().tobytes() != scored(1).tobytes()


def test_a_drawn_pair_is_no_known_edge_and_nobody_with_himself() -> None:
    edges = np.stack(np.triu_indices(12, 1))[:, ::2]
    known = set(map(tuple, edges.T.tolist()))
    seen, drawn = [], []
    for edge, other in _batches(edges, 12, np.random.default_rng(0)):
        seen += edge.T.tolist()
        drawn += [tuple(sorted(pair)) for pair in other.T.tolist()]
        assert edge.shape == other.shape
    assert sorted(map(tuple, seen)) == sorted(known)
    assert not known & set(drawn) and all(left < right for left, right in drawn)


@pytest.mark.parametrize("edges", [np.zeros((2, 0), np.int64), np.stack(np.triu_indices(N, 1))])
def test_nothing_is_learned_without_edges_or_without_other_pairs(edges: np.ndarray) -> None:
    held = np.array([[0, 1], [3, 2]])
    found = train_links(ROWS, edges, held, 2, settings=SETTINGS, seed=0, device="cpu")
    assert found.predictions.tolist() == [0, 0] and found.val_auc == 0.5 and found.model is None


def trained(rows: np.ndarray, edges: np.ndarray, **settings: int) -> TrainedLinks:
    held = np.array([[0, 1, 2, 3], [3, 2, 5, 4]])
    chosen = TrainingSettings(**{**LINK_TRAINING, "epochs": 1, **settings})
    return train_links(rows, edges, held, 4, settings=chosen, seed=0, device="cpu")


def test_it_learns_up_to_nine_tenths_of_all_pairs() -> None:
    every = np.stack(np.triu_indices(21, 1))  # 210 pairs
    rows = np.random.default_rng(0).random((21, 3))
    assert trained(rows, every[:, :189]).best_epoch == 1
    assert trained(rows, every[:, :190]).best_epoch == 0
    assert trained(rows[:, :0], every[:, :9]).best_epoch == 0


def test_the_scale_of_the_rows_plays_no_part() -> None:
    rows = np.random.default_rng(0).random((21, 3)).astype(np.float32)
    edges = np.stack(np.triu_indices(21, 1))[:, ::3]
    found = trained(rows, edges)
    assert trained(rows * 1024, edges).predictions.tolist() == found.predictions.tolist()
    assert trained(csr_array(rows), edges).predictions.tolist() == found.predictions.tolist()
    assert trained(np.zeros((21, 3)), edges).predictions.std() == 0


def test_it_ends_after_some_epochs_without_a_better_one(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[float, int]] = []
    monkeypatch.setattr(scorer.observer, "log_metric", lambda name, value, step: told.append((value, step)))
    found = iter([0.5, 0.7, 0.7, 0.6, 0.8, 0.8, 0.1, 0.2, 0.9])
    monkeypatch.setattr(scorer, "auc", lambda scores: next(found))
    monkeypatch.setattr(scorer, "PATIENCE", 3)
    rows, edges = np.random.default_rng(0).random((21, 3)), np.stack(np.triu_indices(21, 1))[:, ::3]
    result = trained(rows, edges, epochs=9)
    assert (result.best_epoch, result.val_auc) == (5, 0.8)
    assert told == [(value, step + 1) for step, value in enumerate([0.5, 0.7, 0.7, 0.6, 0.8, 0.8, 0.1, 0.2])]


def test_an_epoch_has_so_many_edges_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer, "MOST_EDGES", 7)
    monkeypatch.setattr(scorer, "BATCH", 3)
    edges = np.stack(np.triu_indices(12, 1))[:, ::2]
    sizes = [(edge.shape, other.shape) for edge, other in _batches(edges, 12, np.random.default_rng(0))]
    assert sizes == [((2, 3), (2, 3)), ((2, 3), (2, 3)), ((2, 1), (2, 1))]


def test_pairs_are_scored_in_slices_and_without_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    model = LinkScorer(3, 4, 0.5)
    z, pairs = torch.rand(20, 3), np.random.default_rng(0).integers(20, size=(2, 17))
    whole = model.scores(z, pairs)
    monkeypatch.setattr(scorer, "_AT_ONCE", 5)
    assert not model.training and model.scores(z, pairs) == pytest.approx(whole, abs=1e-6)
    by_hand = model.second(torch.relu(model.first(z[pairs[0]] * z[pairs[1]]))).squeeze(1)
    assert whole == pytest.approx(by_hand.detach().numpy(), abs=1e-6)
    model.train()
    assert not torch.equal(model(z, pairs), model(z, pairs))
