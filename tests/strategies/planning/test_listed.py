from __future__ import annotations

from ldpsim.curator.methods import BUILT_IN, find
from ldpsim.strategies.planning.listed import GROUPS, LISTED, Listed, listed_as


def test_the_list_has_every_method_with_one_private_report_and_other_trust() -> None:
    local = {name for name, path in BUILT_IN.items() if path.startswith("local.")}
    assert local <= set(LISTED) <= set(BUILT_IN)
    for name, entry in LISTED.items():
        other = find(name).spec.trust == "trusted curator" or not BUILT_IN[name].startswith("local.")
        assert (entry.group == "other trust") == other and entry.group in GROUPS


def test_a_method_that_is_not_in_the_list_is_described_by_its_class() -> None:
    assert listed_as("hogs") is LISTED["hogs"]
    assert listed_as("vote", volunteers=True) == Listed("one vote on list and features", "asking less")
    assert listed_as("vote", volunteers=True, labels=True).asks == "one vote on list and features, or the label"
    assert listed_as("hogs", volunteers=True) is LISTED["hogs"]
    assert listed_as("raw") == Listed("nothing", "nothing")
    assert listed_as("privgnn") == Listed("adjacency, features, label", "other trust")
