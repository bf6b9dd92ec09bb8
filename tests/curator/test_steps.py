from __future__ import annotations

import pytest

from curator.steps import counted, heard


def test_a_listener_hears_about_a_hundred_shares_and_the_items_are_the_same() -> None:
    shares: list[float] = []
    with heard(shares.append):
        assert list(counted(iter(range(2500)), 2500)) == list(range(2500))
    assert shares == [number / 100 for number in range(100)]
    assert list(counted("abc", 3)) == ["a", "b", "c"]
    assert len(shares) == 100  # nobody listens outside


def test_the_inner_listener_hears_and_the_outer_one_is_back_after_an_error() -> None:
    outer: list[float] = []
    inner: list[float] = []
    with heard(outer.append):
        with pytest.raises(RuntimeError), heard(inner.append):
            for _ in counted([1, 2], 2):
                raise RuntimeError
        list(counted([1, 2], 2))
    assert (inner, outer) == ([0.0], [0.0, 0.5])
