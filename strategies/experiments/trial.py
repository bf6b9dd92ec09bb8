"""Reports of one collection of simulated people, and what a setting makes of them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from curator.learning.training import TrainingSettings, train
from curator.methods import Method, Reference
from curator.methods.base import Graph
from curator.reports.reports import Reports
from devices.data.population import Population
from devices.data.splits import make_split
from devices.facts import PublicKnowledge, Split
from strategies.people.owned_graph import own
from strategies.results import evaluation
from strategies.runs.asking import ask_devices, public_knowledge
from strategies.setup.options import RunOptions
from strategies.setup.run_setup import plan_run


@dataclass(frozen=True, eq=False)
class Trial:
    """One collection of freshly enrolled people.

    Args:
        population: The truth, for scoring test accuracy, and for references, which read it.
        split: Division of the nodes.
        public: What the curator knows beside the reports.
        reports: What people said; None for a reference, which asks nobody.
        seed: Training seed.
        device: Where networks train.
    """

    population: Population = field(repr=False)
    split: Split = field(repr=False)
    public: PublicKnowledge = field(repr=False)
    reports: Reports | None = field(repr=False)
    seed: int = 0
    device: str = "cpu"

    def score(self, graph: Graph, training: TrainingSettings, method: Method | None = None) -> tuple[float, float]:
        """Return (validation accuracy as the curator sees it, true test accuracy) of a network on a graph.

        ``method`` trains as it does in a run, with a loss of its own where it has one; None
        is the common training.
        """
        trained = (train if method is None else method.train)(
            graph, settings=training, classes=self.population.facts.classes, seed=self.seed, device=self.device
        )
        test = evaluation.accuracy(trained.predictions, self.population, self.split)["test"]
        return trained.val_accuracy, float("nan") if test is None else test

    def reconstruct(self, method: Method) -> Graph:
        """Return what a method makes of the reports, or a reference of the data."""
        if isinstance(method, Reference):
            return method.from_owned(own(self.population, self.split, trust="none"))
        assert self.reports is not None
        return method.reconstruct(self.reports, self.public)


def gather(options: RunOptions, repeat: int = 0) -> Trial:
    """Enrol people, ask them once and return what they said; their devices are not kept.

    Raises:
        ValueError: for options that do not fit; see :func:`strategies.setup.run_setup.plan_run`.
    """
    plan = plan_run(options)
    seeds = options.seeds_of(repeat)
    split = make_split(options.split, plan.population, seeds.split, options.label_rate)
    public = public_knowledge(plan.population, split, options, plan.settings.method)
    reports = None
    if not isinstance(plan.settings.method, Reference):
        with tempfile.TemporaryDirectory(prefix="ldpsim-") as folder:
            state, questions, collected = ask_devices(plan, seeds, split, Path(folder) / "state")
            state.close()
        reports = Reports.from_bytes(plan.population.facts, questions, collected.answers)
    return Trial(plan.population, split, public, reports, seeds.training, options.device)
