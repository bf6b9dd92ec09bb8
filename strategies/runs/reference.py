"""Reference of a run: the same network on the same graph, without noise or protection."""

from __future__ import annotations

from curator.methods import Reference, find
from devices.facts import Split
from strategies.people.owned_graph import own
from strategies.results import evaluation
from strategies.setup.run_setup import Plan


def reference_accuracy(plan: Plan, split: Split, seed: int) -> float | None:
    """Accuracy of the same GNN on the same graph with no noise and no protection."""
    reference = find("raw")()
    assert isinstance(reference, Reference)
    graph = reference.from_owned(own(plan.population, split, trust="none"))
    trained = reference.train(
        graph, settings=plan.settings.reference, classes=plan.population.facts.classes, seed=seed,
        device=plan.options.device,
    )  # fmt: skip
    return evaluation.accuracy(trained.predictions, plan.population, split)["test"]
