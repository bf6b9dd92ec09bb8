"""Wrappers and the line of the table, without the libraries."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks.audits import cases, run
from ldpsim.curator.attacks.mechanism_audit import Effort


def test_wrappers() -> None:
    add: Any = cases.given(lambda value, more: value + more, 3)
    assert cases.then(add, str)(4) == "7"
    assert cases.marks([len, lambda text: int(text)])(12) == [2, 12]
    assert cases.finer_than_the_grid([1 + 2**-52, 2**-54, 0.5]) == (False, True, False)


def test_a_case_becomes_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "version", lambda library: "1.2.3")
    case = cases.Case("lib", "clear", 1.0, lambda value: value if random.random() < 0.999 else 0)
    line = run.written(case, run.audited(case, Effort(trials=400)))
    assert line["passed"] == "False" and line["version"] == "1.2.3" and float(line["lower_bound"]) > 1
    assert line["law"] == line["exact"] == ""
