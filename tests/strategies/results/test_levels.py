from __future__ import annotations

from typing import Any

import pytest

from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.strategies.results.in_words import compared_levels, held, level_named


def bounded(value: float, delta: float = 0.0) -> dict[str, Any]:
    return Level("bounded", value, delta).to_dict()


OPEN = Level("unprotected", reason="in clear").to_dict()
UNASKED = Level("not asked").to_dict()


def at_bit(adjacency: dict[str, Any], feature: dict[str, Any]) -> dict[str, Any]:
    return held({"bit_adjacency": adjacency, "bit_feature": feature}, "bit")


def test_a_bit_is_the_worse_of_its_two_kinds() -> None:
    assert at_bit(bounded(2), bounded(3))["value"] == 3
    assert at_bit(bounded(2), UNASKED)["value"] == 2
    assert at_bit(UNASKED, UNASKED)["status"] == "not asked"
    for one, other in ((OPEN, bounded(1)), (bounded(1), OPEN), (OPEN, UNASKED)):
        found = at_bit(one, other)
        assert (found["status"], found["value"], found["detail"]) == ("unprotected", None, "in clear")


def test_every_level_reads_its_own_entries_and_no_others() -> None:
    """All entries of a result have different values; one that is unprotected opens no other level."""
    parts = compared_levels()
    assert parts["bit"] == ("bit_adjacency", "bit_feature") and parts["user"] == ("user",)
    assert sorted(name for own in parts.values() for name in own) == sorted(LEVELS)
    names = [name for own in parts.values() for name in own]
    holds = {name: bounded(number + 1.0, number * 1e-9) for number, name in enumerate(names)}
    for level, own in parts.items():
        assert held(holds, level) == holds[own[-1]]  # of two, the larger
        opened = {name: entry if name in own else OPEN for name, entry in holds.items()}
        assert held(opened, level) == holds[own[-1]]
        assert held({**holds, own[0]: OPEN}, level)["status"] == "unprotected"


@pytest.mark.parametrize(
    "entry",
    [
        {"status": "fine", "value": 1.0}, {"status": "bounded", "value": None}, {"status": "bounded", "value": "inf"},
        {"status": "bounded", "value": float("nan")}, {"status": "bounded", "value": -1.0},
        {"status": "bounded", "value": True},
    ],
)  # fmt: skip
def test_what_no_result_says_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"privacy\.holds\.user"):
        held({"user": entry}, "user")


def test_names_of_levels() -> None:
    assert level_named("Central-Node") == "central_node"
    assert level_named("user") == "user"
    with pytest.raises(ValueError, match=r"--match everything: the level must be one of bit \(a bit\), relationship"):
        level_named("everything")
