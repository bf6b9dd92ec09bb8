"""Kind of run: the five functions in which a run of one trainer differs from that of another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol, cast

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import Method, Question, find
from ldpsim.curator.methods.base import GraphMethod
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.reports.question import volunteers_of
from ldpsim.devices.facts import IntArray
from ldpsim.devices.policy.policy import Mode, Policy, policy_for
from ldpsim.devices.query import ATTRIBUTES
from ldpsim.strategies.people.owner_graphs import owned_graph
from ldpsim.strategies.results.outcome import Outcome, Predict, Predictions
from ldpsim.strategies.results.verdict import SHUFFLED
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.runs.asking import ask
from ldpsim.strategies.runs.repeat import Repeat
from ldpsim.strategies.setup.run_setup import RepeatPlan, Setup

SHUFFLED_ALL = f"{SHUFFLED}all"
ANY = "any"  # stands for a collection's id in the questions of a plan


class ReferenceTraining(NamedTuple):
    """Training of the same network on the same graph, without noise or protection.

    Args:
        settings: The method's own settings.
        own_settings: The reference's own settings, which may be the same.
        train: Trains with settings, and returns everybody's class.
    """

    settings: TrainingSettings
    own_settings: TrainingSettings
    train: Callable[[TrainingSettings], Predictions]


class Others(Protocol):
    """Enrolment of other people: attributes to shuffle, devices that never answer, people to shuffle (None: all)."""

    def __call__(
        self, attributes: Iterable[str], dropouts: frozenset[int], among: IntArray | None = None, /
    ) -> AbstractContextManager[Repeat]: ...


@dataclass(frozen=True)
class RunKind:
    """Kind of run.

    Args:
        plan: Completes the plan of a repeat: what is asked, the devices' policy, and what will be released if
            everybody answers. ValueError for parameters that do not fit.
        work: Trains on what was collected; a training in rounds asks its devices here. RunFailed if that cannot be
            finished.
        guarantee: Returns the guarantee of collections that ask the same people, each with fresh noise, from what each
            of them releases (:attr:`RepeatPlan.released`, :attr:`Outcome.released`).
        reference: Returns the training without noise; None if the run has none.
        shuffled: Yields name and predictions of null models that ask other people: the same work on their data. They
            are asked when the next one is drawn; the calls ask nobody, and do not depend on one another.
    """

    plan: Callable[[Setup, RepeatPlan], RepeatPlan]
    work: Callable[[Repeat, Collected], Outcome]
    guarantee: Callable[[Setup, Sequence[Any]], Guarantee]
    reference: Callable[[Repeat], ReferenceTraining | None]
    shuffled: Callable[[Repeat, Outcome, Others], Iterator[tuple[str, Predict]]]


# Module and name of each kind, by the method's ``trained_by``; only the kind that a run needs is imported.
_KINDS = {
    "curator": ("local", "LOCAL"), "owner": ("owner", "OWNER"), "graph owner": ("graph_owner", "GRAPH_OWNER"),
    "devices": ("rounds", "DEVICES"), "silos": ("rounds", "SILOS"), "alone": ("rounds", "ALONE"),
    "friends": ("friends", "FRIENDS"),
}  # fmt: skip


def kind_of(method: Method) -> RunKind:
    """Return the kind of run that a method needs; ValueError for a method that names another trainer."""
    trainer = method.spec.trained_by
    if trainer not in _KINDS:
        raise ValueError(f"{method.spec.name}: trained_by={trainer!r} is none of {', '.join(_KINDS)}")
    module, name = _KINDS[trainer]
    kind: RunKind = getattr(import_module(f"ldpsim.strategies.runs.kinds.{module}"), name)
    return kind


def no_graph_reason(method: Method) -> str:
    """Return in one sentence why a run of the method reconstructs no graph; empty if it does."""
    name, spec = method.spec.name, method.spec
    if spec.trained_by == "graph owner":
        return f"{name} reconstructs no graph: its owner has every list in clear"
    if spec.trained_by != "curator":
        return f"{name} reconstructs no graph: its devices report no edge to the curator"
    if spec.reads:
        return f"{name} reads the true records, so no graph is reconstructed"
    rebuilt = cast(GraphMethod, method).rebuilds_graph()
    return "" if rebuilt else f"{name} reconstructs no graph: no report names a neighbour"


# ---- parts of several kinds ----------------------------------------------------------


def policy_of(setup: Setup, questions: Sequence[Question], mode: Mode = "report") -> Policy | None:
    """Return the policy of devices that are enrolled for these questions; None if nobody is asked."""
    if not questions:
        return None
    options = setup.options
    return policy_for(
        [question.query for question in questions],
        setup.facts,
        reporting=setup.budget.reporting,
        on_requery="replay" if options.on_requery == "replay" else "refuse",
        caps=options.caps,
        mode=mode,
        collector=None if setup.curator_key is None else setup.curator_key.public,
        volunteers=volunteers_of(questions) if setup.budget.volunteers else None,
    )


def work_of_others(
    work: Callable[[Repeat, Collected], Outcome], repeat: Repeat, others: Others, among: IntArray | None = None
) -> Iterator[tuple[str, Predict]]:
    """Yield the predictions of the whole work once more, with all attributes of these people shuffled."""
    with others(ATTRIBUTES, repeat.plan.dropouts, among) as other:
        predictions = work(other, ask(other)).predictions
    yield SHUFFLED_ALL, lambda: predictions


def without_noise(repeat: Repeat, settings: TrainingSettings) -> IntArray:
    """Train the run's network on the true graph and return everybody's class, int64 (n,).

    It reads in clear whatever the method reads: labels that people beside volunteers are asked for, too.
    """
    setup, raw = repeat.setup, cast(Any, find("raw")())
    trained = raw.train(
        raw.from_owned(owned_graph(setup.population, repeat.plan.labelled_split(), trust="none")),
        settings=settings,
        classes=setup.facts.classes,
        seed=repeat.seeds.training,
        device=setup.options.device,
    )
    return cast(IntArray, trained.predictions)
