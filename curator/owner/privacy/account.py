"""Accounts of PrivGnn and PATE: what an owner's released labels lose beside what the papers print.

An owner holds all private data and answers public questions with noise from Lap(1 / lambda). The figures are:

* ``label``: a person with all edges, features and label joins or leaves, and only the arg max is released. Exact for
  PrivGnn (:mod:`~ldpsim.curator.owner.privacy.label`).
* ``label_edge``: one private edge changes instead. PrivGnn sees it only where both its ends were drawn. That is a
  substitution, not a removal, with a formula of its own.
* ``vector``: the noisy posterior (one coordinate may change by 2), or PATE's noisy counts, are released.
* ``printed``: the paper's own analysis, for comparison with its tables. Not a guarantee.

PATE draws no sample: each person is in one teacher's part, and ``gamma`` and ``sampling`` are not read. A person or an
edge changes one teacher. Its vote moves from one class to another (or is cast where it was not), so in each query two
counts change by 1: the noisy counts of n queries lose exactly what 2 n Laplace mechanisms of sensitivity 1 lose. The
label is computed from the counts, and on one query its loss comes as near to 2 lambda as the number of teachers lets
it, so nothing is said beyond that.

Public graph and query nodes are not protected. Figures that hold are rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from ldpsim.curator.owner.privacy.label import (
    label_edge_epsilon,
    label_epsilon,
    label_epsilon_once,
    label_loss,
    label_probabilities,
)
from ldpsim.curator.owner.privacy.vector import laplace_epsilon, laplace_epsilon_once, moments_epsilon, rdp_epsilon
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.privacy.level import JOINS, Level
from ldpsim.devices.mechanisms import round_up

METHODS = ("privgnn", "pate-g", "pate-m")
MOST_QUERIES = 100_000
SENSITIVITY = 2.0  # two posteriors, or the votes before and after one moved, differ by 2 in the L1 norm
SLIP = 10.0  # the tables of the PrivGnn paper write 10e-4 where the text says 1e-4


@dataclass(frozen=True, kw_only=True)
class LabelRelease:
    """Labels that an owner releases.

    Args:
        queries: Number of questions, 1 to 100,000.
        lambda_: 1 / scale of the Laplace noise, 1e-6 to 100.
        delta: 1e-9 or more, below 0.1, and below 1 / ``nodes``.
        classes: Number of labels; PrivGnn's account needs it.
        gamma: Probability with which a person is drawn into a sample, in (0, 1].
        sampling: ``fresh`` draws a Poisson sample for every query, ``once`` one sample for
            all of them (the paper's Algorithm 1 to the letter).
        nodes: Number of private people, None where it is not known.

    Raises:
        ValueError: for a value outside these.
    """

    queries: int
    lambda_: float
    delta: float
    classes: int | None = None
    gamma: float = 0.3
    sampling: Literal["fresh", "once"] = "fresh"
    nodes: int | None = None

    def __post_init__(self) -> None:
        classes, nodes = 2 if self.classes is None else self.classes, 1 if self.nodes is None else self.nodes
        for name, value, fits, must in (
            ("--set queries=", self.queries, 1 <= self.queries <= MOST_QUERIES, "1 to 100000"),
            ("--set lambda_=", self.lambda_, 1e-6 <= self.lambda_ <= 100, "1e-06 to 100"),
            ("--set delta=", self.delta, 1e-9 <= self.delta < 0.1, "1e-9 or more and below 0.1"),
            ("classes ", classes, 2 <= classes <= 100_000, "2 to 100000"),
            ("--set gamma=", self.gamma, 1e-6 <= self.gamma <= 1, "above 0 (1e-6 or more) and at most 1"),
            ("--set sampling=", self.sampling, self.sampling in ("fresh", "once"), "fresh or once"),
            ("nodes ", nodes, nodes >= 1, "1 or more"),
        ):
            if not fits:
                raise ValueError(f"{name}{value}: must be {must}")
        if self.nodes is not None and self.delta * self.nodes >= 1:
            raise ValueError(
                f"--set delta={self.delta:g}: must be below 1 / n = {1 / self.nodes:.4g} for {self.nodes} people "
                "(at 1 / n, publishing one person whole would pass)"
            )


@dataclass(frozen=True)
class Account:
    """Figures of one release, at its delta.

    Args:
        method: One of :data:`METHODS`.
        release: The release.
        label, label_edge: What holds for a person, and for an edge, where the labels are released.
        vector: What holds for a person where the noisy vectors are.
        query_label: Exact pure loss of one query's label on unsampled data.
        ceiling: Highest accuracy that the labels can have under this noise (A), None for PATE.
        printed, delta_printed: What the paper prints, and the delta that it used.
        warnings: Warnings for people.
    """

    method: str
    release: LabelRelease
    label: float
    label_edge: float
    vector: float
    query_label: float
    ceiling: float | None
    printed: float
    delta_printed: float
    warnings: tuple[str, ...]

    @property
    def votes(self) -> bool:
        """Whether teachers vote, and nobody is drawn."""
        return self.method != "privgnn"

    @property
    def composition(self) -> str:
        """Composition of the labels' losses, in words."""
        if self.votes:
            return "by the privacy loss distribution of the noisy counts, an upper bound"
        return "exactly, by a trinomial sum"

    def claim(self) -> Claim:
        """Return the paper's statement."""
        return Claim(f"(epsilon, {self.delta_printed:g})-DP as in the paper's tables", self.printed)

    def central_node(self, releases: int = 1) -> Level:
        """Return what holds for a person in the owner's data.

        With a fresh sample for each query, or without samples, T releases are one release of T times the queries, at
        the same delta. Where one sample answers all queries of a release, losses and deltas add up (basic composition).

        Args:
            releases: Number T of releases, each with fresh samples and fresh noise.
        """
        release, many = self.release, releases > 1
        if many and (self.votes or release.sampling == "fresh") and releases * release.queries <= MOST_QUERIES:
            return account(self.method, replace(release, queries=releases * release.queries)).central_node()
        reason = (
            f"the labels of {{queries}} queries, composed {self.composition}; "
            "the noisy vectors would lose {vectors}, one edge instead of a person {edge}"
        )
        figures = {
            "queries": release.queries,
            "vectors": four_decimals(self.vector),
            "edge": four_decimals(self.label_edge),
        }
        if many:
            reason = f"{{releases}} releases, whose losses and deltas add up: {reason}"
            figures = {"releases": releases, **figures}
        return Level("bounded", round_up(releases * self.label), releases * release.delta,
                     kind="bound" if self.votes or many else "exact", relation=JOINS, reason=reason,
                     figures=figures)  # fmt: skip


def account(method: str, release: LabelRelease) -> Account:
    """Return the account of one of :data:`METHODS`.

    Raises:
        ValueError: for any other, or PrivGnn without the number of classes.
    """
    if method not in METHODS:
        raise ValueError(f"{method}: there is an accountant for {', '.join(METHODS)}")
    lambda_, gamma, once = release.lambda_, release.gamma, release.sampling == "once"
    options: dict[str, Any] = {"queries": release.queries, "delta": release.delta}
    if method != "privgnn":
        held = laplace_epsilon(loss=lambda_, queries=2 * release.queries, delta=release.delta)
        losses, ceiling = (held, held, held, SENSITIVITY * lambda_), None
    elif release.classes is None:
        raise ValueError("--classes: the loss of a label depends on the number of classes")
    else:
        labels = {**options, "classes": release.classes, "lambda_": lambda_}
        # One sample for all queries: the formula is that of a person, with gamma^2 for an edge.
        losses = (
            (label_epsilon_once if once else label_epsilon)(**labels, gamma=gamma),
            label_epsilon_once(**labels, gamma=gamma**2) if once else label_edge_epsilon(**labels, gamma=gamma),
            (laplace_epsilon_once if once else laplace_epsilon)(**options, loss=SENSITIVITY * lambda_, gamma=gamma),
            label_loss(release.classes, lambda_),
        )
        ceiling = label_probabilities(release.classes, lambda_)[0]
    label, edge, vector, query = map(round_up, losses)
    printed, used = printed_by(method, release)
    return Account(
        method, release, label, edge, vector, query, ceiling, printed, used, _warnings(method, release)
    )  # fmt: skip


def printed_by(method: str, release: LabelRelease) -> tuple[float, float]:
    """Return the epsilon that the paper of a method prints, and the delta that it used."""
    if method != "privgnn":
        epsilon = moments_epsilon(lambda_=release.lambda_, queries=release.queries, delta=release.delta)
        return epsilon, release.delta
    used = SLIP * release.delta
    return rdp_epsilon(loss=release.lambda_, queries=release.queries, gamma=release.gamma, delta=used), used


def _warnings(method: str, release: LabelRelease) -> tuple[str, ...]:
    texts = []
    if release.nodes is None:
        texts.append(f"delta has to be below 1 / n: {release.delta:g} needs more than {1 / release.delta:,.0f} people")
    elif method == "privgnn" and SLIP * release.delta * release.nodes >= 1:
        texts.append(f"the printed figure's delta, {SLIP * release.delta:g}, is not below 1 / n")
    if method == "pate-m":
        texts.append("the tables print data-dependent figures for PATE-M; this is the data-independent one")
    return tuple(texts)


def small_delta(people: int) -> float:
    """Return the largest power of ten below 1 / people.

    >>> small_delta(500)
    0.001
    """
    return float(10.0 ** (math.ceil(math.log10(1 / people)) - 1))


def four_decimals(value: float) -> float:
    """Return a figure of the text, rounded up at the fourth decimal."""
    return math.ceil(value * 1e4) / 1e4 if math.isfinite(value) else value
