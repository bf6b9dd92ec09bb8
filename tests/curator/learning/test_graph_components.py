"""Components from links: own labels that do not reach own rows, the same bytes twice, poor graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning.node_evidence import unit_rows
from ldpsim.curator.linear.propagation import smoothed_rows
from ldpsim.curator.posterior.estimate import graph_components, spectrum
from ldpsim.curator.reports.labels import LabelEvidence

N, D, CLASSES = 200, 30, 3
RNG = np.random.Generator(np.random.PCG64(8))
LABELS = RNG.integers(0, CLASSES, N)
WORDS = (RNG.random((N, D)) < np.where(np.arange(D) % CLASSES == LABELS[:, None], 0.3, 0.1)).astype(np.float32)
ROWS = unit_rows(csr_array(WORDS), None)
TRAIN = np.arange(0, N, 2)
TEST = np.arange(1, N, 2)


def _links(inside: float, outside: float) -> csr_array:
    same = LABELS[:, None] == LABELS
    upper = np.triu(RNG.random((N, N)) < np.where(same, inside, outside), 1)
    weights = np.where(upper, 0.5 + 0.5 * RNG.random((N, N)), 0).astype(np.float32)
    return csr_array(weights + weights.T)


LINKS = _links(0.06, 0.01)
PAIRS = csr_array((LINKS > 0).astype(np.float32))


def components(
    links: csr_array = LINKS, labels: np.ndarray = LABELS, rows: Any = ROWS, train: np.ndarray = TRAIN
) -> dict[str, np.ndarray]:
    early, late = graph_components(rows, links, PAIRS, LabelEvidence(labels, CLASSES), train)
    return {**early, **late}


@pytest.mark.parametrize(("inside", "outside"), [(0.06, 0.01), (0.005, 0.09)])
def test_components_tell_the_classes(inside: float, outside: float) -> None:
    links = _links(inside, outside)
    found = components(links)
    hits = {name: float(np.mean(rows[TEST].argmax(axis=1) == LABELS[TEST])) for name, rows in found.items()}
    assert hits["spectrum"] > 0.6
    if inside > outside:
        assert hits["smoothed features"] > 0.6
        assert hits["label propagation on P"] > 0.6
    assert all(np.isfinite(rows).all() and rows.shape == (N, CLASSES) for rows in found.values())


def test_own_label_reaches_label_propagation_only() -> None:
    before = components()
    assert len(before) == 4
    for i in TRAIN[:6]:
        flipped = LABELS.copy()
        flipped[i] = (flipped[i] + 1) % CLASSES
        after = components(labels=flipped)
        for name, rows in before.items():
            assert np.allclose(after[name][i], rows[i], atol=1e-8) == (not name.startswith("label propagation")), name
            assert not np.allclose(after[name], rows)


def test_smoothed_rows_are_the_mean_over_links_and_oneself() -> None:
    dense = LINKS.toarray() + np.eye(N)
    expected = dense / dense.sum(axis=1, keepdims=True) @ ROWS.toarray()
    for rows in (ROWS, ROWS.toarray()):
        np.testing.assert_allclose(np.asarray(smoothed_rows(rows, LINKS)), expected, atol=1e-6)
    few = csr_array((N, N), dtype=np.float32)
    np.testing.assert_allclose(smoothed_rows(csr_array(np.eye(N, dtype=np.float32)), few).toarray(), np.eye(N))


@pytest.mark.parametrize("count", [8, 150])  # by Lanczos, and by a dense decomposition
def test_spectrum_spans_the_eigenvectors_of_largest_magnitude(count: int) -> None:
    degrees = LINKS.toarray().sum(axis=1)
    root = 1 / np.sqrt(degrees + degrees.mean())
    values, vectors = np.linalg.eigh(root[:, None] * LINKS.toarray() * root)
    wanted = vectors[:, np.argsort(-np.abs(values))[:1]]
    rows = spectrum(LINKS, count)
    assert rows.shape == (N, count + 1)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    columns = np.column_stack([rows, np.ones(N)])
    fitted = columns @ np.linalg.lstsq(columns, wanted, rcond=None)[0]
    assert np.linalg.norm(fitted - wanted) < 0.5  # the rows' lengths differ
    assert rows.tobytes() == spectrum(LINKS, count).tobytes()


def test_poor_graphs_and_labels() -> None:
    empty = csr_array((N, N), dtype=np.float32)
    assert components(empty) == components(train=TRAIN[:0]) == {}
    one = csr_array(([1.0, 1.0], ([3, 4], [4, 3])), shape=(N, N), dtype=np.float32)
    for links, train in ((one, TRAIN), (LINKS, TRAIN[:1]), (LINKS, TRAIN[:3])):
        found = components(links, train=train)
        assert all(np.isfinite(rows).all() for rows in found.values())
    small = csr_array(([1.0, 1.0], ([0, 1], [1, 0])), shape=(4, 4), dtype=np.float32)
    assert np.isfinite(spectrum(small)).all()
