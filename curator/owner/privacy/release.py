"""An owner's release of labels, and the record of all figures about it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.privacy.level import JOINS, Level

Sampling = Literal["fresh", "once", "all"]
METHODS = ("privgnn", "pate-g", "pate-m")
SMALLEST_LAMBDA, LARGEST_LAMBDA = 1e-6, 100.0
MOST_QUERIES = 100_000


@dataclass(frozen=True, kw_only=True)
class LabelRelease:
    """Labels that an owner releases.

    Args:
        queries: Number of questions, 1 to 100,000.
        lambda_: 1 / scale of the Laplace noise, 1e-6 to 100.
        delta: 1e-9 or more, below 0.1, and below 1 / ``nodes``.
        classes: Number of labels; None if unknown (then there are no label figures).
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
    sampling: Sampling = "fresh"
    nodes: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.queries <= MOST_QUERIES:
            raise ValueError(f"--queries {self.queries}: must be 1 to 100000")
        if not SMALLEST_LAMBDA <= self.lambda_ <= LARGEST_LAMBDA:
            raise ValueError(f"--lambda {self.lambda_:g}: must be {SMALLEST_LAMBDA:g} to {LARGEST_LAMBDA:g}")
        if not 1e-9 <= self.delta < 0.1:
            raise ValueError(f"--delta {self.delta:g}: must be 1e-9 or more and below 0.1")
        if self.classes is not None and not 2 <= self.classes <= 100_000:
            raise ValueError(f"--classes {self.classes}: must be 2 to 100000")
        if not 1e-6 <= self.gamma <= 1:
            raise ValueError(f"--gamma {self.gamma:g}: must be above 0 (1e-6 or more) and at most 1")
        if self.sampling not in ("fresh", "once"):
            raise ValueError(f"--sampling {self.sampling}: must be fresh or once")
        if self.nodes is not None and self.nodes < 1:
            raise ValueError(f"--nodes {self.nodes}: must be 1 or more")
        if self.nodes is not None and self.delta * self.nodes >= 1:
            raise ValueError(
                f"--delta {self.delta:g}: must be below 1 / n = {1 / self.nodes:.4g} for --nodes {self.nodes} "
                "(at 1 / n, publishing one person whole would pass)"
            )


@dataclass(frozen=True)
class Printed:
    """The paper's figure: ``epsilon`` at ``delta_used``, and the same formula at the delta given."""

    epsilon: float
    delta_used: float
    at_delta_given: float

    @property
    def in_the_table(self) -> float:
        """The figure as the tables print it: cut, not rounded, at two decimals."""
        return math.floor(100 * self.epsilon) / 100


@dataclass(frozen=True)
class Bounds:
    """Bounds at the release's delta; None where the number of classes is unknown.

    Args:
        label, label_edge: Only the labels are released.
        vector, vector_edge: The noisy vectors are, by their privacy loss distribution.
        vector_rdp: The same by Rényi divergences, looser.
        one_coordinate: PATE only: as if a moved vote changed one count by 2, looser.
    """

    label: float | None
    label_edge: float | None
    vector: float
    vector_edge: float
    vector_rdp: float
    one_coordinate: float | None = None


@dataclass(frozen=True)
class Account:
    """All figures of one release.

    Args:
        method: One of :data:`METHODS`.
        release: The release.
        printed: The paper's analysis.
        query_label, query_vector: Exact pure loss of one query on unsampled data.
        ceiling: Highest accuracy that the labels can have under this noise (A), None for PATE.
        bounds: Sampling -> what holds; PATE draws no sample and has ``all``.
        warnings: Warnings for people.
    """

    method: str
    release: LabelRelease
    printed: Printed
    query_label: float | None
    query_vector: float
    ceiling: float | None
    bounds: Mapping[Sampling, Bounds]
    warnings: tuple[str, ...] = ()

    @property
    def sampling(self) -> Sampling:
        """The release's way of drawing people, or ``all`` of them."""
        return self.release.sampling if self.release.sampling in self.bounds else "all"

    @property
    def holds(self) -> Bounds:
        """The bounds under the release's own way of sampling."""
        return self.bounds[self.sampling]

    @property
    def composition(self) -> str:
        """Composition of the labels' losses, in words."""
        if self.sampling == "all":
            return "by the privacy loss distribution of the noisy counts, an upper bound"
        return "exactly, by a trinomial sum"

    def claim(self) -> Claim:
        """Return the paper's statement."""
        return Claim(f"(epsilon, {self.printed.delta_used:g})-DP as in the paper's tables", self.printed.epsilon)

    def central_node(self) -> Level:
        """Return what holds for a person in the owner's data, whose labels are what is released.

        Raises:
            ValueError: where the number of classes is not known.
        """
        held = self.holds
        if held.label is None:
            raise ValueError("the loss of a label needs the number of classes")
        reason = (
            f"the labels of {{queries}} queries, composed {self.composition}; "
            "the noisy vectors would lose {vectors}, one edge instead of a person {edge}"
        )
        assert held.label_edge is not None
        figures = {"queries": self.release.queries, "vectors": _up(held.vector), "edge": _up(held.label_edge)}
        return Level(
            "bounded",
            held.label,
            self.release.delta,
            kind="bound" if self.sampling == "all" else "exact",
            relation=JOINS,
            reason=reason,
            figures=figures,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; the keys up to ``holds`` are the contract's."""
        sampled, asked, held = self.sampling != "all", self.release, self.holds
        return {
            "method": self.method,
            "queries": asked.queries,
            "gamma": asked.gamma if sampled else None,
            "lambda": asked.lambda_,
            "classes": asked.classes,
            "delta": asked.delta,
            "sampling": asked.sampling if sampled else None,
            "printed": {
                "epsilon": self.printed.epsilon,
                "delta_used": self.printed.delta_used,
                "in_the_table": self.printed.in_the_table,
                "at_delta_given": self.printed.at_delta_given,
            },
            "holds": {"label": held.label, "vector": held.vector, "label_edge": held.label_edge},
            "nodes": asked.nodes,
            "one_query": {
                "label": self.query_label,
                "vector": self.query_vector,
                "label_accuracy_at_most": self.ceiling,
            },
            "bounds": {name: dict(vars(bounds)) for name, bounds in self.bounds.items()},
            "warnings": list(self.warnings),
        }


def small_delta(people: int) -> float:
    """Return the largest power of ten below 1 / people.

    >>> small_delta(500)
    0.001
    """
    return float(10.0 ** (math.ceil(math.log10(1 / people)) - 1))


def _up(value: float) -> float:
    """Return a figure of the text, rounded up at the fourth decimal."""
    return math.ceil(value * 1e4) / 1e4
