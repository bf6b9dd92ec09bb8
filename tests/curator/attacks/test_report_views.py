"""Views of reports: plain tuples, coordinates, bins and words."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.attacks.report_views import BINS, flattened, views_of


def test_reports_of_every_form_are_plain_tuples() -> None:
    assert flattened(3) == flattened(np.int64(3)) == flattened(np.array(3)) == (3,)
    assert flattened(([1, (0, 1)], "a")) == (1, 0, 1, "a")
    assert flattened(np.array([[1.5, 0.0]])) == (1.5, 0.0) and flattened({"b": 1, "a": 2}) == ("a", 2, "b", 1)
    assert flattened({1, 2}) == (frozenset({1, 2}),) and flattened(np.array([True, False])) == (True, False)
    assert flattened(float("nan")) == ("nan",)
    with pytest.raises(ValueError, match="give --event"):
        flattened(bytearray(b"a"))


def test_a_coordinate_of_many_numbers_is_cut_at_its_quantiles() -> None:
    rng = np.random.default_rng(0)
    reports = [(value, place % 2) for place, value in enumerate(rng.normal(size=3200).tolist())]
    views = views_of(reports)
    assert views.width == 2 and set(views.limits) == {0}
    assert np.bincount(views.column(reports, 0)).tolist() == [100] * BINS  # type: ignore[arg-type]
    assert views.column(reports[:4], 1) == [0, 1, 0, 1]
    assert views.words((0,), frozenset({(0,)})).startswith("coordinate 0 of the report is below -1.")
