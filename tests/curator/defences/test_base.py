"""What a row of bits is, and that its flip probability is the mechanism's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from curator.defences.base import flipped_rows, nobody
from devices.mechanisms import ClearAdjacency, RandomizedResponse
from devices.query import Ask
from tests.curator.defences.lies import reports_of

ROWS = np.zeros((5, 5), np.bool_)


def test_the_flip_probability_is_that_of_the_question() -> None:
    reports = reports_of(ROWS, 3.0, "one-end")
    rows = flipped_rows(reports)
    assert rows is not None and rows.one_end
    assert rows.flip == RandomizedResponse.from_epsilon(3.0, n=5).flip_probability


def test_a_row_in_clear_is_never_flipped() -> None:
    rows = flipped_rows(replace(reports_of(ROWS, 3.0), asks={"adjacency": Ask("adjacency", (ClearAdjacency(5),))}))
    assert rows is not None and rows.flip == 0 and not rows.one_end


def test_without_rows_there_is_nothing() -> None:
    reports = replace(reports_of(ROWS, 3.0), adjacency=None)
    assert flipped_rows(reports) is None and not nobody(reports).any()
