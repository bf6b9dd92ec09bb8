"""Check whether a run fits this machine, by the estimate, before its people are made and before anybody is asked."""

from __future__ import annotations

from ldpsim.curator.methods import find
from ldpsim.devices.query import MAX_BYTES
from ldpsim.strategies.estimate.asked import (
    PaperQuestion,
    asks_features,
    largest_question,
    ones_reported,
    questions_on_paper,
    random_split,
    trials_drawn,
)
from ldpsim.strategies.estimate.graph_facts import GraphFacts, known_before
from ldpsim.strategies.estimate.likely_pairs import likely_pairs
from ldpsim.strategies.estimate.load import MEMORY_ERROR, Load, expected_load, held_bytes, is_noisy
from ldpsim.strategies.estimate.machine import memory_bytes
from ldpsim.strategies.setup.feature_share import divided
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import budget_of
from ldpsim.strategies.setup.settings import resolve


def asked_of(options: RunOptions, facts: GraphFacts) -> tuple[PaperQuestion, ...]:
    """Return the questions of a run on paper.

    Raises:
        ValueError: one line, for options that do not fit.
    """
    method = find(options.method)
    budget = budget_of(options, public_features=options.public_features or method.spec.public_features)
    settings = resolve(options, method, budget)
    labels = len(random_split(min(facts.n, 1000), options.label_rate, options.volunteers).train) / min(facts.n, 1000)
    budget, settings = divided(options, settings, budget, facts.public(), round(labels * facts.n))
    return questions_on_paper(settings.method, facts.public(), budget, options)


def load_of(options: RunOptions, facts: GraphFacts, *, speed: float = 1.0) -> Load | None:
    """Return the load of a run; None for a method without constants.

    Raises:
        ValueError: one line, for options that do not fit.
    """
    method = find(options.method)
    asked = () if options.from_reports is not None else asked_of(options, facts)
    training, usual = (
        resolve(given, method, budget_of(given, public_features=False)).training
        for given in (options, RunOptions(method=options.method))
    )
    epochs = 1.0 if method.spec.in_rounds else training.epochs / usual.epochs
    ones = ones_reported(asked, facts.n, facts.mean_degree)
    public, pairs = options.public_features or method.spec.public_features, None
    if is_noisy(facts, ones):
        budget = budget_of(options, public_features=public)
        pairs = likely_pairs(resolve(options, method, budget).method, asked, facts)
    return expected_load(
        options.method, facts, ones, trials_drawn(asked, facts.n), pairs=pairs,
        nulls=options.nulls, reference=options.reference, epochs=epochs,
        repeats=options.repeats, speed=speed, hidden=training.hidden,
        heads=training.gat_heads if training.gnn == "gat" else 0,
        volunteers=options.volunteers is not None,
        features=public or not asked or asks_features(asked),
    )  # fmt: skip


def check_fits(options: RunOptions, facts: GraphFacts | None = None) -> None:
    """Check that a run fits into the memory of this machine, and that devices can read its question.

    The estimate may be too high, by a factor of 1.3, or of 2 for fitted memory far beyond the measured sizes. So only a
    run that cannot fit even then is refused. Options that are wrong are left to the run's own checks.

    Args:
        options: The run; ``force`` lets everything pass.
        facts: Its people; None for what is known of the data set before it is made or read.

    Raises:
        ValueError: one line with the numbers.
    """
    if options.force:
        return
    facts = known_before(options) if facts is None else facts
    if facts is None:
        return
    try:
        load = load_of(options, facts)
        asked = () if options.from_reports is not None else asked_of(options, facts)
    except ValueError:
        return
    who = f"{options.method} with {facts.n:,} people cannot fit"
    more = "(--force goes on; `ldpsim plan` shows what fits)"
    room, question = memory_bytes(), largest_question(asked, facts.n)
    needed = held_bytes(facts, ones_reported(asked, facts.n, facts.mean_degree)) if load is None else load.memory_bytes
    if needed > room * (MEMORY_ERROR if load is None else load.memory_error):
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
