"""Categories in the columns of a record, and on the wire.

A record holds 0/1 columns. Without blocks an attribute of two categories is one column,
one of k > 2 categories is k columns of which one is 1.
With blocks, ``block`` consecutive columns are one binary attribute, their OR.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldpsim.devices.data.records import Records

LARGEST = 1 << 20


class Coding:
    """Conversion of attributes from columns and to bytes.

    Args:
        domains: Number of categories of each attribute.
        columns: Number of columns.
        block: Number of columns that are joined by OR into one attribute; 1 for none.

    Raises:
        ValueError: where the columns do not make up these attributes.
    """

    def __init__(self, domains: tuple[int, ...], columns: int, block: int) -> None:
        if columns > LARGEST:  # a stranger wrote the query, and the arrays below are as long
            raise ValueError(f"{columns} columns are more than {LARGEST}")
        self.sizes = np.array(domains, np.int64)
        widths = np.where(self.sizes == 2, 1, self.sizes)
        if block > 1:
            fits = set(domains) == {2} and -(-columns // block) == len(domains)
        else:
            fits = block == 1 and widths.sum() == columns
        if not fits:
            raise ValueError(f"{columns} columns in blocks of {block} do not make up {len(domains)} attributes")
        self.columns = columns
        # the attribute of each column, and the category that a 1 there means
        if block > 1:
            self._attribute, self._category = np.arange(columns) // block, np.ones(columns, np.int64)
        else:
            self._attribute, place = _places(widths)
            self._category = np.where(widths[self._attribute] == 1, 1, place)
        self._bit_attribute, self._bit_place = _places(np.array([(g - 1).bit_length() for g in domains], np.int64))

    def read(self, records: Records) -> np.ndarray:
        """int64 (people, attributes): categories of records by their columns above 0.

        The first one counts where an attribute has several; category 0 where it has none; a
        column that does not exist counts as the nearest one. Nothing is raised.
        """
        person = np.repeat(np.arange(len(records)), records.feature_counts)
        above = records.feature_values > 0
        columns = np.clip(records.feature_indices[above], 0, self.columns - 1)[::-1]
        value = np.zeros((len(records), len(self.sizes)), np.int64)
        value[person[above][::-1], self._attribute[columns]] = self._category[columns]
        return value

    def pack(self, categories: np.ndarray) -> list[bytes]:
        """Return each category in as many bits as its domain needs, lowest first, joined; (people, attributes)."""
        bits = np.packbits(categories[:, self._bit_attribute] >> self._bit_place & 1, axis=1)
        return [row.tobytes() for row in bits]

    def unpack(self, rows: Sequence[bytes]) -> np.ndarray:
        """Read :meth:`pack` back, int64 (people, attributes); ValueError for any other form."""
        size = len(self._bit_place)
        if any(len(row) != (size + 7) // 8 for row in rows):
            raise ValueError(f"the bytes do not hold {len(self.sizes)} categories")
        bits = np.unpackbits(np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), (size + 7) // 8), axis=1)
        starts = np.flatnonzero(np.diff(self._bit_attribute, prepend=-1))  # a category takes a bit at least
        categories = np.add.reduceat(bits[:, :size].astype(np.int64) << self._bit_place, starts, axis=1)
        if bits[:, size:].any() or np.any(categories >= self.sizes):
            raise ValueError("a category lies outside its domain")
        return categories


def _places(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, of ``counts[i]`` entries of each i in a row, the i of each entry and its place among those of i."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
