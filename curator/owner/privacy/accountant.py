"""Privacy accounts of PrivGnn and PATE: the printed figure, and the bounds for label, vector and edge.

An owner holds all private data and answers ``queries`` public questions with noise from
Lap(1 / lambda). :func:`privgnn` and :func:`pate` say what that is worth, data-independently:

* ``label``: only the arg max is released. Exact for PrivGnn (:mod:`~ldpsim.curator.owner.privacy.label`).
* ``vector``: the noisy posterior (one coordinate may change by 2) or PATE's noisy counts
  (two change by 1) are released.
* ``label_edge``, ``vector_edge``: one private edge changes instead of a person. PrivGnn
  sees it only where both its ends were drawn. That is a substitution, not a removal: it
  has formulas of its own (exact for labels of three classes and more, else a bound).
* ``printed``: the paper's own analysis, for comparison with its tables. Not a guarantee.

The level is the owner's data: a person with all edges, features and label is added or
removed (``central_node``). Public graph and query nodes are not protected. Answering T
times costs what T times the queries cost. Figures that hold are rounded up.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from ldpsim.curator.owner.privacy.label import (
    label_edge_epsilon,
    label_epsilon,
    label_epsilon_once,
    label_loss,
    label_probabilities,
)
from ldpsim.curator.owner.privacy.laplace import laplace_edge_epsilon, laplace_epsilon, laplace_epsilon_once
from ldpsim.curator.owner.privacy.pate import moments_epsilon
from ldpsim.curator.owner.privacy.rdp import rdp_epsilon, rdp_epsilon_once
from ldpsim.curator.owner.privacy.release import (
    LARGEST_LAMBDA,
    METHODS,
    MOST_QUERIES,
    SMALLEST_LAMBDA,
    Account,
    Bounds,
    LabelRelease,
    Printed,
    Sampling,
)
from ldpsim.curator.privacy.level import Level
from ldpsim.devices.mechanisms import round_up

__all__ = [
    "FIGURES", "METHODS", "Account", "Bounds", "Figure", "LabelRelease", "Printed", "account", "figure_of",
    "largest_lambda", "pate", "printed_by", "privgnn",
]  # fmt: skip

Figure = Literal["label", "vector", "label_edge", "printed"]
FIGURES: tuple[Figure, ...] = ("label", "vector", "label_edge", "printed")
SENSITIVITY = 2.0  # two posteriors, or the votes before and after one moved, differ by 2 in the L1 norm
SLIP = 10.0  # the tables of the PrivGnn paper write 10e-4 where the text says 1e-4


def privgnn(release: LabelRelease) -> Account:
    """Return the account of PrivGnn: teachers on Poisson samples, noisy posteriors, labels released."""
    asked, classes = release, release.classes
    ways: tuple[Sampling, ...] = ("fresh", "once")
    bounds = {
        way: Bounds(
            label=figure_of("privgnn", replace(asked, sampling=way), "label"),
            label_edge=figure_of("privgnn", replace(asked, sampling=way), "label_edge"),
            vector=_vector(asked, way, asked.gamma),
            vector_edge=_vector_edge(asked, way),
            vector_rdp=_vector_rdp(asked, way),
        )
        for way in ways
    }
    return Account(
        "privgnn",
        release,
        printed_by("privgnn", release),
        None if classes is None else round_up(label_loss(classes, asked.lambda_)),
        round_up(SENSITIVITY * asked.lambda_),
        None if classes is None else label_probabilities(classes, asked.lambda_)[0],
        bounds,
        _warnings("privgnn", release),
    )


def pate(release: LabelRelease, method: str = "pate-g") -> Account:
    """Return the account of PATE: all people, each in one teacher's part; ``gamma`` and ``sampling`` play no part.

    One person more or less, or one edge inside a part, changes one teacher. Its vote moves
    from one class to another (or is cast where it was not), so in each query two counts
    change by 1: the noisy counts of n queries lose exactly what 2 n Laplace mechanisms of
    sensitivity 1 lose. The label is computed from the counts, and on one query its loss
    comes as near to 2 lambda as the number of teachers lets it, so nothing is said beyond
    that. One count that changes by 2, as a posterior may, costs more: ``one_coordinate``.
    """
    holds = _votes(release)
    loss = round_up(SENSITIVITY * release.lambda_)
    by_rdp, one_coordinate = _vector_rdp(replace(release, gamma=1.0), "fresh"), _vector(release, "fresh", 1.0)
    bounds = Bounds(holds, holds, holds, holds, vector_rdp=by_rdp, one_coordinate=one_coordinate)
    return Account(
        method, release, printed_by(method, release), loss, loss, None, {"all": bounds}, _warnings(method, release)
    )


def account(method: str, release: LabelRelease) -> Account:
    """Return the account of one of :data:`METHODS`.

    Raises:
        ValueError: for any other.
    """
    if method not in METHODS:
        raise ValueError(f"{method}: there is an accountant for {', '.join(METHODS)}")
    return privgnn(release) if method == "privgnn" else pate(release, method)


def central_node(found: Account, collections: int) -> Level:
    """Return what holds for a person in the owner's data, over several releases with fresh samples and fresh noise.

    With a fresh sample for each query, or without samples, T releases are one release of T times the queries, at the
    same delta. Where one sample answers all queries of a release, losses and deltas add up (basic composition).

    Args:
        found: Account of one release.
        collections: Number T of releases.
    """
    if collections == 1:
        return found.central_node()
    asked = found.release
    if found.sampling != "once" and collections * asked.queries <= MOST_QUERIES:
        return account(found.method, replace(asked, queries=collections * asked.queries)).central_node()
    each = found.central_node()
    assert each.value is not None
    return Level(
        "bounded", round_up(collections * each.value), collections * each.delta, relation=each.relation,
        reason=f"{{releases}} releases, whose losses and deltas add up: {each.reason}",
        figures={"releases": collections, **each.figures},
    )  # fmt: skip


def largest_lambda(method: str, release: LabelRelease, *, target: float, figure: Figure = "label") -> float:
    """Return the largest lambda (the least noise) whose ``figure`` is at most ``target``.

    Every figure grows with lambda. The root is bracketed and refined on a logarithmic
    scale, then rounded *down* to six digits, so that the figure at the value returned is
    at most the target.

    Args:
        method: One of :data:`METHODS`.
        release: The release; its ``lambda_`` is where the search starts.
        target: Above 0.
        figure: ``label``, ``vector``, ``label_edge`` or ``printed``.

    Raises:
        ValueError: for a target that is not above 0, or that no lambda reaches.
    """
    if not (math.isfinite(target) and target > 0):
        raise ValueError(f"--target-epsilon {target:g}: must be a finite number above 0")

    def at(lambda_: float) -> float:
        value = figure_of(method, replace(release, lambda_=lambda_), figure)
        if value is None:
            raise ValueError("--classes: the loss of a label needs the number of classes")
        return value

    from scipy.optimize import brentq  # imported where it is needed: the import takes as long as a small run

    low = high = release.lambda_
    while at(low) > target:
        if low == SMALLEST_LAMBDA:
            raise ValueError(f"--target-epsilon {target:g}: no lambda reaches it; at {low:g} it is {at(low):.4g}")
        low, high = max(low / 4, SMALLEST_LAMBDA), low
    while at(high) <= target:
        if high == LARGEST_LAMBDA:
            return high
        low, high = high, min(high * 4, LARGEST_LAMBDA)

    def excess(log_lambda: float) -> float:
        return math.log1p(at(math.exp(log_lambda))) - math.log1p(target)

    ends = math.log(low), math.log(high)
    found = math.exp(brentq(excess, *ends, xtol=1e-7)) if excess(ends[0]) * excess(ends[1]) < 0 else low
    unit = 10.0 ** (math.floor(math.log10(found)) - 5)
    steps = math.floor(found / unit) + 1
    while at(max(float(f"{steps * unit:.6g}"), low)) > target:
        steps -= 1
    return max(float(f"{steps * unit:.6g}"), low)


def figure_of(method: str, release: LabelRelease, figure: Figure) -> float | None:
    """Return one figure alone, None where it needs the number of classes and it is not known."""
    if figure == "printed":
        return printed_by(method, release).epsilon
    if method != "privgnn":
        return _votes(release)
    if figure == "vector":
        return _vector(release, release.sampling, release.gamma)
    if release.classes is None:
        return None
    # One sample for all queries: the formula is that of a person, with gamma^2 for an edge.
    edge, once = figure == "label_edge", release.sampling == "once"
    epsilon = label_epsilon_once if once else label_edge_epsilon if edge else label_epsilon
    asked = partial(epsilon, queries=release.queries, classes=release.classes, lambda_=release.lambda_)
    return round_up(asked(delta=release.delta, gamma=release.gamma**2 if edge and once else release.gamma))


def _votes(release: LabelRelease) -> float:
    return round_up(laplace_epsilon(loss=release.lambda_, queries=2 * release.queries, delta=release.delta))


def _vector(release: LabelRelease, way: Sampling, gamma: float) -> float:
    epsilon = laplace_epsilon if way == "fresh" else laplace_epsilon_once
    loss = SENSITIVITY * release.lambda_
    return round_up(epsilon(loss=loss, queries=release.queries, delta=release.delta, gamma=gamma))


def _vector_edge(release: LabelRelease, way: Sampling) -> float:
    if way == "once":
        return _vector(release, way, release.gamma**2)
    loss = SENSITIVITY * release.lambda_
    return round_up(laplace_edge_epsilon(loss=loss, queries=release.queries, delta=release.delta, gamma=release.gamma))


def _vector_rdp(release: LabelRelease, way: Sampling) -> float:
    epsilon: Any = rdp_epsilon if way == "fresh" else rdp_epsilon_once
    found = epsilon(
        loss=SENSITIVITY * release.lambda_, queries=release.queries, delta=release.delta, gamma=release.gamma
    )
    return round_up(found[0] if way == "fresh" else found)


def printed_by(method: str, release: LabelRelease) -> Printed:
    """Return what the paper of a method prints."""
    if method == "privgnn":
        formula = partial(rdp_epsilon, loss=release.lambda_, queries=release.queries, gamma=release.gamma)
        used = SLIP * release.delta
    else:
        formula = partial(moments_epsilon, lambda_=release.lambda_, queries=release.queries)
        used = release.delta
    return Printed(formula(delta=used)[0], used, formula(delta=release.delta)[0])


def _warnings(method: str, release: LabelRelease) -> tuple[str, ...]:
    found = []
    if release.nodes is None:
        found.append(f"delta has to be below 1 / n: {release.delta:g} needs more than {1 / release.delta:,.0f} people")
    elif method == "privgnn" and SLIP * release.delta * release.nodes >= 1:
        found.append(f"the printed figure's delta, {SLIP * release.delta:g}, is not below 1 / n")
    if method == "privgnn" and release.classes is None:
        found.append("without the number of classes nothing is said about the label")
    if method == "pate-m":
        found.append("the tables print data-dependent figures for PATE-M; this is the data-independent one")
    return tuple(found)
