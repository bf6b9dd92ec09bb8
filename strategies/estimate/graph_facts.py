"""Public facts about a graph of people, as a plan knows them: sizes and a few averages, and no record."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ldpsim.devices import datasets
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets import generated
from ldpsim.devices.facts import PublicFacts
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import generated_facts


@dataclass(frozen=True)
class GraphFacts:
    """Sizes and averages of a population.

    Args:
        n: Number of people.
        features: Number of features that a person has.
        classes: Number of classes.
        mean_degree: Mean number of neighbours.
        homophily: Share of the edges that join two people of one class.
        words: Mean number of features of a person that are not 0.

    >>> GraphFacts(n=50_000, features=600, classes=6).public().d
    600
    """

    n: int
    features: int = generated.FEATURES
    classes: int = generated.CLASSES
    mean_degree: float = generated.MEAN_DEGREE
    homophily: float = generated.HOMOPHILY
    words: float = generated.WORDS

    @property
    def edges(self) -> float:
        """Number of edges."""
        return self.n * self.mean_degree / 2

    def public(self) -> PublicFacts:
        """Return what devices and methods know."""
        return PublicFacts(n=self.n, d=self.features, classes=self.classes)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON-ready values."""
        return asdict(self)


def facts_without_people(options: RunOptions) -> GraphFacts | None:
    """Return the facts that are known before the people are made or read; None for a file that is not read yet.

    Raises:
        ValueError: one line, for an option of generated people outside its range.
    """
    n = options.clients
    if options.dataset == "generated":
        facts = generated_facts(options)
        made = GraphFacts(n or generated.CLIENTS, features=facts.pop("d"), **facts)
        _check_options(made)
        return made
    entry = datasets.TABLE.get(options.dataset)
    if entry is None:
        return None
    people = entry.nodes if n is None else min(n, entry.nodes)
    degree = min(2 * entry.edges / entry.nodes, max(people - 1, 1))
    return GraphFacts(people, max(entry.features, 1), max(2, entry.classes), degree, words=1.0)


def _check_options(facts: GraphFacts) -> None:
    """Name the option of generated people that is outside its range (ValueError)."""
    datasets.check_generated(facts.n)
    for option, value, fine, must in (
        ("--number-of-features", facts.features, facts.features >= 1, "must be 1 or more"),
        ("--number-of-classes", facts.classes, 2 <= facts.classes <= facts.n,
         "must be 2 or more, and at most --clients"),
        ("--mean-degree", facts.mean_degree, 0 < facts.mean_degree < facts.n, "must be above 0 and below --clients"),
        ("--homophily", facts.homophily, 0 <= facts.homophily <= 1, "must be a share, 0 to 1"),
        ("--feature-rate, as a number of features", facts.words, 1 <= facts.words <= facts.features,
         "must be 1 or more, and at most --number-of-features"),
    ):  # fmt: skip
        if not fine:
            raise ValueError(f"{option} {value if isinstance(value, int) else f'{value:g}'}: {must}")


def facts_of_people(population: Population) -> GraphFacts:
    """Return the facts of people who are there: of published data, not of anybody who is asked.

    Where no edge joins two people with a label, the homophily is that of chance among classes of one size.
    """
    facts, n = population.facts, len(population)
    degree, words = float(population.degrees.mean()), len(population.feature_indices) / n
    same, classes = population.homophily, max(2, facts.classes)
    return GraphFacts(
        n, max(facts.d, 1), classes, min(max(degree, 1e-6), n - 1), same if same == same else 1 / classes,
        min(max(words, 1.0), max(facts.d, 1)),
    )  # fmt: skip
