"""The one list of levels of guarantee."""

from __future__ import annotations

import pytest

from ldpsim.curator.attacks.method_audit import World
from ldpsim.curator.privacy.guarantee import Claim, Guarantee, Level
from ldpsim.curator.privacy.levels import LEVELS, level_spec
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.noise import NoiseStream

CONTRACT = ("bit_adjacency", "bit_feature", "relationship", "vector", "label", "user", "node", "central_node")


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
    world = World(PublicFacts(4, 2, 2), (), NoiseStream)
    for look in (
        lambda: level_spec("neighbourhood"),
        lambda: Guarantee("none", Claim("nothing", None), holds),
        lambda: list(world.changes("neighbourhood")),
    ):
        with pytest.raises(ValueError, match="^neighbourhood: there is no such level of guarantee .known: bit_adj"):
            look()


def test_a_level_that_reports_do_not_show_is_not_audited_as_another() -> None:
    with pytest.raises(ValueError, match="central_node: reports of people do not show"):
        list(World(PublicFacts(4, 2, 2), (), NoiseStream).changes("central_node"))
