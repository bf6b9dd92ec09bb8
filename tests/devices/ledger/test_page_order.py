"""Order of the rows in a ledger file: each row once, in fewer pages, in a file that SQLite fills so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpsim.devices.ledger import statements
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.ledger.page_order import PAGE, ROOM, page_order
from ldpsim.devices.ledger.rows import FirstAnswers

COLLECTION = "c" * 32


def pages(sizes: np.ndarray) -> int:
    """The pages that rows take where each is written after the one before it."""
    count, room = 1, ROOM
    for size in sizes.tolist():
        if size > room:
            count, room = count + 1, ROOM
        room -= size
    return count


@given(st.lists(st.integers(1, 2 * ROOM), max_size=60))
def test_each_row_is_written_once(sizes: list[int]) -> None:
    assert sorted(page_order(np.array(sizes, np.int64)).tolist()) == list(range(len(sizes)))


@pytest.mark.parametrize(("mean", "spread", "most"), [(1028, 36, 0.88), (700, 50, 0.92), (1500, 300, 0.9)])
def test_rows_of_several_sizes_take_fewer_pages(mean: int, spread: int, most: float) -> None:
    sizes = np.random.default_rng(0).normal(mean, spread, 512).astype(np.int64).clip(60, ROOM)
    assert pages(sizes[page_order(sizes)]) <= most * pages(sizes)


@pytest.mark.parametrize("sizes", [[], [300] * 40, [300, ROOM + 1, 400]])
def test_rows_of_one_size_and_rows_beyond_a_page_stay_as_they_are(sizes: list[int]) -> None:
    assert page_order(np.array(sizes, np.int64)).tolist() == list(range(len(sizes)))


def _file(path: Path, sizes: np.ndarray) -> int:
    """Enter rows whose parts have these sizes; return the pages of the file."""
    first = 40_000
    parts = [bytes([place % 251]) * size for place, size in enumerate(sizes.tolist())]
    answers = FirstAnswers(range(first, first + len(parts)), COLLECTION, parts, 1.5)
    ledger = Ledger.create(path)
    with ledger.transaction():
        ledger.enter_first(answers, seal_keys=[bytes(32)] * len(parts))
    assert [row.packed_parts for _, (row,) in ledger.devices()] == parts
    ledger.close()
    return path.stat().st_size // PAGE


def test_a_file_of_reports_of_a_million_people_has_few_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their parts take 938 bytes: four rows fill a page, and with the sizes as they come a page has three or four."""
    sizes = np.random.default_rng(0).normal(938, 36, 512).astype(np.int64)
    answers = FirstAnswers(range(40_000, 40_512), COLLECTION, [bytes(size) for size in sizes.tolist()], 1.5)
    expected = pages(answers.sizes[page_order(answers.sizes)])
    ordered = _file(tmp_path / "ordered", sizes)
    assert 0 <= ordered - expected <= 10 and ordered <= 145  # other tables, and the indexes, have eight pages
    monkeypatch.setattr(statements, "page_order", lambda sizes: np.arange(len(sizes)))
    assert _file(tmp_path / "as they come", sizes) > 155
