"""Order in which new rows are written, so that little room stays unused in the pages of a ledger file.

SQLite fills a page until the next row does not fit. Rows of nearly a quarter of a page are three to a page where
their sizes come as they come, and four to a page where a large row stands beside smaller ones. What a row says, and
how it is found, does not depend on its place.
"""

from __future__ import annotations

import numpy as np

from ldpsim.devices.array_types import IntArray

PAGE = 4096  # bytes
ROOM = PAGE - 8  # of a page's rows, after its own head


def page_order(sizes: IntArray) -> IntArray:
    """Return the order in which rows of these sizes are written.

    The smallest rows go into pages of k rows, as many as there can be, and the others into pages of k - 1, and so
    on. The rows of pages of one kind are dealt out so that all those pages are about equally full.

    Args:
        sizes: Bytes that each row takes in a page.

    >>> sizes = np.array([1060, 1060, 980, 980, 1060, 980, 1060, 980])
    >>> [int(sizes[page].sum()) for page in page_order(sizes).reshape(2, 4)]
    [4080, 4080]
    """
    order = np.argsort(sizes, kind="stable")
    if not len(sizes) or sizes[order[0]] == sizes[order[-1]] or sizes[order[-1]] > ROOM:
        return np.arange(len(sizes))
    found: list[IntArray] = []
    for rows in range(ROOM // max(int(sizes[order[0]]), 1), 0, -1):
        pages = _pages(sizes, order, rows)
        found.append(pages.ravel())
        order = order[pages.size :]
    return np.concatenate([*found, order])


def _pages(sizes: IntArray, order: IntArray, rows: int) -> IntArray:
    """Return pages of so many rows each, from the smallest ones on: (pages, rows) of the numbers in ``order``."""
    ends = np.cumsum(sizes[order])[rows - 1 :: rows]
    room = ROOM
    while count := int(np.count_nonzero(ends <= room * np.arange(1, len(ends) + 1))):
        pages, used = _dealt(sizes, order[: count * rows].reshape(rows, count))
        beyond = int(used.max()) - ROOM
        if beyond <= 0:
            return pages
        room -= beyond
    return np.zeros((0, rows), np.int64)


def _dealt(sizes: IntArray, layers: IntArray) -> tuple[IntArray, IntArray]:
    """Give each page one row of every layer, the largest one to the page that is least full; and what is used."""
    pages = [layers[0]]
    used = sizes[layers[0]]
    for layer in layers[1:]:
        own = np.empty_like(layer)
        own[np.argsort(-used, kind="stable")] = layer
        pages.append(own)
        used = used + sizes[own]
    return np.stack(pages, axis=1), used
