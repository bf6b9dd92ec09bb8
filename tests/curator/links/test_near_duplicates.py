"""No pair that reaches the bound is lost, and far fewer than all pairs are returned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.links import similarity as near_duplicates
from ldpsim.curator.links.similarity import BitRows, RealRows, Rows, candidates


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


def test_few_pairs_are_returned() -> None:
    dense = BitRows(np.packbits(_planted(0, 0.4), axis=1))
    sparse = BitRows(np.packbits(_planted(0, 0.05), axis=1))
    everything = 120 * 119 / 2
    assert len(_found(dense, 0.01)) < 0.1 * everything
    assert len(_found(sparse, 0.1)) < 0.3 * everything


def test_too_many_candidates_are_left_to_the_caller() -> None:
    rows = BitRows(np.ones((50, 1), np.uint8))
    assert candidates(rows, 0.0, 1000) is None
    assert len(_found(rows, 0.0)) == 50 * 49 // 2
