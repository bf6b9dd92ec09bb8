"""Audit of a named callable: seeds, sampled domains, laws of events."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from ldpsim.strategies.attacks.audit.randomiser import MOST_VALUES, RandomiserOptions, audit_named, sampled

CODE = """
import math, random
import numpy as np
P = math.exp(1) / (math.exp(1) + 3)
def f(value, rng):
    return value if rng.random() < P else (value + int(rng.integers(1, 4))) % 4
f.law = lambda value: {v: P if v == value else (1 - P) / 3 for v in range(4)}
def old(value):
    return (value if random.random() < P else (value + np.random.randint(1, 4)) % 4), random.getrandbits(64)
def first(report):
    return report[0]
def even(report):
    return report % 2
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("callee_of_tests.py").write_text(CODE)


def test_one_seed_gives_one_row_and_the_global_states_are_put_back() -> None:
    for function in ("f", "old"):
        asked = RandomiserOptions(function=f"callee_of_tests:{function}", domain="0:3", claims=1.0, trials=400, seed=3)
        state, places = random.getstate(), np.random.get_state()[2]
        rows = audit_named(asked)
        assert rows == audit_named(asked) and rows[0].passed
        assert random.getstate() == state and np.random.get_state()[2] == places


def test_an_event_is_counted_and_its_law_follows() -> None:
    row, law = audit_named(RandomiserOptions(function="callee_of_tests:f", event="callee_of_tests:even", domain="0:3",
                                             claims=1.0, trials=1000))  # fmt: skip
    assert row.exact == pytest.approx(np.log((np.e + 1) / 2)) and row.passed and law.passed
    seen = audit_named(RandomiserOptions(function="callee_of_tests:old", event="callee_of_tests:first", domain="0:3",
                                         claims=0.1, trials=2000))  # fmt: skip
    assert len(seen) == 1 and not seen[0].passed


def test_large_domains_are_sampled_and_say_so() -> None:
    values, note = sampled(list(range(1000)), 0)
    assert len(set(values)) == MOST_VALUES and values[0] == 0 and values[-1] == 999 and "16 of 1,000" in note
    assert sampled([1, 2], 0) == ([1, 2], "")
