"""People with similar features, as a weighted graph: k nearest rows by cosine, among some of the people.

A mean over similar people's rows says more about a person with few words than the person's own row, and it needs no
label. All rows take part, those of unlabelled people too. Above 4,096 people, neighbours are looked for among evenly
spaced candidates only, so time grows with n times 4,096, and above 32,768 people not faster than n.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

NEIGHBOURS = 30
_MOST = 4096  # people to look among
_FEWEST = 512
_ENTRIES = 1 << 27  # cosines in all
_AT_ONCE = 1 << 23
_DENSE = 1024  # columns up to which a dense product is faster


def similarity_graph(rows: Any, neighbours: int = NEIGHBOURS) -> csr_array:
    """float32 CSR (n, n): row i has the cosines of up to ``neighbours`` people most similar to i, without i.

    Args:
        rows: (n, d) of length 1 or 0, numpy or CSR.
        neighbours: Largest number of neighbours.

    >>> similarity_graph(np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]), 1).toarray().round(1)
    array([[0. , 0.8, 0. ],
           [0.8, 0. , 0. ],
           [0. , 0.6, 0. ]], dtype=float32)
    """
    n = rows.shape[0]
    candidates = np.linspace(0, n - 1, min(n, _MOST, max(_FEWEST, _ENTRIES // n))).astype(np.int64)
    candidate_of = np.full(n, -1, np.int64)  # place among the candidates, -1 for other people
    candidate_of[candidates] = np.arange(len(candidates))
    if issparse(rows) and rows.shape[1] <= _DENSE:
        rows = rows.toarray()
    candidate_columns = rows[candidates].T
    count = min(neighbours, len(candidates))
    step = max(1, _AT_ONCE // len(candidates))
    columns, cosines = [], []
    for start in range(0, n, step):
        products = rows[start : start + step] @ candidate_columns
        block = np.asarray(products.toarray() if issparse(products) else products, np.float32)
        self_column = candidate_of[start : start + step]
        is_candidate = np.flatnonzero(self_column >= 0)
        block[is_candidate, self_column[is_candidate]] = 0
        best = np.argpartition(-block, count - 1, axis=1)[:, :count]
        columns.append(candidates[best])
        cosines.append(np.maximum(np.take_along_axis(block, best, axis=1), 0))
    similar, weights = np.concatenate(columns).ravel(), np.concatenate(cosines).ravel()
    graph = csr_array((weights, (np.repeat(np.arange(n), count), similar)), shape=(n, n))
    graph.eliminate_zeros()
    return graph
