"""Callables and domains as a person writes them, and the audit of one: seeds, sampled domains."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from ldpsim.curator.attacks.mechanism_audit import Effort
from ldpsim.strategies.attacks.audit.audit import (
    MOST_VALUES,
    audit_callable,
    callable_named,
    domain_of,
    sampled,
    takes_rng,
)

CODE = """
import math, random
import numpy as np
P = math.exp(1) / (math.exp(1) + 3)
NOTHING = 1
def f(value, rng):
    return value if rng.random() < P else (value + int(rng.integers(1, 4))) % 4
f.law = lambda value: {v: P if v == value else (1 - P) / 3 for v in range(4)}
def old(value):
    return (value if random.random() < P else (value + np.random.randint(1, 4)) % 4), random.getrandbits(64)
def values():
    yield from 'ab'
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("callee_of_tests.py").write_text(CODE)
    Path("broken_of_tests.py").write_text("1 / 0\n")
    return "callee_of_tests"


@pytest.mark.parametrize(("text", "values"), [
    ("-1:2", [-1, 0, 1, 2]), ("yes, no", ["yes", "no"]), ("1,2,5", [1, 2, 5]), ("0.5,1", [0.5, 1.0]),
    ('["a", [1, 2]]', ["a", [1, 2]]),
])  # fmt: skip
def test_forms_of_a_domain(text: str, values: list[object]) -> None:
    assert domain_of(text) == values


@pytest.mark.parametrize(("text", "said"), [
    ("3:3", "1 value;"), ("5:3", "0 values;"), ("a", "1 value;"), ("a,a", "twice"), ("a:b:c", "the forms are"),
    ("[1", "delimiter"), ("nowhere_at_all:values", "no module"),
])  # fmt: skip
def test_domains_that_are_none(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        domain_of(text)


def test_modules_of_the_current_folder(module: str) -> None:
    assert not takes_rng(callable_named(f"{module}:old")) and takes_rng(callable_named(f"{module}:f"))
    assert domain_of(f"{module}:values") == ["a", "b"]
    for text, said in ((f"{module}:h", "has no h"), (f"{module}:NOTHING", "not callable"), ("a b", "the form is"),
                       ("broken_of_tests:f", "importing broken_of_tests raised ZeroDivisionError")):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            callable_named(text)


@pytest.mark.parametrize("function", ["f", "old"])
def test_one_seed_gives_one_row_and_the_global_states_are_put_back(module: str, function: str) -> None:
    state, place = random.getstate(), np.random.get_state()[2]
    once, again = (audit_callable(f"{module}:{function}", "0:3", Effort(400, seed=3), claimed=1.0) for _ in range(2))
    assert once == again and all(row.passed for row in once) and len(once) == 1 + (function == "f")  # with its law
    assert random.getstate() == state and np.random.get_state()[2] == place


def test_large_domains_are_sampled_and_say_so() -> None:
    values, note = sampled(list(range(1000)), 0)
    assert len(set(values)) == MOST_VALUES and values[0] == 0 and values[-1] == 999 and "16 of 1,000" in note
    assert sampled([1, 2], 0) == ([1, 2], "")
