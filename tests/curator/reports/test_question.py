"""Questions with other mechanisms, what identifies them, and budgets that are none."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.reports.question import Budget, Question, keys_of
from ldpsim.devices.mechanisms import GRR, Degree, RandomizedResponse
from ldpsim.devices.query import Ask, Query

ROW, DEGREE, LABEL = (
    RandomizedResponse.from_epsilon(1.0, n=9), Degree.from_epsilon(1.0, n=9), GRR.from_epsilon(1.0, categories=3)
)  # fmt: skip
PLAN = ((Ask("adjacency", (ROW, DEGREE)), Ask("label", (LABEL,))), (Ask("adjacency", (ROW,)),))
QUESTION = Question(Query("c", PLAN, 1), np.array([1, 4]), part=3)


def test_a_key_names_the_question_and_its_people_and_no_collection() -> None:
    def key(**changed: Any) -> object:
        return keys_of([replace(QUESTION, **changed)])

    same = replace(QUESTION.query, collection="other")
    assert key(query=same) == key() == key(part=7) == key(devices=np.array([1, 4], np.int32))
    different = [
        key(query=replace(QUESTION.query, stage=0)), key(devices=None),
        key(devices=np.array([1, 5])), key(devices=np.array([], np.int64)), keys_of([QUESTION, QUESTION]), keys_of([]),
    ]  # fmt: skip
    assert all(each != key() for each in different) and len({*different}) == len(different)


@pytest.mark.parametrize("name", ["epsilon", "eps_adjacency", "eps_features", "eps_labels"])
def test_budgets_that_are_none(name: str) -> None:
    for value in (0.0, -1.0, math.nan, -math.inf):
        with pytest.raises(ValueError, match=f"--{name.replace('_', '-')} must be a finite number above 0"):
            Budget(**{name: value})  # type: ignore[arg-type]
    assert getattr(Budget(**{name: 1e-9}), name) == 1e-9  # type: ignore[arg-type]
    if name in ("eps_features", "eps_labels"):  # in clear
        assert getattr(Budget(**{name: math.inf}), name) == math.inf  # type: ignore[arg-type]
    else:
        with pytest.raises(ValueError, match="finite"):
            Budget(**{name: math.inf})  # type: ignore[arg-type]
