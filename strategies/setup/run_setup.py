"""Set-up of a run: options, people, budget, settings and the plan of each repeat, checked together.

:func:`ldpsim.strategies.runs.prepare.prepare` makes it, once, and writes nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ldpsim.curator.methods import find
from ldpsim.curator.methods.base import Budget, Method, Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices import datasets
from ldpsim.devices.curator_key import CuratorKey
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets import generated
from ldpsim.devices.enrolment.state import State, foreign_file, is_enrolled
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.policy.policy import Policy
from ldpsim.strategies.setup.options import FACTS, RunOptions, Seeds
from ldpsim.strategies.setup.settings import Settings, resolve


@dataclass(frozen=True, eq=False)
class RepeatPlan:
    """Plan of one repeat, before its devices are enrolled.

    Args:
        seeds: Its four seeds.
        split: Training, validation and test people.
        dropouts: Devices that never answer (``--dropout``).
        questions: What its devices will be asked, under an id that stands for the collection's; empty if nobody is
            asked for a report. Those of later batches are for their people and losses alone.
        policy: Policy of devices that are enrolled for it; None if nobody is asked.
        released: What its guarantee is computed from, if everybody answers.
    """

    seeds: Seeds
    split: Split = field(repr=False)
    dropouts: frozenset[int] = field(repr=False)
    questions: tuple[Question, ...] = field(default=(), repr=False)
    policy: Policy | None = field(default=None, repr=False)
    released: Any = field(default=(), repr=False)

    def labelled_split(self, *, calibration: bool = True) -> Split:
        """Return the division in which the ordinary people train, too, whose label an answer depends on.

        Args:
            calibration: Whether people count whose report depends on the label, but is about something else.
        """
        if not len(self.split.ordinary):
            return self.split
        recipients = [question.devices for question in self.questions for stage in question.query.plan
                      for ask in stage if "label" in (ask.attributes if calibration else (ask.attribute,))]  # fmt: skip
        additions = [np.intersect1d(self.split.ordinary, people) for people in recipients if people is not None]
        return replace(self.split, train=np.unique(np.concatenate([self.split.train, *additions])))


@dataclass(frozen=True, eq=False)
class DeployedPeople:
    """People of a deployment, of whom the curator knows what is public, and nothing else.

    Args:
        knowledge: Facts, division and public labels.
        digest: Digest of what is public.
    """

    knowledge: PublicKnowledge
    digest: str
    name = "deployment"

    @property
    def facts(self) -> PublicFacts:
        """Sizes, ranges and domains."""
        return self.knowledge.facts


@dataclass(frozen=True, eq=False)
class Setup:
    """Checked set-up of a run, or of a deployment.

    Args:
        options: The options as given.
        people: The people; of a deployment, what is known of them.
        budget: The budget.
        settings: The method, and the settings of its training.
        digest: ``config_hash`` of all that can change the result.
        plans: One for each repeat.
        curator_key: The key that signs the questions; None leaves them unsigned.
    """

    options: RunOptions
    people: Population | DeployedPeople = field(repr=False)
    budget: Budget
    settings: Settings
    digest: str
    plans: tuple[RepeatPlan, ...] = field(repr=False)
    curator_key: CuratorKey | None = None

    @property
    def population(self) -> Population:
        """The people with their data, whom only a simulation has."""
        assert isinstance(self.people, Population)
        return self.people

    @property
    def facts(self) -> PublicFacts:
        """Sizes, ranges and domains."""
        return self.people.facts

    @property
    def deployed(self) -> bool:
        """Whether real devices are asked, whose truth is not known."""
        return isinstance(self.people, DeployedPeople)

    @property
    def method(self) -> Method:
        """The method with its parameters."""
        return self.settings.method

    @property
    def asks_again(self) -> bool:
        """Whether its repeats are collections that are really made, one after the other.

        The noise of a seed is that of a simulation: there a repeat stands for a collection that nobody will make.
        """
        return self.plans[0].seeds.noise is None and self.options.from_reports is None


def load_population(options: RunOptions) -> Population:
    """Return the people of a run.

    Raises:
        ValueError: one line, for data that are unknown, missing or damaged.
    """
    return datasets.load(
        options.dataset, data_dir=options.data_dir, clients=options.clients, seed=options.seeds_of(0).population,
        facts=generated_facts(options) if any(getattr(options, name) is not None for name in FACTS) else None,
    )  # fmt: skip


def generated_facts(options: RunOptions) -> dict[str, Any]:
    """Return the facts of generated people, as :func:`generated.with_facts` takes them."""
    d = options.features or generated.FEATURES
    return {
        "d": d,
        "classes": options.classes or generated.CLASSES,
        "mean_degree": options.mean_degree or generated.MEAN_DEGREE,
        "homophily": generated.HOMOPHILY if options.homophily is None else options.homophily,
        "words": generated.usual_words(d, options.feature_rate),
    }


def parameters_of(options: RunOptions) -> tuple[Settings, Budget]:
    """Return method and training of a run, and its budget before a share is chosen.

    Raises:
        ValueError: one line, for a parameter or a budget that does not fit.
    """
    method = find(options.method)
    budget = budget_of(options, public_features=options.public_features or method.spec.public_features)
    return resolve(options, method, budget), budget


def budget_of(options: RunOptions, *, public_features: bool) -> Budget:
    """Return the budget of a run, before a share is chosen; ValueError for one that is not allowed."""
    share = None if isinstance(options.feature_share, str) else options.feature_share
    values: dict[str, Any] = {"epsilon": options.epsilon, "feature_share": share}
    return Budget(
        **{name: value for name, value in values.items() if value is not None},
        eps_adjacency=options.eps_adjacency,
        eps_features=options.eps_features,
        eps_labels=options.eps_labels,
        public_features=public_features,
        private_labels=options.private_labels,
        reporting="one-end" if options.reporting == "one-end" else "both",
        label_mechanism=options.label_mechanism,
        volunteers=options.volunteers is not None and find(options.method).spec.asks_volunteers,
    )


def drawn_dropouts(options: RunOptions, seeds: Seeds, people: int) -> frozenset[int]:
    """Draw the devices that never answer (``--dropout``)."""
    if not options.dropout:
        return frozenset()
    rng = np.random.default_rng([seeds.population, seeds.split, seeds.noise or 0, seeds.training])
    return frozenset(rng.choice(people, round(options.dropout * people), replace=False).tolist())


def check_folders(options: RunOptions, population: Population) -> None:
    """Check that ``--out``, ``--state`` and ``--from-reports`` can be used.

    Raises:
        ValueError: for a folder that cannot be written, or that holds other people or other files.
    """
    if options.from_reports is not None and Reports.load(options.from_reports).facts != population.facts:
        raise ValueError(
            f"--from-reports {options.from_reports}: these reports are of another population; take the options of the "
            "run that saved them"
        )
    for option, folder in (("--out", options.out), ("--state", options.state)):
        if folder is not None:
            _check_writable(option, folder)
    if options.state is not None and is_enrolled(options.state):
        check_people(State(options.state), population, f"--state {options.state}")
    elif options.state is not None and options.state.is_dir() and any(options.state.iterdir()):
        file = foreign_file(options.state)
        if file is not None:
            raise ValueError(f"--state {options.state}: not empty and holds no enrolled devices (found {file})")


def check_people(state: State, population: Population, where: str) -> None:
    """Check that enrolled devices hold the data of this population; ValueError names ``where`` if not."""
    if state.head["population_digest"] != population.digest:
        raise ValueError(
            f"{where}: the devices there hold the data of another population; take the options of the run "
            "that enrolled them, or another folder"
        )


def _check_writable(option: str, folder: Path) -> None:
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise ValueError(f"{option} {folder}: cannot be written ({existing} is no writable folder)")
