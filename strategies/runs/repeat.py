"""Repeat of a run: its plan, its enrolled devices and their open collection."""

from __future__ import annotations

import secrets
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ldpsim.curator.methods import Method, Question, find
from ldpsim.curator.observer import Observer
from ldpsim.devices.atomic_files import made_once
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State, enrol, is_enrolled
from ldpsim.devices.facts import PublicKnowledge, Split
from ldpsim.devices.policy.policy import Policy
from ldpsim.strategies.engines.collect import Connect
from ldpsim.strategies.people.owner_graphs import sparse_features
from ldpsim.strategies.progress import Progress, quiet
from ldpsim.strategies.setup.options import RunOptions, Seeds
from ldpsim.strategies.setup.run_setup import DeployedPeople, RepeatPlan, Setup, check_people


@dataclass(frozen=True, eq=False)
class Repeat:
    """One repeat, with its devices enrolled and its collection open.

    Args:
        setup: The run.
        plan: Its plan.
        number: Its number, from 0.
        folder: The run's folder.
        home: Folder of the devices.
        state: The enrolled devices; None if nobody is asked, or devices of others.
        collection: Id of the collection; an interrupted run keeps its id.
        resumed: Whether the collection was open already.
        tell: Called with a phase and the share of it that is done.
        watch: Called with figures of each epoch or round of the method's own training; None: nobody watches.
        connect: Opens the Grid of the devices; None: that of the engine of the options.
    """

    setup: Setup
    plan: RepeatPlan = field(repr=False)
    number: int
    folder: Path
    home: Path
    state: State | None
    collection: str
    resumed: bool
    tell: Progress = field(default=quiet, repr=False)
    watch: Observer | None = field(default=None, repr=False)
    connect: Connect | None = field(default=None, repr=False)

    @property
    def seeds(self) -> Seeds:
        """Seeds of this repeat."""
        return self.plan.seeds

    @property
    def split(self) -> Split:
        """Division of the people in this repeat."""
        return self.plan.split

    @property
    def questions(self) -> tuple[Question, ...]:
        """Questions of this collection."""
        return tuple(question.in_collection(self.collection) for question in self.plan.questions)

    @property
    def knowledge(self) -> PublicKnowledge:
        """Knowledge of the curator before anybody is asked."""
        people = self.setup.people
        if isinstance(people, DeployedPeople):
            return people.knowledge
        return public_knowledge(people, self.split, self.setup.options, self.setup.method)

    @property
    def noise_seed(self) -> int:
        """Seed of all draws outside devices on which a guarantee rests (:mod:`ldpsim.curator.draws`).

        It is the run's noise seed. Where the operating system gives it, it is kept until the result is written, so
        that a run that continues draws the same again.
        """
        if self.seeds.noise is not None:
            return self.seeds.noise
        return int(made_once(self.folder / f"noise-secret-{self.number}", lambda: str(secrets.randbits(256))))

    @property
    def stopped(self) -> Path:
        """File that says why its training stopped for good; it is missing unless it did."""
        return self.home / f"stopped-{self.collection}"  # an id is a valid file name: the query checks its characters

    def place(self, name: str) -> Path:
        """Return a path of this repeat in the run's folder; repeats after the first carry their number."""
        return self.folder / (name if self.number == 0 else f"{name}-{self.number}")

    def end_collection(self) -> None:
        """Close the collection and the ledgers; a later run starts a new collection."""
        if self.state is not None:
            self.state.close_collection(self.setup.digest)
        self.close()

    def close(self) -> None:
        """Close the ledgers; the collection stays open."""
        if self.state is not None:
            self.state.close()


def start_repeat(
    setup: Setup, number: int, folder: Path, home: Path, tell: Progress = quiet, *,
    watch: Observer | None = None, connect: Connect | None = None, durable: bool = True,
) -> Repeat:  # fmt: skip
    """Enrol the devices of a repeat, unless they are enrolled, and open their collection.

    An interrupted collection is opened again: devices that answered repeat the stored bytes, or
    continue in rounds.

    Args:
        setup: The run.
        number, folder, home, tell, watch, connect: As of a :class:`Repeat`; ``home`` is created if it is missing.
        durable: Whether new devices' answers wait for the disk (:func:`ldpsim.devices.enrolment.state.enrol`).

    Raises:
        ValueError: for devices with the data of another population, or a folder that cannot be written.
    """
    plan, state = setup.plans[number], None
    collection = fresh = uuid.uuid4().hex
    if plan.policy is not None:
        state = _devices(setup, plan, home, plan.policy, durable=durable)
        collection = state.open_collection(setup.digest, fresh)
    return Repeat(setup, plan, number, folder, home, state, collection, collection != fresh, tell, watch, connect)


@contextmanager
def temporary_repeat(setup: Setup, number: int, *, connect: Connect | None = None) -> Iterator[Repeat]:
    """Offer a repeat on devices that are enrolled for it in a temporary folder, which is removed at the end."""
    with (
        tempfile.TemporaryDirectory(prefix="ldpsim-") as folder,
        closing(start_repeat(setup, number, Path(folder), Path(folder) / "state", connect=connect)) as repeat,
    ):
        yield repeat
        repeat.end_collection()


def _devices(setup: Setup, plan: RepeatPlan, home: Path, policy: Policy, *, durable: bool) -> State:
    if is_enrolled(home):
        state = State(home)
        check_people(state, setup.population, str(home))
        return state
    try:
        if policy.mode == "owner":
            # The folder will hold raw records: only its owner may read it.
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
        return enrol(home, setup.population, policy, seed=plan.seeds.noise, durable=durable)
    except OSError as error:
        raise ValueError(f"{home} cannot be written: {error.strerror}") from None


def public_knowledge(
    population: Population, split: Split, options: RunOptions, method: Method | None = None
) -> PublicKnowledge:
    """Return the curator's knowledge before anybody is asked; it never has test labels.

    ``method`` has the parameters of the run, and they may decide what is public. None is the
    method of the options with its defaults.
    """
    method = method or find(options.method)()
    labels = np.full(len(population), -1, np.int64)
    volunteers = options.volunteers is not None and method.spec.asks_volunteers  # they are asked in clear
    if not (options.private_labels or volunteers or method.effective_spec().asks_labels):
        labels[split.labelled] = population.labels[split.labelled]
    features = sparse_features(population) if options.public_features or method.spec.public_features else None
    edges = population.edges if method.effective_spec().public_graph else None
    return PublicKnowledge(population.facts, split, labels, features, edges)
