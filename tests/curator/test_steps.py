from __future__ import annotations

import pytest

from ldpsim.curator.steps import on_progress, track


def test_a_listener_hears_about_a_hundred_shares_and_the_items_are_the_same() -> None:
    shares: list[float] = []
    with on_progress(shares.append):
        assert list(track(iter(range(2500)), 2500)) == list(range(2500))
    assert shares == [number / 100 for number in range(100)]
    assert list(track("abc", 3)) == ["a", "b", "c"]
    assert len(shares) == 100  # nobody listens outside


def test_the_inner_listener_hears_and_the_outer_one_is_back_after_an_error() -> None:
    outer: list[float] = []
    inner: list[float] = []
    with on_progress(outer.append):
        with pytest.raises(RuntimeError), on_progress(inner.append):
            for _ in track([1, 2], 2):
                raise RuntimeError
        list(track([1, 2], 2))
    assert (inner, outer) == ([0.0], [0.0, 0.5])
