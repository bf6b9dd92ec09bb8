"""What a setting makes public, by its guarantee."""

from __future__ import annotations

import pytest

from ldpsim.curator.methods import find
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.planning.in_clear import PublicData, in_clear
from ldpsim.strategies.planning.listed import LISTED
from ldpsim.strategies.planning.on_paper import OnPaper
from ldpsim.strategies.setup.options import RunOptions

PAPER = OnPaper(GraphFacts(2000, features=40, classes=3, words=5.0))


def of(options: RunOptions) -> PublicData:
    return in_clear(PAPER.guarantee(PAPER.set_up(options)).to_dict()["holds"], 0.5)


@pytest.mark.parametrize("method", LISTED)
def test_what_is_in_clear_is_what_the_method_says_of_itself(method: str) -> None:
    kind, found = find(method), of(RunOptions(method=method))
    reports = kind.spec.trained_by == "curator"
    assert ("adjacency" in found.parts, "features" in found.parts) == (
        reports and kind.spec.public_graph, reports and kind.spec.public_features
    )  # fmt: skip
    assert found.labels == (reports and not kind.spec.asks_labels) and not found.volunteers
    assert found.rank == (2 if found.parts else 1 if found.labels else 0)


@pytest.mark.parametrize(("options", "found"), [
    (RunOptions(method="vote", volunteers=0.1), PublicData(volunteers=True, share=0.5)),
    (RunOptions(method="vote", private_labels=True, eps_labels=1.0), PublicData()),
    (RunOptions(method="vote", public_features=True), PublicData(("features",), labels=True, share=0.5)),
    (RunOptions(method="sbp", volunteers=0.1), PublicData(labels=True, share=0.5)),
])  # fmt: skip
def test_options_say_what_is_in_clear(options: RunOptions, found: PublicData) -> None:
    assert of(options) == found


def test_words() -> None:
    assert PublicData().words == "" and PublicData(("features", "adjacency")).words == "everybody's features and links"
    assert PublicData(labels=True).words == "labels of some people"
    assert PublicData(volunteers=True, share=0.075).words == "label and features of 7.5 % of people, who volunteer"
    assert PublicData(volunteers=True).rank == PublicData().rank == 0
