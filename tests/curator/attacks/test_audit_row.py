"""Rows of an audit as JSON, and the bounds on its effort."""

from __future__ import annotations

import math

import pytest

from ldpsim.curator.attacks.audit_row import AuditRow, Effort


def test_rows_are_json_and_say_what_is_infinite() -> None:
    row = AuditRow("x", "bit", math.inf, 1.0, None, 0.9, 0, True, "why")
    assert row.to_dict()["claimed"] is None and row.to_dict()["detail"] == "claimed is infinite; why"
    for wrong in (lambda: Effort(trials=3), lambda: Effort(confidence=1.0)):
        with pytest.raises(ValueError):
            wrong()
    assert Effort(confidence=0.99, rows=10).error == pytest.approx(1e-3)
