"""The same edges and the same P as the dense algorithm, on every path; near duplicates and cosines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.links import candidates as near_duplicates
from ldpsim.curator.links import hogs as hogs_topology
from ldpsim.curator.links.candidates import candidates
from ldpsim.curator.links.hogs import likely_links
from ldpsim.curator.links.similarity import BitRows, RealRows, Rows, public_rows
from ldpsim.curator.reports import pairs as pairs_of_rows
from ldpsim.curator.reports.rows import FlippedRows
from tests.curator import dense_hogs


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
def test_every_path_equals_the_dense_algorithm(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles, all pairs in blocks of 8 rows, and searches whose ones are looked at in parts."""
    monkeypatch.setattr(hogs_topology, "TILE", 16)
    monkeypatch.setattr(hogs_topology, "_ROWS_AT_ONCE", 8)
    unreported = taken = 0
    for seed in range(20 * block, 20 * (block + 1)):
        monkeypatch.setattr(pairs_of_rows, "_ONES_AT_ONCE", 10 if seed % 2 else 1 << 20)
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


def _planted(seed: int, share: float, d: int = 400) -> np.ndarray:
    """Rows with copies that differ in 0 to 6 positions."""
    rng = np.random.default_rng(seed)
    bits = rng.random((120, d)) < share
    for copy in range(60, 120):
        bits[copy] = bits[rng.integers(60)]
        bits[copy, rng.integers(0, d, rng.integers(0, 7))] ^= True
    bits[10] = False
    return bits


def _found(rows: Rows, gap: float) -> set[tuple[int, int]]:
    batches = candidates(rows, gap, np.inf)
    assert batches is not None
    pairs = {pair for left, right in batches for pair in zip(left.tolist(), right.tolist(), strict=True)}
    assert all(left < right for left, right in pairs)
    return pairs


def _wanted(rows: Rows, gap: float) -> set[tuple[int, int]]:
    left, right = np.triu_indices(len(rows), 1)
    close = rows.cosine(left, right) >= 1 - gap
    return set(zip(left[close].tolist(), right[close].tolist(), strict=True))


@pytest.mark.parametrize("filter_", ["_blocks", "_prefixes"])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.4])
@pytest.mark.parametrize("gap", [0.0, 0.003, 0.02, 0.06, 0.15])
def test_each_filter_alone_loses_nothing(
    filter_: str, share: float, gap: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if filter_ == "_blocks":
        monkeypatch.setattr(near_duplicates, "_MOST_ENTRIES", -1)
    else:
        monkeypatch.setattr(near_duplicates, "_blocks", lambda *_: None)
    for seed in range(3):
        rows = BitRows(np.packbits(_planted(seed, share), axis=1))
        if filter_ == "_blocks" and candidates(rows, gap, np.inf) is None:
            assert 2 * rows.ones.max() * gap >= rows.packed.shape[1]  # more blocks than bytes: not its case
            continue
        wanted = _wanted(rows, gap)
        assert wanted and wanted <= _found(rows, gap)


@pytest.mark.parametrize("gap", [0.0, 1e-6, 0.02, 0.2, 0.6])
def test_real_rows_of_very_different_norms(gap: float) -> None:
    rng = np.random.default_rng(5)
    dense = _planted(0, 0.05) * rng.random((120, 400)) * 10.0 ** rng.integers(-6, 7, (120, 1))
    dense[20:30] = dense[30:40] * 1e4  # parallel rows: cosine 1 up to rounding
    dense[40:44] = -dense[50:54]
    rows = RealRows(csr_array(dense))
    assert _wanted(rows, gap + 1e-9) <= _found(rows, gap + 1e-9)


def test_too_many_candidates_are_left_to_the_caller() -> None:
    rows = BitRows(np.ones((50, 1), np.uint8))
    assert candidates(rows, 0.0, 1000) is None
    assert len(_found(rows, 0.0)) == 50 * 49 // 2
