"""Link scorer: it learns which rows go together, and from known edges and other pairs alone."""

from __future__ import annotations

import numpy as np
import pytest

from curator.learning.training import TrainingSettings
from curator.pairs.ranking import auc
from curator.pairs.scorer import LINK_TRAINING, _batches, train_links

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
