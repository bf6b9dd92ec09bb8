"""The same edges and the same P as the dense algorithm, on every path, always."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.links import hogs as hogs_topology
from ldpsim.curator.links.hogs import edge_posterior, likely_links, transposed_parts
from ldpsim.curator.links.similarity import BitRows, Rows, public_rows
from ldpsim.curator.reports.rows import FlippedRows


def _bits(ones: Any, reported: np.ndarray, one_end: bool, odds: float) -> FlippedRows:
    return FlippedRows(csr_array(ones), reported, one_end, odds / (1 + odds), odds)


def _case(seed: int) -> tuple[FlippedRows, np.ndarray, np.ndarray, Rows]:
    """A random case: tiny to large budgets, duplicates, empty rows, silent devices, one end, public reals."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 45)), int(rng.choice([1, 3, 8, 17, 70, 200]))
    eps_a = float(rng.choice([0.02, 0.3, 0.8, 1.5, 3, 7.2, 20]))
    features = rng.random((n, d)) < rng.choice([0.02, 0.1, 0.45])
    real = bool(rng.random() < 0.3)
    values = features * (rng.random((n, d)) if real else 1.0)
    if n > 4:
        copies = rng.integers(0, n, n // 3)
        values[rng.integers(0, n, n // 3)] = values[copies]  # duplicates
        close = values[copies[:2]].copy()
        close[:, rng.integers(d)] = 1 - (close[:, 0] > 0)  # near-duplicates
        values[rng.integers(0, n, 2)] = close
        values[rng.integers(0, n, 2)] = 0  # empty rows
        if real:
            values[rng.integers(n)] = 3 * values[0]  # parallel, not identical
    reported = rng.random(n) < rng.choice([1.0, 0.7])
    one_end = bool(rng.random() < 0.3)
    ratio = float(np.exp(-eps_a))
    truth = np.triu(rng.random((n, n)) < 0.1, 1)
    noisy = (truth | truth.T) ^ (rng.random((n, n)) < ratio / (1 + ratio))
    np.fill_diagonal(noisy, False)
    noisy[~reported] = False
    if one_end:
        noisy = np.tril(noisy, -1)
    public = bool(rng.random() < 0.5) or real
    if not public:
        values[~reported] = 0
    rows = public_rows(csr_array(values)) if public else BitRows(np.packbits(values > 0, axis=1))
    return _bits(noisy, reported, one_end, ratio), noisy, values, rows


@pytest.mark.parametrize("block", range(6))
def test_every_path_equals_the_dense_algorithm(
    block: int, dense_hogs: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hogs_topology, "TILE", 16)
    monkeypatch.setattr(hogs_topology, "_ROWS_AT_ONCE", 8)
    unreported = taken = 0
    for seed in range(20 * block, 20 * (block + 1)):
        bits, noisy, values, rows = _case(seed)
        expected = dense_hogs.link_probability(noisy, bits.reported, values, bits.odds, bits.one_end)
        for least in (0.05, 0.5, 0.7, 0.9, 0.99):
            wanted = dense_hogs.edges(expected, least)
            for path in ("auto", "pairs", "tiles"):
                links = likely_links(bits, rows, least, path=path)
                got = np.zeros_like(wanted)
                got[links.left, links.right] = got[links.right, links.left] = True
                assert np.array_equal(got, wanted), (seed, least, path)
                assert np.array_equal(links.probability, expected[links.left, links.right]), (seed, least, path)
                assert np.all(links.left < links.right)
                taken += len(links.left)
            unreported += int((wanted & ~noisy & ~noisy.T).sum())
    assert taken > 300 and unreported > 60  # the cases do hold edges that nobody reported


def test_a_search_in_parts_finds_the_same_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hogs_topology, "_ROWS_AT_ONCE", 8)
    found = 0
    for seed in range(30):
        bits, _, _, rows = _case(seed)
        whole = likely_links(bits, rows, 0.3, path="pairs")
        with monkeypatch.context() as few:
            few.setattr(hogs_topology, "_ONES_AT_ONCE", 10)
            parts = likely_links(bits, rows, 0.3, path="pairs")
        for name in ("left", "right", "probability"):
            assert np.array_equal(getattr(whole, name), getattr(parts, name)), seed
        assert whole.looked_at == parts.looked_at
        found += len(whole)
    assert found > 100


def test_posterior_is_the_papers_formula() -> None:
    rng = np.random.default_rng(1)
    cosine, p = rng.random(1000), 0.07
    for ones, yes, no in ((0, p * p, (1 - p) ** 2), (1, p * (1 - p), p * (1 - p)), (2, (1 - p) ** 2, p * p)):
        paper = yes * cosine / (yes * cosine + no * (1 - cosine))
        got = edge_posterior(cosine, np.full(1000, 2 * ones - 2, np.int8), p / (1 - p))
        np.testing.assert_allclose(got, paper, rtol=1e-12)


def test_a_pair_without_reports_is_never_an_edge() -> None:
    rows = BitRows(np.full((3, 2), 255, np.uint8))
    bits = _bits(np.zeros((3, 3), np.bool_), np.array([False, False, True]), False, 0.1)
    links = likely_links(bits, rows, 0.5)
    assert list(zip(links.left, links.right, strict=True)) == [(0, 2), (1, 2)]
    links = likely_links(_bits(bits.ones, np.array([True, True, False]), True, 0.1), rows, 0.5)
    assert list(zip(links.left, links.right, strict=True)) == [(0, 1)]


def test_near_duplicates_are_looked_for_without_looking_at_all_pairs() -> None:
    rng = np.random.default_rng(3)
    packed = rng.integers(0, 256, (2000, 40), dtype=np.uint8)
    packed[7] = packed[1900]
    bits = _bits(np.zeros((2000, 2000), np.bool_), np.ones(2000, np.bool_), False, float(np.exp(-7.2)))
    links = likely_links(bits, BitRows(packed), 0.5)
    assert (links.path, links.looked_at) == ("pairs", 1)
    assert (links.left.tolist(), links.right.tolist(), links.probability.tolist()) == ([7], [1900], [1.0])


def test_a_transpose_in_parts_is_the_transpose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hogs_topology, "_ONES_AT_ONCE", 20)
    ones = csr_array(np.random.default_rng(1).random((50, 50)) < 0.1, dtype=np.int8)
    parts = list(transposed_parts(ones, 8))
    assert len(parts) > 2 and all(first % 8 == 0 for first, _ in parts)
    assert np.array_equal(np.concatenate([part.toarray() for _, part in parts]), ones.toarray().T)
