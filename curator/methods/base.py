"""What every method shares: what it asks, what it may spend, what it returns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from curator.guarantee import Guarantee
from curator.names import nearest
from curator.reports import Reports
from devices.facts import IntArray, PublicFacts, PublicKnowledge, Split
from devices.query import Query

if TYPE_CHECKING:
    from curator.training import Trained, TrainingSettings

Reporting = Literal["both", "one-end"]


@dataclass(frozen=True, eq=False)
class Question:
    """A query and who is asked it.

    Args:
        query: The query, the same bytes for everybody in ``devices``.
        devices: Sorted int64 ids, or None for everybody.
    """

    query: Query
    devices: IntArray | None = None


@dataclass(frozen=True)
class Budget:
    """What a run may spend, in each paper's own sense.

    Args:
        epsilon: The method's total.
        eps_adjacency, eps_features, eps_labels: Finer budgets; each replaces the share
            that ``epsilon`` would give. ``inf`` for features or labels: in clear, where the
            method has such a setting.
        feature_share: Share of ``epsilon`` for the features (HoGS's delta), in (0, 1).
        public_features: Features are public and cost nothing.
        private_labels: Labels of training and validation nodes are asked under GRR.
        reporting: ``both`` ends of a pair report it, or ``one-end``.

    Raises:
        ValueError: for a budget that is not a finite number above 0, or a share outside (0, 1).
    """

    epsilon: float = 8.0
    eps_adjacency: float | None = None
    eps_features: float | None = None
    eps_labels: float | None = None
    feature_share: float = 0.1
    public_features: bool = False
    private_labels: bool = False
    reporting: Reporting = "both"

    def __post_init__(self) -> None:
        for entry in ("epsilon", "eps_adjacency", "eps_features", "eps_labels"):
            value = getattr(self, entry)
            in_clear = value == math.inf and entry in ("eps_features", "eps_labels")
            if value is not None and not in_clear and not (math.isfinite(value) and value > 0):
                raise ValueError(f"--{entry.replace('_', '-')} must be a finite number above 0, not {value}")
        if not 0 < self.feature_share < 1:
            raise ValueError(f"--feature-share must lie between 0 and 1, both excluded, not {self.feature_share}")
        if self.reporting not in ("both", "one-end"):
            raise ValueError(f"--reporting must be both or one-end, not {self.reporting!r}")


@dataclass(frozen=True, eq=False)
class Graph:
    """What a GNN is trained on.

    Args:
        features: float32 (n, d), a numpy array or a scipy CSR array.
        edge_index: int64 (2, E), sources over targets, without self-loops; an
            undirected edge stands in both directions.
        edge_weight: float32 (E,), or None where every edge weighs 1.
        labels: int64 (n,), -1 where the curator knows none.
        train, val: int64 index arrays of the nodes whose labels may be used.
        notes: Diagnostics for the result (edges kept, pairs looked at, ...).
    """

    features: Any = field(repr=False)
    edge_index: IntArray = field(repr=False)
    edge_weight: Any = field(repr=False)
    labels: IntArray = field(repr=False)
    train: IntArray = field(repr=False)
    val: IntArray = field(repr=False)
    notes: Mapping[str, Any] = field(default_factory=dict)


class Method:
    """A method: a frozen dataclass whose fields are what ``--set key=value`` sets.

    Class attributes say what ``ldpsim methods`` prints: ``name``, ``paper``, ``trust``
    (``untrusted curator``, ``trusted curator`` or ``none``), ``private`` (which data are
    protected), ``mechanisms`` (names) and ``default_gnn``.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    trust: ClassVar[str]
    private: ClassVar[tuple[str, ...]]
    mechanisms: ClassVar[tuple[str, ...]]
    default_gnn: ClassVar[str] = "gcn"
    training_defaults: ClassVar[Mapping[str, Any]] = {}  # where they differ from TrainingSettings' own
    public_graph: ClassVar[bool] = False  # the edges are public knowledge in its paper's setting
    public_features: ClassVar[bool] = False  # features are, whether or not --public-features is given
    asks_labels: ClassVar[bool] = False  # labels are asked of devices whether or not --private-labels is given

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Return what is asked and of whom; ValueError for a budget that does not fit."""
        raise NotImplementedError

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return the graph to train on, from the reports and public knowledge alone."""
        raise NotImplementedError

    def knows_graph(self) -> bool:
        """Whether the edges are public knowledge with these very parameters; ``public_graph`` unless overridden."""
        return self.public_graph

    def asks_for_labels(self) -> bool:
        """Whether labels are asked with these very parameters; ``asks_labels`` unless overridden."""
        return self.asks_labels

    def train(self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str) -> Trained:
        """Train on what :meth:`reconstruct` returned; a method with a loss of its own overrides this.

        See :func:`curator.training.train` for the arguments and errors.
        """
        from curator.training import train  # torch is only needed from here on

        return train(graph, settings=settings, classes=classes, seed=seed, device=device)

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return what is claimed and what holds for these very questions, asked ``collections`` times."""
        raise NotImplementedError

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Method:
        """Make the method from ``key=value`` settings; text is read as the field's type.

        Raises:
            ValueError: for an unknown key (names the nearest ones) or an unfit value.
        """
        known = {entry.name: str(entry.type) for entry in fields(cls)}  # type: ignore[arg-type]
        values = {}
        for key, given in settings.items():
            if key not in known:
                allowed = ", ".join(sorted(known)) or "nothing"
                raise ValueError(
                    f"--set {key}: {cls.name} has no such parameter{nearest(key, known)} (it has {allowed})"
                )
            values[key] = _read(key, given, known[key])
        return cls(**values)


@contextmanager
def spending(option: str, given: float | None, budget: Budget, value: float) -> Iterator[None]:
    """Name the option behind a budget that a mechanism cannot take.

    Args:
        option: The finer option, ``--eps-adjacency`` for example.
        given: What it was given, None where the value is a share of ``--epsilon``.
        budget: The whole budget.
        value: What the mechanism is asked to spend.

    Raises:
        ValueError: one line with the option and what was typed.
    """
    try:
        yield
    except ValueError as error:
        typed = f"{option} {given:g}" if given is not None else f"--epsilon {budget.epsilon:g}"
        share = "" if given is not None or value == budget.epsilon else f" (here {value:g} of it for one entry)"
        raise ValueError(f"{typed}{share}: {error}") from None


def require_reports(reports: Any, method: str) -> None:
    """Refuse anything but reports (TypeError): a local method never sees raw data."""
    if not isinstance(reports, Reports):
        raise TypeError(f"{method} is a local method: it takes Reports, not {type(reports).__name__}")


def _read(key: str, given: Any, kind: str) -> Any:
    if not isinstance(given, str):
        return given
    try:
        if kind == "bool":
            return {"true": True, "1": True, "false": False, "0": False}[given.lower()]
        return {"int": int, "float": float}.get(kind, str)(given)
    except (KeyError, ValueError):
        raise ValueError(f"--set {key}={given}: not a value of type {kind}") from None
