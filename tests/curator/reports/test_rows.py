"""What a row of bits is, and that its flip probability is the mechanism's own."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.reports.rows import flipped_rows, noisy_rows_of_bits
from ldpsim.devices.mechanisms import RandomizedResponse
from tests.curator.defences.lies import reports_of

ROWS = np.zeros((5, 5), np.bool_)


def test_the_law_is_that_of_the_question() -> None:
    mechanism = RandomizedResponse.from_epsilon(3.0, n=5, reporting="one-end")
    rows = flipped_rows(reports_of(ROWS, 3.0, "one-end"))
    assert rows is not None and rows.one_end and rows.flip == noisy_rows_of_bits(reports_of(ROWS, 3.0, "one-end")).flip
    assert (rows.flip, rows.odds) == (mechanism.flip_probability, mechanism.flip_odds)
    assert rows.lengths.tolist() == [mechanism.targets(person) for person in range(5)]


def test_without_rows_there_is_nothing() -> None:
    reports = reports_of(ROWS, 3.0).with_arrays(adjacency=None)
    assert flipped_rows(reports) is None
    with pytest.raises(ValueError, match="the reports hold no adjacency"):
        noisy_rows_of_bits(reports)
