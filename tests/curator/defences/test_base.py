"""What a defence says where it flags nobody."""

from __future__ import annotations

import numpy as np

from ldpsim.curator.defences.base import nobody, silent_on
from tests.curator.defences.lies import reports_of


def test_nobody_is_one_entry_a_person() -> None:
    found = nobody(reports_of(np.zeros((5, 5), np.bool_), 3.0))
    assert found.shape == (5,) and not found.any()
    assert silent_on("rows") == {"not_used": "the reports hold no rows"}
