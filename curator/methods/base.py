"""What every method shares: what it asks, what it may spend, what it returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from curator.graph import Graph
from curator.names import nearest
from curator.privacy.guarantee import Guarantee
from curator.reports.question import Budget, Question, Reporting
from curator.reports.reports import Reports
from devices.array_types import IntArray
from devices.facts import PublicFacts, PublicKnowledge, Split

if TYPE_CHECKING:
    from curator.learning.training import TrainedNetwork, TrainingSettings

# All that a method's author needs from here.
__all__ = ["TRAINING_GRID", "Budget", "Graph", "Grid", "Method", "Question", "Reporting"]

Grid = Mapping[str, tuple[Any, ...]]  # parameter -> values
TRAINING_GRID: Grid = {"lr": (0.01, 0.1), "weight_decay": (1e-3, 1e-4, 1e-5), "gnn_dropout": (0.1, 0.5)}


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
    common_selection: ClassVar[bool] = True  # `--set selection` says which epoch's weights are kept
    public_graph: ClassVar[bool] = False  # the edges are public knowledge in its paper's setting
    public_features: ClassVar[bool] = False  # features are, whether or not --public-features is given
    asks_labels: ClassVar[bool] = False  # labels are asked of devices whether or not --private-labels is given
    # What `ldpsim tune` compares where no grid is given: parameters of the curator, by stage (a later one
    # at the best of those before); and, by name, the parameters that change what people are asked.
    search_grid: ClassVar[tuple[Grid, ...]] = (TRAINING_GRID,)
    query_grid: ClassVar[Grid] = {}

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Return what is asked and of whom; ValueError for a budget that does not fit."""
        raise NotImplementedError

    def regroup(self, reports: Reports, *, stage: int) -> IntArray | None:
        """Return everybody's public group for a later stage of the plan, made of the reports so far.

        int64 (n,), or None (unless overridden) for a stage that needs none. It must depend
        on the arguments alone: a collection that was interrupted asks again for the same.
        """
        return None

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return the graph to train on, from the reports and public knowledge alone."""
        raise NotImplementedError

    def knows_graph(self) -> bool:
        """Whether the edges are public knowledge with these very parameters; ``public_graph`` unless overridden."""
        return self.public_graph

    def asks_for_labels(self) -> bool:
        """Whether labels are asked with these very parameters; ``asks_labels`` unless overridden."""
        return self.asks_labels

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Train on what :meth:`reconstruct` returned; a method with a loss of its own overrides this.

        See :func:`curator.learning.training.train` for the arguments and errors.
        """
        from curator.learning.training import train  # torch is only needed from here on

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
        # A type is text, or the class itself where the method's module does not defer annotations.
        known = {entry.name: str(getattr(entry.type, "__name__", entry.type))
                 for entry in fields(cls)}  # type: ignore[arg-type]  # fmt: skip
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
        if str(error).startswith("--set "):
            raise  # it is another option's mistake
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
