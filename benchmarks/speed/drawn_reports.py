"""Reports drawn with numpy by the law of the mechanisms, without devices: for measurements of the curator alone.

    reports = drawn_reports(population, questions, seed=0)

Their distribution is that of a collection from everybody. They cost no ledger, and nobody is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ldpsim.curator.reports.question import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population, distinct
from ldpsim.devices.mechanisms import GRR, GRRFS, MultiBit, OneBit, RandomizedResponse
from ldpsim.devices.mechanisms.stacked_reports import ones_at
from ldpsim.devices.query import Ask

_ROWS = 16384


def drawn_reports(population: Population, questions: Sequence[Question], *, seed: int) -> Reports:
    """Return reports of everybody who is asked.

    Args:
        population: The people; features are 0 or 1.
        questions: Questions of one stage and one part.
        seed: Seed of the noise.

    Raises:
        TypeError: for a mechanism that is not drawn here.
    """
    rng = np.random.default_rng(seed)
    n = len(population)
    asks, asked, fields = dict[str, Ask](), dict[str, NDArray[np.bool_]](), dict[str, Any]()
    for question in questions:
        for ask in question.query.asks:
            asks[ask.attribute] = ask
            who = asked.setdefault(ask.attribute, np.zeros(n, np.bool_))
            who[slice(None) if question.devices is None else question.devices] = True
    for attribute, ask in asks.items():
        for mechanism in ask.mechanisms:
            draw = _DRAWN.get(mechanism.name)
            if draw is None:
                raise TypeError(f"{mechanism.name} is not drawn here")
            fields[mechanism.field] = draw(mechanism, population, rng)
            if mechanism.field == "labels":
                fields["labels"][~asked[attribute]] = -1
    return Reports(population.facts, asks, asked, np.ones(n, np.bool_), **fields)


def _rows(mechanism: RandomizedResponse, people: Population, rng: np.random.Generator) -> csr_array:
    """bool CSR (n, n): flips of a block of rows at a time, by their number and places."""
    n, parts, counts = len(people), [], []
    starts, ends = people.neighbour_indptr[:-1], people.neighbour_indptr[1:]
    for first in range(0, n, _ROWS):
        last = min(first + _ROWS, n)
        cells = (last - first) * n
        flips = distinct(rng.integers(0, cells, rng.binomial(cells, mechanism.flip_probability)))
        row = np.repeat(np.arange(last - first), ends[first:last] - starts[first:last])
        true = row * n + people.neighbour_indices[starts[first] : ends[last - 1]]
        keys = np.setxor1d(flips, true, assume_unique=True)
        row, column = np.divmod(keys, n)
        kept = row + first > column if mechanism.reporting == "one-end" else row + first != column
        counts.append(np.bincount(row[kept], minlength=last - first))
        parts.append(column[kept].astype(np.int32))
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    indices = np.concatenate(parts)
    return ones_at((n, n), indptr.astype(np.int32) if indptr[-1] < 1 << 31 else indptr, indices)


def _truth(people: Population, first: int, last: int) -> NDArray[np.bool_]:
    starts = people.feature_indptr
    block = np.zeros((last - first, people.facts.d), np.bool_)
    row = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
    block[row, people.feature_indices[starts[first] : starts[last]]] = True
    return block


def _bits(mechanism: OneBit, people: Population, rng: np.random.Generator) -> NDArray[np.uint8]:
    n = len(people)
    packed = np.empty((n, (mechanism.d + 7) // 8), np.uint8)
    q = np.float32(mechanism.flip_probability)
    for first in range(0, n, _ROWS):
        truth = _truth(people, first, min(first + _ROWS, n))
        packed[first : first + _ROWS] = np.packbits((rng.random(truth.shape, dtype=np.float32) < q) ^ truth, axis=1)
    return packed


def _chosen(rng: np.random.Generator, rows: int, d: int, m: int) -> NDArray[np.int64]:
    """int64 (rows, m): m different columns of d for each row."""
    return np.argpartition(rng.random((rows, d), dtype=np.float32), m - 1, axis=1)[:, :m]


def _categories(mechanism: GRRFS, people: Population, rng: np.random.Generator) -> NDArray[np.uint8]:
    if set(mechanism.domains) != {2} or mechanism.block != 1:
        raise TypeError("grr_fs is drawn here for binary columns alone")
    n, d = len(people), mechanism.d
    lie = 1 - mechanism.truth_and_other(2)[0]
    found = np.empty((n, d), np.uint8)
    for first in range(0, n, _ROWS):
        truth = _truth(people, first, min(first + _ROWS, n))
        rows = np.arange(len(truth))[:, None]
        block = rng.integers(0, 2, truth.shape, dtype=np.uint8)
        sampled = _chosen(rng, len(truth), d, mechanism.m)
        block[rows, sampled] = truth[rows, sampled] ^ (rng.random(sampled.shape) < lie)
        found[first : first + _ROWS] = block
    return found


def _sampled_bits(mechanism: MultiBit, people: Population, rng: np.random.Generator) -> csr_array:
    n, d, m = len(people), mechanism.d, mechanism.m
    columns, signs = [], []
    for first in range(0, n, _ROWS):
        truth = _truth(people, first, min(first + _ROWS, n))
        sampled = np.sort(_chosen(rng, len(truth), d, m), axis=1)
        right = truth[np.arange(len(truth))[:, None], sampled]
        columns.append(sampled.astype(np.int32).ravel())
        signs.append((right ^ (rng.random(sampled.shape) < mechanism.flip_probability)).ravel())
    values = np.where(np.concatenate(signs), 1, -1).astype(np.int8)
    indptr = np.arange(0, n * m + 1, m, dtype=np.int32)
    return csr_array((values, np.concatenate(columns), indptr), shape=(n, d))


def _labels(mechanism: GRR, people: Population, rng: np.random.Generator) -> NDArray[np.int64]:
    truth = np.maximum(people.labels, 0)
    other = rng.integers(0, mechanism.categories - 1, len(people))
    lies = rng.random(len(people)) > mechanism.truth_probability
    return np.where(lies, other + (other >= truth), truth)


_DRAWN: dict[str, Any] = {
    RandomizedResponse.name: _rows, GRR.name: _labels, OneBit.name: _bits, GRRFS.name: _categories,
    MultiBit.name: _sampled_bits,
}  # fmt: skip
