"""Audit of an owner's released labels, without the accountant.

PrivGnn: the label is arg max of a posterior and Laplace noise. Removing a person may turn
one certain posterior into another; the chances A (the certain class) and B (another) are
integrated here by adaptive quadrature, and what a few queries on fresh samples lose is
summed over every outcome. PATE: a moved vote changes two counts by one each; each has its
own Laplace noise, so that no event may gain more than e^(2 lambda).

The trials draw labels by the code that releases them, for the two worst posteriors.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
from scipy.integrate import quad

from ldpsim.curator.attacks.bounds import lower_bound
from ldpsim.curator.attacks.graph_owner_audit import audit_graph_owner
from ldpsim.curator.attacks.mechanism_audit import AuditRow, Effort
from ldpsim.curator.methods.owner.owner import LabelAnswers, OwnerMethod
from ldpsim.curator.owner.teachers.answering import noisy_labels

CLASSES = 3
QUERIES = 5
LAMBDA = 1.0
DELTA = 1e-3
PEOPLE = 100
_QUADRATURE = 1e-6


def audit_owner(method: OwnerMethod, effort: Effort) -> list[AuditRow]:
    """Audit an owner's method at a few queries; the baselines claim nothing."""
    if method.spec.trained_by == "graph owner":
        return audit_graph_owner(method, effort)
    if not isinstance(method, LabelAnswers):
        said = "sees raw data and adds no noise: nothing is claimed"
        return [effort.nothing_claimed(method.spec.name, "central_node", said)]
    asked = replace(method, queries=QUERIES, lambda_=LAMBDA, delta=DELTA)
    found = asked.account(PEOPLE, CLASSES)
    votes = found.votes
    truth, other = label_chances(CLASSES, LAMBDA)
    exact = moved_vote(LAMBDA) if votes else math.log(truth / other)
    one, two = np.eye(CLASSES)[:2] + (2.0 if votes else 0.0)
    sides = [
        noisy_labels(np.tile(side, (effort.trials, 1)), LAMBDA, noise_seed=effort.seed + number).tolist()
        for number, side in enumerate((one, two))
    ]
    bound = lower_bound(*sides, error=effort.error)
    rows = [
        AuditRow(method.spec.name, "one label", found.query_label, exact, bound, effort.confidence, effort.trials,
                 exact <= found.query_label + _QUADRATURE and bound <= found.query_label,
                 "two counts, each moved by one, 10,000 votes behind" if votes else "quadrature")
    ]  # fmt: skip
    level = found.central_node()
    assert level.value is not None
    if votes:
        return rows  # how many votes stand behind a count is not bounded: there is no worst outcome to sum over
    composed = composed_loss(truth, other, found.release.gamma, QUERIES, DELTA)
    how = f"{QUERIES} queries, delta {DELTA:g}, summed over every outcome"
    rows.append(AuditRow(method.spec.name, "central_node", level.value, composed, None, effort.confidence, 0,
                         composed <= level.value + _QUADRATURE, how))  # fmt: skip
    return rows


def label_chances(classes: int, lambda_: float) -> tuple[float, float]:
    """(A, B): Pr[label 1] where the posterior is e_1, and where it is e_2, by quadrature."""

    def density(x: float) -> float:
        return 0.5 * lambda_ * math.exp(-lambda_ * abs(x))

    def below(x: float) -> float:
        return 0.5 * math.exp(lambda_ * x) if x < 0 else 1 - 0.5 * math.exp(-lambda_ * x)

    far = 60 / lambda_

    def integral(f: object) -> float:
        return float(sum(quad(f, a, b, epsabs=1e-13, limit=400)[0] for a, b in ((-far, 0), (0, 1), (1, far))))

    truth = integral(lambda x: density(x - 1) * below(x) ** (classes - 1))
    other = integral(lambda x: density(x) * below(x - 1) * below(x) ** (classes - 2))
    return truth, other


def moved_vote(lambda_: float, behind: float = 1e4) -> float:
    """Loss of the label of two classes where a class ``behind`` by so many votes loses one to the other.

    The difference of two Laplace noises exceeds x >= 0 with chance e^(-l x) (2 + l x) / 4;
    the loss grows with x towards 2 lambda.
    """
    return 2 * lambda_ + math.log((2 + lambda_ * behind) / (2 + lambda_ * (behind + 2)))


def composed_loss(truth: float, other: float, gamma: float, queries: int, delta: float) -> float:
    """Epsilon at ``delta`` of labels on fresh Poisson samples: one person in or out, every outcome summed.

    With the person, a query is (1 - gamma) Q + gamma P; without, Q: P tells label 1 with
    chance ``truth``, Q label 2, every other label has chance ``other``.
    """
    with_person = [(1 - gamma) * other + gamma * truth, (1 - gamma) * truth + gamma * other]
    without = [other, truth]
    rest = max(0.0, 1 - truth - other)  # all other labels are equally likely either way: one outcome
    pairs = []
    for p, q in ((with_person, without), (without, with_person)):
        outcomes = itertools.product(zip((*p, rest), (*q, rest), strict=True), repeat=queries)
        pairs.append([(math.prod(a for a, _ in chosen), math.prod(b for _, b in chosen)) for chosen in outcomes])

    def needed(epsilon: float) -> float:
        return max(math.fsum(max(0.0, a - math.exp(epsilon) * b) for a, b in pair) for pair in pairs)

    low, high = 0.0, 100.0
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (middle, high) if needed(middle) > delta else (low, middle)
    return high
