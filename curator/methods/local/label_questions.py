"""Questions that ask labelled people for their label too, and the mechanism of such a report."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpsim.curator.methods.base import (
    Budget,
    Question,
    option_in_errors,
)
from ldpsim.devices import mechanisms
from ldpsim.devices.facts import PublicFacts, Split
from ldpsim.devices.mechanisms import Mechanism
from ldpsim.devices.query import Ask, Query

StageMechanisms = tuple[tuple[Mechanism, ...], ...]


def with_labels(
    asks: tuple[Ask, ...], facts: PublicFacts, split: Split, budget: Budget, collection: str, method: str,
    *, later: StageMechanisms = (),
) -> tuple[Question, ...]:  # fmt: skip
    """Return the questions to everybody; with private labels the labelled nodes are asked for them too.

    Args:
        asks: The first stage's asks to everybody.
        facts, split, budget, collection: As in :meth:`~ldpsim.curator.methods.base.LocalMethod.questions`.
        method: Name, for the message.
        later: Mechanisms about the adjacency of each later stage.

    Raises:
        ValueError: for private labels without a budget of their own.
    """
    if not budget.private_labels:
        return ask_labels(asks, None, facts, split, collection, later=later)
    if budget.eps_labels is None:
        raise ValueError(f"--eps-labels is needed: labels are private, and {method}'s epsilon has no share for them")
    return ask_labels(asks, label_mechanism(budget, budget.eps_labels, facts), facts, split, collection, later=later)


def label_mechanism(budget: Budget, epsilon: float, facts: PublicFacts) -> Mechanism:
    """Return the mechanism of a label report that ``--label-mechanism`` names, GRR by default.

    Args:
        budget: The budget of the run.
        epsilon: Its part for the label.
        facts: Number of classes.

    Raises:
        ValueError: for a name of no such mechanism, or a budget that it refuses.
    """
    kind: Any = mechanisms.find(budget.label_mechanism)
    if kind is None or not _is_about_a_label(kind):
        names = ", ".join(name for name, other in mechanisms.every().items() if _is_about_a_label(other))
        raise ValueError(
            f"--label-mechanism {budget.label_mechanism}: must be {names}, or a mechanism about the label that "
            "an installed package brings (docs/tutorial.md)"
        )
    with option_in_errors("--eps-labels", budget.eps_labels, budget, epsilon):
        made: Mechanism = kind.from_epsilon(epsilon, categories=facts.classes)
    return made


def _is_about_a_label(kind: type[Mechanism]) -> bool:
    """Return whether a mechanism is about the label alone and made from a budget."""
    return kind.reads == ("label",) and hasattr(kind, "from_epsilon")


def ask_labels(
    asks: tuple[Ask, ...], label: Mechanism | None, facts: PublicFacts, split: Split, collection: str,
    *, later: StageMechanisms = (),
) -> tuple[Question, ...]:  # fmt: skip
    """Return the question to the labelled nodes, with ``label``, and the one to all others, without."""
    after = tuple((Ask("adjacency", mechanisms),) for mechanisms in later)
    plain = Query(collection, (asks, *after))
    if label is None:
        return (Question(plain),)
    labelled = Question(Query(collection, ((*asks, Ask("label", (label,))), *after)), split.labelled)
    others = np.setdiff1d(np.arange(facts.n), split.labelled)
    return (labelled, Question(plain, others)) if len(others) else (labelled,)
