"""Check whether a run fits this machine, by the rule of its kind of method, before its people are made."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from ldpsim.curator.methods.memory import MemoryClass, memory_class, peak_bytes
from ldpsim.curator.reports.budget import Budget
from ldpsim.devices.query import MAX_BYTES
from ldpsim.strategies.estimate.asked import (
    PaperQuestion,
    asks_features,
    largest_question,
    ones_reported,
    questions_on_paper,
    random_split,
)
from ldpsim.strategies.estimate.graph_facts import GraphFacts, facts_without_people
from ldpsim.strategies.setup.feature_share import divided
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import parameters_of
from ldpsim.strategies.setup.settings import Settings

_CGROUP = Path("/sys/fs/cgroup/memory.max")


def memory_bytes() -> int:
    """Return the memory of this machine, or of the container that the process runs in."""
    total = psutil.virtual_memory().total
    with suppress(OSError, ValueError):
        total = min(total, int(_CGROUP.read_text()))
    return int(total)


def asked_of(
    options: RunOptions, facts: GraphFacts, parameters: tuple[Settings, Budget] | None = None
) -> tuple[PaperQuestion, ...]:
    """Return the questions of a run on paper; none of one that works on kept reports.

    Args:
        options: The run.
        facts: Its people.
        parameters: Its :func:`parameters_of`; None: they are made here.

    Raises:
        ValueError: one line, for options that do not fit.
    """
    if options.from_reports is not None:
        return ()
    settings, budget = parameters or parameters_of(options)
    labels = len(random_split(min(facts.n, 1000), options.label_rate, options.volunteers).train) / min(facts.n, 1000)
    settings, budget = divided(options, settings, budget, facts.public(), round(labels * facts.n))
    return questions_on_paper(settings.method, facts.public(), budget, options)


def memory_of(options: RunOptions, facts: GraphFacts, settings: Settings, questions: Sequence[PaperQuestion]) -> float:
    """Return the bytes of a run at its peak, with the devices that it simulates, by the rule of its kind of method."""
    spec = settings.method.spec
    features = options.public_features or spec.public_features or not questions or asks_features(questions)
    return peak_bytes(
        "weighted edges" if settings.training.gnn == "gat" else spec.memory,
        n=facts.n, d=facts.features if features else 0, classes=facts.classes, edges=facts.edges,
        ones=ones_reported(questions, facts.n, facts.mean_degree),
    )  # fmt: skip


def class_of_memory(options: RunOptions, facts: GraphFacts) -> MemoryClass:
    """Return whether a run fits into the memory of this machine; ValueError as :func:`asked_of`."""
    parameters = parameters_of(options)
    return memory_class(memory_of(options, facts, parameters[0], asked_of(options, facts, parameters)), memory_bytes())


def check_fits(
    options: RunOptions, facts: GraphFacts | None = None, parameters: tuple[Settings, Budget] | None = None
) -> None:
    """Check that a run fits into the memory of this machine, and that devices can read its question.

    Only a run that cannot fit even if the rule is too high by its error is refused. Options that are wrong are left to
    the run's own checks.

    Args:
        options: The run; ``force`` lets everything pass.
        facts: Its people; None for what is known of the data set before it is made or read.
        parameters: Its :func:`parameters_of`; None: they are made here.

    Raises:
        ValueError: one line with the numbers.
    """
    if options.force:
        return
    facts = facts_without_people(options) if facts is None else facts
    if facts is None:
        return
    try:
        parameters = parameters or parameters_of(options)
        questions = asked_of(options, facts, parameters)
    except ValueError:
        return
    who = f"{options.method} with {facts.n:,} people cannot fit"
    more = "(--force goes on; `ldpsim plan` shows what fits)"
    needed, room = memory_of(options, facts, parameters[0], questions), memory_bytes()
    question = largest_question(questions, facts.n)
    if memory_class(needed, room) == "does not fit":
        raise ValueError(
            f"{who}: about {in_gib(needed)} of memory are needed, and this machine has {in_gib(room)} {more}"
        )
    if question > MAX_BYTES:
        raise ValueError(
            f"{who}: its question has {question / 1e6:,.1f} MB, and a device reads {MAX_BYTES / 1e6:.1f} {more}"
        )


def in_gib(size: float) -> str:
    """Return a size in GiB in words."""
    gib = size / 2**30
    return f"{gib:,.0f} GiB" if gib >= 10 else f"{gib:.1f} GiB"
