from __future__ import annotations

from typing import Any

import pytest

from ldpsim.strategies.planning.worth import Worth

BELOW = "not better than asking nobody (features alone: 60 %)"
NEAR = "not measurably better than asking nobody (features alone: 60 %)"


@pytest.mark.parametrize(("test", "low", "why"), [
    (0.7, 0.01, ""), (0.7, 0.0, NEAR), (0.61, -0.1, NEAR), (0.6, -0.1, BELOW), (0.5, -0.2, BELOW),
])  # fmt: skip
def test_a_method_is_worth_asking_if_it_is_measurably_better_than_asking_nobody(
    test: float, low: float, why: str
) -> None:
    over = {"value": test - 0.6, "low": low, "high": 0.3}
    assert Worth(test, None, "features_alone", 0.6, over).not_better == why


def test_without_null_models_nothing_is_said() -> None:
    assert Worth(0.1).not_better == ""
    plain: dict[str, Any] = {"test": 0.1, "std": None, "asking_nobody": None}
    assert Worth(0.1).to_dict() == plain
    over = {"value": -0.2, "low": -0.3, "high": -0.1}
    assert Worth(0.1, 0.02, "chance", 0.3, over).to_dict() == {
        "test": 0.1, "std": 0.02, "asking_nobody": {"name": "chance", "test": 0.3, "over": over},
    }  # fmt: skip
