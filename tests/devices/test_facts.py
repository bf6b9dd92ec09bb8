"""Public facts: what they refuse and that they come back from JSON.

This file also covers ``devices/array_types.py``: types alone, checked by mypy.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from ldpsim.devices.facts import PublicFacts


def test_json_and_back() -> None:
    facts = PublicFacts(3, 4, 2, feature_low=-1.0, feature_high=2.5, domains=(2, 3), class_names=("a", "b"))
    assert PublicFacts.from_dict(json.loads(json.dumps(facts.to_dict()))) == facts


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 0}, {"d": -1}, {"classes": -1}, {"feature_low": 1.0}, {"feature_high": float("nan")},
        {"class_names": ("a",)},
    ],
)  # fmt: skip
def test_impossible_facts(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        PublicFacts(**{"n": 3, "d": 4, "classes": 2, **wrong})
