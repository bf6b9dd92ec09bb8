"""The one list of levels of guarantee."""

from __future__ import annotations

import doctest

import pytest

from ldpsim.curator.attacks.method_audit import _World
from ldpsim.curator.privacy import levels
from ldpsim.curator.privacy.guarantee import Claim, Guarantee, Level, open_guarantee
from ldpsim.curator.privacy.levels import LEVELS, by_attribute, level_spec
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.noise import NoiseStream

CONTRACT = ("bit_adjacency", "bit_feature", "relationship", "vector", "label", "user", "node", "central_node")


def test_the_contracts_levels_in_its_order() -> None:
    assert tuple(LEVELS) == CONTRACT


def test_what_changes_at_each_level_and_under_which_name_it_is_compared() -> None:
    assert {name: (spec.attribute, spec.unit, spec.compared) for name, spec in LEVELS.items()} == {
        "bit_adjacency": ("adjacency", "entry", "bit"),
        "bit_feature": ("features", "entry", "bit"),
        "relationship": ("adjacency", "edge", "relationship"),
        "vector": ("features", "whole", "vector"),
        "label": ("label", "whole", "label"),
        "user": (None, "record", "user"),
        "node": (None, "node", "node"),
        "central_node": (None, "owned", "central_node"),
    }


def test_an_unknown_level_is_one_clear_line() -> None:
    holds = {**dict.fromkeys(LEVELS, Level("not asked")), "neighbourhood": Level("not asked")}
    world = _World(PublicFacts(4, 2, 2), (), NoiseStream)
    for look in (
        lambda: level_spec("neighbourhood"),
        lambda: Guarantee("none", Claim("nothing", None), holds),
        lambda: world.changes("neighbourhood"),
    ):
        with pytest.raises(ValueError, match="^neighbourhood: there is no such level of guarantee .known: bit_adj"):
            look()


def test_a_level_that_reports_do_not_show_is_not_audited_as_another() -> None:
    with pytest.raises(ValueError, match="central_node: reports of people do not show"):
        _World(PublicFacts(4, 2, 2), (), NoiseStream).changes("central_node")


def test_values_by_attribute() -> None:
    found = by_attribute({"adjacency": 1, "features": 2, "label": 3}, several=4, owned=5)
    assert found == dict(zip(CONTRACT, (1, 2, 1, 2, 3, 4, 4, 5), strict=True))
    graph_alone = open_guarantee(["adjacency"], trust="none", statement="").holds
    assert [name for name, level in graph_alone.items() if level.status == "unprotected"] == [
        "bit_adjacency", "relationship", "user", "node", "central_node",
    ]  # fmt: skip


def test_levels_that_a_devices_own_ledger_shows() -> None:
    assert [name for name, spec in LEVELS.items() if spec.in_ledger] == [
        "bit_adjacency", "bit_feature", "vector", "label", "user",
    ]  # fmt: skip


def test_the_example() -> None:
    assert doctest.testmod(levels).failed == 0
