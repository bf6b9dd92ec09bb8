from __future__ import annotations

import pytest

from ldpsim.curator.linear.scaling import columns_at_once, strips


@pytest.mark.parametrize("rows", [1, 3000, 1 << 17, 200_001, 10**6, 10**8])
@pytest.mark.parametrize("columns", [0, 1, 8, 129, 300])
def test_strips_cover_every_column_once_from_a_whole_byte(rows: int, columns: int) -> None:
    found = list(strips(rows, columns))
    assert [column for strip in found for column in range(strip.start, strip.stop)] == list(range(columns))
    assert all(strip.start % 8 == 0 for strip in found)


def test_a_strip_of_many_people_takes_at_most_64_mib() -> None:
    assert columns_at_once(1 << 17) == 128
    assert all(4 * rows * columns_at_once(rows) <= 1 << 26 for rows in (1 << 17, 500_000, 10**6, 2 * 10**6))
    assert columns_at_once(10**6, most=256) == 16
