"""Labels that a curator has: public ones, or reports of any mechanism about the label.

A mechanism states two things of a report r: the log-likelihood L of each class (``Mechanism.log_likelihood``), and an
unbiased estimate e of the one-hot label (``Mechanism.estimate``). Readers that multiply likelihoods take L. Readers
that are linear in labels take

    support = lie + (truth - lie) e,

with the two numbers for which the smallest entry of all reports is 0 and the largest one is 1. The mean of ``support``
is ``truth`` at a person's own class and ``lie`` at each other one. Under generalised randomised response (GRR) it is
the one-hot report. :meth:`ObservedLabels.unbiased` turns what was computed from ``support`` into what labels would
give. It is the only inverse of a label's channel.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.facts import PublicKnowledge

_EQUAL = 1e-9  # likelihoods whose logarithms differ by less are equal
_TIES_SEED = 0


@dataclass(frozen=True, eq=False)
class ObservedLabels:
    """Labels of people, as far as a curator knows them.

    Args:
        labels: int64 (n,): the label, or the likeliest class given the report; -1 for none.
        classes: Number of classes.
        truth: Mean of ``support`` at the own class, 1 for labels in clear.
        lie: Mean of ``support`` at each other class.
        log_likelihoods: float64 (n, classes): ln L of the report up to a constant of the row; zeros for people without
            one. None for labels in clear.
        supports: float64 (n, classes): ``support``; None where it is the one-hot ``labels``.
    """

    labels: IntArray = field(repr=False)
    classes: int
    truth: float = 1.0
    lie: float = 0.0
    log_likelihoods: DoubleArray | None = field(default=None, repr=False)
    supports: DoubleArray | None = field(default=None, repr=False)

    @property
    def in_clear(self) -> bool:
        """Whether they are labels and not reports of labels."""
        return self.log_likelihoods is None

    def with_label(self, nodes: IntArray) -> IntArray:
        """Return those of the nodes of whom a label or a report is known."""
        return nodes[self.labels[nodes] >= 0]

    def only(self, nodes: IntArray) -> ObservedLabels:
        """Return the labels without the labels and reports of everybody else."""
        others = np.ones(len(self.labels), np.bool_)
        others[nodes] = False
        labels = np.where(others, -1, self.labels)
        if self.log_likelihoods is None:
            return replace(self, labels=labels)
        return replace(self, labels=labels, log_likelihoods=np.where(others[:, None], 0, self.log_likelihoods))

    def of(self, nodes: IntArray) -> ObservedLabels:
        """Return the labels of these people, in their order."""
        arrays = {"log_likelihoods": self.log_likelihoods, "supports": self.supports}
        rows: dict[str, Any] = {name: None if array is None else array[nodes] for name, array in arrays.items()}
        return replace(self, labels=self.labels[nodes], **rows)

    def support(self, nodes: IntArray) -> DoubleArray:
        """float64 (len(nodes), classes): the classes that each names, of people with a label or a report."""
        return np.eye(self.classes)[self.labels[nodes]] if self.supports is None else self.supports[nodes]

    def placed(self, nodes: IntArray, rows: DoubleArray) -> DoubleArray:
        """float64 (n, classes): the rows of these nodes, zeros for everybody else."""
        table = np.zeros((len(self.labels), self.classes))
        table[nodes] = rows
        return table

    def everybody(self) -> DoubleArray:
        """float64 (n, classes): ``support``, zeros for people without a label or a report."""
        people = np.flatnonzero(self.labels >= 0)
        return self.placed(people, self.support(people))

    @property
    def whole(self) -> float:
        """Mean of the sum of ``support`` over the classes: 1 where a report names one class."""
        return self.truth + (self.classes - 1) * self.lie if self.supports is not None else 1.0

    def unbiased(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the unbiased estimate that belongs to ``values`` of ``support``, or to means of them, of any shape."""
        return np.asarray((values - self.lie) / (self.truth - self.lie))

    def estimates(self, nodes: IntArray) -> DoubleArray:
        """float64 (len(nodes), classes): unbiased estimates of the one-hot labels; labels in clear are one-hot."""
        return self.unbiased(self.support(nodes))

    def log_likelihood(self, nodes: IntArray) -> DoubleArray:
        """float64 (len(nodes), classes): of the report; of a label in clear 0 for the class and -inf for others."""
        if self.log_likelihoods is not None:
            return self.log_likelihoods[nodes]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.eye(self.classes)[self.labels[nodes]]))

    def probabilities(self, nodes: IntArray) -> DoubleArray:
        """float64 (len(nodes), classes): of each class given the report, if before it all are equally likely."""
        if self.log_likelihoods is None:
            return np.asarray(np.eye(self.classes)[self.labels[nodes]])
        odds = np.exp(self.log_likelihoods[nodes] - self.log_likelihoods[nodes].max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def observed_labels(reports: Reports | None, public: PublicKnowledge) -> ObservedLabels:
    """Return the labels that the curator has: the reported ones, or the public ones where none were asked.

    Where some people gave theirs in clear, these are all: what others report of a label under noise stands beside them
    (:mod:`ldpsim.curator.votes.volunteer_knowledge`).

    Args:
        reports: The reports so far; None before anybody has answered.
        public: Public knowledge.

    Raises:
        ValueError: if the mechanism of the reports states no log-likelihood.
    """
    if reports is None or reports.labels is None:
        return ObservedLabels(public.labels, public.facts.classes)
    mechanism, array, classes = reports.source("labels"), reports.labels, reports.facts.classes
    in_clear = [part.needed("labels") for part in reports.of_field("labels") if part.source("labels").in_clear]
    if in_clear:
        return ObservedLabels(np.max(in_clear, axis=0), classes)
    reporters = np.flatnonzero(array >= 0 if array.ndim == 1 else reports.reported("label"))
    labels, log_likelihoods = np.full(len(array), -1, np.int64), np.zeros((len(array), classes))
    if not len(reporters):
        return ObservedLabels(labels, classes, log_likelihoods=log_likelihoods)
    values, value_of = np.unique(array[reporters], axis=0, return_inverse=True)
    value_of = value_of.reshape(-1)
    of_values = [mechanism.log_likelihood(value) for value in values]
    if any(each is None for each in of_values):
        raise ValueError(f"{mechanism.name} states no log-likelihood of a label, so its reports cannot be read")
    log_likelihoods[reporters] = np.array(of_values)[value_of]
    labels[reporters] = _likeliest(log_likelihoods)[reporters]
    estimates = np.array([mechanism.estimate(value) for value in values], np.float64)
    least, most = min(float(estimates.min()), 0.0), max(float(estimates.max()), 1.0)  # as for everybody's reports
    span = most - least
    observed = ObservedLabels(labels, classes, (1 - least) / span, -least / span, log_likelihoods)
    supports = ((estimates - least) / span)[value_of]
    if np.array_equal(supports, np.eye(classes)[labels[reporters]]):
        return observed
    return replace(observed, supports=observed.placed(reporters, supports))


def _likeliest(log_likelihoods: DoubleArray) -> IntArray:
    """int64 (n,): the likeliest class of each row; of equal ones each with the same chance, by fixed numbers."""
    tied = log_likelihoods >= log_likelihoods.max(axis=1, keepdims=True) - _EQUAL
    counts = tied.sum(axis=1)
    if (counts == 1).all():
        return np.asarray(tied.argmax(axis=1), np.int64)
    generator = np.random.Generator(np.random.PCG64(_TIES_SEED))
    number = np.floor(generator.random(len(tied)) * counts)  # place of the class among the tied ones
    return np.asarray((np.cumsum(tied, axis=1) > number[:, None]).argmax(axis=1), np.int64)
