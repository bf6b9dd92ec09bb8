"""Reports of one collection of simulated people, and the score of a setting on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from ldpsim.curator.learning.training import TrainingSettings, train
from ldpsim.curator.methods import Method
from ldpsim.curator.methods.base import Graph, GraphMethod, LocalMethod
from ldpsim.curator.methods.references.references import Reference
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import PublicKnowledge, Split
from ldpsim.strategies.people.owned_graph import own
from ldpsim.strategies.results import evaluation
from ldpsim.strategies.runs.run import gather_reports, public_knowledge
from ldpsim.strategies.runs.set_up import set_up, temporary_scene
from ldpsim.strategies.setup.options import RunOptions


@dataclass(frozen=True, eq=False)
class Trial:
    """One collection of freshly enrolled people.

    Args:
        population: The true data: they score test accuracy, and references read them.
        split: Division of the nodes.
        public: Public knowledge of the curator.
        reports: Reports of the people; None for a reference, which asks nobody.
        seed: Training seed.
        device: Device of the training.
    """

    population: Population = field(repr=False)
    split: Split = field(repr=False)
    public: PublicKnowledge = field(repr=False)
    reports: Reports | None = field(repr=False)
    seed: int = 0
    device: str = "cpu"

    def score(self, graph: Graph, training: TrainingSettings, method: GraphMethod | None = None) -> tuple[float, float]:
        """Return (validation accuracy as the curator sees it, true test accuracy) of a network on a graph.

        ``method`` trains as in a run, with its own loss if it has one; None is the common
        training.
        """
        trained = (train if method is None else method.train)(
            graph, settings=training, classes=self.population.facts.classes, seed=self.seed, device=self.device
        )
        test = evaluation.accuracy(trained.predictions, self.population, self.split)["test"]
        return trained.val_accuracy, float("nan") if test is None else test

    def reconstruct(self, method: Method) -> Graph:
        """Return the graph that a method makes from the reports, or a reference from the data."""
        if method.spec.reads:
            return cast(Reference, method).from_owned(own(self.population, self.split, trust="none"))
        assert self.reports is not None
        return cast(LocalMethod, method).reconstruct(self.reports, self.public)


def gather(options: RunOptions, repeat: int = 0) -> Trial:
    """Enrol people, ask them once and return their reports; their devices are not kept.

    Raises:
        ValueError: for options that do not fit; see :func:`ldpsim.strategies.runs.set_up.set_up`.
    """
    setup = set_up(options)
    people, part, device = setup.population, setup.repeats[repeat], setup.options.device
    public = public_knowledge(people, part.split, setup.options, setup.method)
    reports = None
    if not setup.method.spec.reads:
        with temporary_scene(setup, repeat) as scene:
            _, _, reports = gather_reports(scene)
    return Trial(people, part.split, public, reports, part.seeds.training, device)
