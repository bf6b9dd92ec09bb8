from __future__ import annotations

from curator.methods import BUILT_IN, find
from strategies.planning.listed import LISTED, Listed, listed_as


def test_the_list_has_every_method_with_one_private_report_and_other_trust() -> None:
    local = {name for name, path in BUILT_IN.items() if path.startswith("local.")}
    assert local <= set(LISTED) <= set(BUILT_IN)
    for name, entry in LISTED.items():
        other = find(name).trust == "trusted curator" or not BUILT_IN[name].startswith("local.")
        assert (entry.group == "other trust") == other


def test_a_method_asks_for_its_answers_and_says_what_is_public() -> None:
    assert Listed("links").asks == "links" and Listed("links", public="features").asks == "links; features are public"
    assert (Listed("links").group, Listed("links").public) == ("one report", "")


def test_a_method_that_is_not_in_the_list_is_described_by_its_class() -> None:
    assert listed_as("hogs") is LISTED["hogs"]
    assert "volunteers" in listed_as("vote", volunteers=True).asks and "volunteers" not in listed_as("vote").asks
    assert listed_as("hogs", volunteers=True) is LISTED["hogs"]
    assert listed_as("raw") == Listed("nothing", "nothing")
    assert listed_as("privgnn") == Listed("adjacency, features, label", "other trust")
