"""Base class of all methods: questions, reconstruction, training, guarantee."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from ldpsim.curator import options as o
from ldpsim.curator.graph import Graph
from ldpsim.curator.names import nearest
from ldpsim.curator.owned import OwnedGraph
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.reports.question import Budget, Question, Reporting
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.setting_error import LEAST, MOST, MOST_STEPS, SettingError
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings
    from ldpsim.curator.methods.memory import MemoryLaw

# For authors of methods.
__all__ = ["TRAINING_GRID", "Budget", "Graph", "Grid", "Method", "Question", "Reporting"]

Grid = Mapping[str, tuple[Any, ...]]  # parameter -> values
NO_NETWORK = "none"  # in the place of a network's name, for a method that predicts without one
TRAINING_GRID: Grid = {"lr": (0.01, 0.1), "weight_decay": (1e-3, 1e-4, 1e-5), "gnn_dropout": (0.1, 0.5)}


@dataclass(frozen=True)
class OwnBudget:
    """A parameter that sets how much a method learns of a person, in place of epsilon.

    Args:
        parameter: Its name.
        symbol: Its name in a table.
    """

    parameter: str
    symbol: str


class Method:
    """A method: a frozen dataclass; ``--set key=value`` sets its fields.

    ``ldpsim methods`` prints the class attributes ``name``, ``paper``, ``trust``
    (``untrusted curator``, ``trusted curator`` or ``none``), ``private`` (the protected
    data), ``mechanisms`` (names) and ``default_gnn``.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    trust: ClassVar[str]
    private: ClassVar[tuple[str, ...]]
    mechanisms: ClassVar[tuple[str, ...]]
    default_gnn: ClassVar[str] = "gcn"
    training_defaults: ClassVar[Mapping[str, Any]] = {}  # differences from TrainingSettings' defaults
    common_selection: ClassVar[bool] = True  # `--set selection` chooses the epoch
    public_graph: ClassVar[bool] = False  # the edges are public in its paper's setting
    public_features: ClassVar[bool] = False  # features are public with and without --public-features
    asks_labels: ClassVar[bool] = False  # devices are asked for labels with and without --private-labels
    asks_volunteers: ClassVar[bool] = False  # volunteers answer in clear, once; otherwise their label is public
    auto_share: ClassVar[bool] = False  # features may go unasked, and `--feature-share auto` is the default
    reads: ClassVar[tuple[str, ...]] = ()  # attributes of the true records that it reads in place of reports
    in_batches: ClassVar[bool] = False  # questions come from `next_questions`
    trained_by: ClassVar[str] = "curator"  # or "owner", "graph owner", "devices", "silos", "alone" (for itself)
    in_rounds: ClassVar[bool] = False  # devices or silos train a network in rounds
    memory: ClassVar[MemoryLaw | None] = None  # of the curator's work; None where no law was tried
    joins_both_ends: ClassVar[bool] = False  # its estimate of a pair uses what both ends report
    # Options that it reads, of those that only some methods read, beside `finer`. The default refuses none.
    options: ClassVar[frozenset[str]] = o.OF_METHODS
    own_budget: ClassVar[OwnBudget | None] = None  # None: it is epsilon
    finer: ClassVar[tuple[str, ...]] = ()  # finer budgets, each in place of a share of epsilon
    read_with: ClassVar[Mapping[str, str]] = {}  # option -> setting other than the default with which it is read
    # Training settings that its own training reads, and that of its reference without noise; None: all of them.
    training_read: ClassVar[frozenset[str] | None] = None
    reference_read: ClassVar[frozenset[str] | None] = None
    # Default grids of `ldpsim tune`: parameters of the curator, by stage (each stage starts from the best
    # of the one before); and the parameters that change the questions.
    search_grid: ClassVar[tuple[Grid, ...]] = (TRAINING_GRID,)
    query_grid: ClassVar[Grid] = {}

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Return the questions and the devices of each; ValueError for a budget that does not fit."""
        raise NotImplementedError

    def next_questions(
        self, public: PublicKnowledge, budget: Budget, collection: str, earlier: Reports | None
    ) -> tuple[Question, ...]:
        """Return the questions of the next batch of a collection; empty after the last batch.

        Only methods with ``in_batches`` have batches. Their :meth:`questions` ask the same people with the same
        losses, without public knowledge: they are for accounting, and no device gets them. Everybody is asked in
        one batch only about an attribute. The questions must depend on the arguments alone.

        Args:
            public: Public knowledge.
            budget: The budget.
            collection: Id of the collection.
            earlier: Reports of all earlier batches; None before the first one.
        """
        raise NotImplementedError

    def regroup(self, reports: Reports, *, stage: int) -> IntArray | None:
        """Return each person's public group for a later stage, int64 (n,), from the reports so far.

        None (unless overridden) for a stage without groups. The groups must depend on the
        arguments alone, as an interrupted collection asks for them again.
        """
        return None

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return the graph to train on, from the reports and public knowledge alone."""
        raise NotImplementedError

    def from_owned(self, owned: OwnedGraph) -> Graph:
        """Return the graph to train on, from raw data; only a method that ``reads`` true records has this."""
        raise NotImplementedError

    def knows_graph(self) -> bool:
        """Return True if the edges are public with these parameters; ``public_graph`` unless overridden."""
        return self.public_graph

    def learns_from_validation(self) -> bool:
        """Return False, unless overridden by a method that learns from validation labels, and does not only choose.

        Its null models then learn from these labels too.
        """
        return False

    def halves(self, budget: Budget) -> Mapping[str, Method]:
        """Return the method with answers about one attribute alone, by attribute; none unless overridden.

        An answer about several attributes then has null models that ask in this way: the rest was worth the difference.
        """
        return {}

    def trains_network(self) -> bool:
        """Return True, unless overridden by a method that predicts without a network."""
        return True

    def rebuilds_graph(self) -> bool:
        """Return True, unless overridden by a method whose :meth:`reconstruct` estimates no edge."""
        return True

    def fitting(self, public: int) -> dict[str, str]:
        """Return parameters to change so that it fits so few public people; none unless overridden."""
        return {}

    def options_read(self) -> frozenset[str]:
        """Return the options that are read with these parameters: ``options`` and finer budgets unless overridden."""
        return self.options | set(self.parts_of_epsilon())

    def parts_of_epsilon(self) -> tuple[str, ...]:
        """Return the finer budgets that take a share of epsilon with these parameters; ``finer`` unless overridden."""
        return self.finer

    def asks_for_labels(self) -> bool:
        """Return True if devices are asked for labels with these parameters; ``asks_labels`` unless overridden."""
        return self.asks_labels

    def chooses_share(self) -> bool:
        """Return True if the feature share is chosen with these parameters; ``auto_share`` unless overridden."""
        return self.auto_share

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Train on the graph of :meth:`reconstruct`; a method with a loss of its own overrides this.

        See :func:`ldpsim.curator.learning.training.train` for the arguments and errors.
        """
        from ldpsim.curator.learning.training import train  # torch is only needed from here on

        return train(graph, settings=settings, classes=classes, seed=seed, device=device)

    def usual_training(self) -> Mapping[str, Any]:
        """Return the training's defaults with these parameters; ``training_defaults`` unless overridden."""
        return self.training_defaults

    def least_posterior(self) -> float | None:
        """Smallest P_ij of the pairs that it holds at once as likely links; None unless overridden: it holds none."""
        return None

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return what is claimed and what holds for these questions, asked ``collections`` times."""
        raise NotImplementedError

    def check_choices(self, **allowed: Sequence[str]) -> None:
        """Refuse a parameter that is none of its choices (ValueError)."""
        for name, choices in allowed.items():
            value = getattr(self, name)
            if value not in choices:
                raise SettingError(f"{name}={value}", f"must be one of {', '.join(choices)}")

    def check_shares(self, *names: str) -> None:
        """Refuse a parameter outside (0, 1), or at its very ends (ValueError)."""
        for name in names:
            value = getattr(self, name)
            if not LEAST <= value <= 1 - LEAST:
                raise SettingError(f"{name}={value}", "must lie between 0 and 1, both excluded")

    def check_range(self, *names: str, least: int, most: int = MOST_STEPS) -> None:
        """Refuse a whole number outside ``least`` .. ``most`` (ValueError)."""
        for name in names:
            value = getattr(self, name)
            if not least <= value <= most:
                raise SettingError(f"{name}={value}", f"must be {least}..{most}")

    def check_numbers(self, *names: str, positive: bool = False) -> None:
        """Refuse a number below 0, with ``positive`` also 0, or one that is too small or too large (ValueError)."""
        for name in names:
            value = getattr(self, name)
            if not (LEAST <= value <= MOST or (value == 0 and not positive)):
                raise SettingError(f"{name}={value:g}", f"must be {'' if positive else '0, or '}{LEAST:g} to {MOST:g}")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Method:
        """Return the method with ``key=value`` settings; text is converted to the field's type.

        Raises:
            ValueError: for an unknown key (the message names the nearest ones) or an unfit value.
        """
        # A type is text, or a class if the method's module does not defer annotations.
        known = {entry.name: str(getattr(entry.type, "__name__", entry.type))
                 for entry in fields(cls)}  # type: ignore[arg-type]  # fmt: skip
        values = {}
        for key, given in settings.items():
            if key not in known:
                allowed = ", ".join(sorted(known)) or "nothing"
                raise SettingError(key, f"{cls.name} has no such parameter{nearest(key, known)} (it has {allowed})")
            values[key] = _read(key, given, known[key])
        return cls(**values)


class WithoutReports(Method):
    """A method that asks no device for a report; ``learns_from`` says what it uses instead."""

    private: ClassVar[tuple[str, ...]] = ()
    mechanisms: ClassVar[tuple[str, ...]] = ()
    learns_from: ClassVar[str] = "reads an OwnedGraph"

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Return no question."""
        return ()

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Refuse reports (TypeError)."""
        raise TypeError(f"{self.name} {self.learns_from}, not reports")


@contextmanager
def spending(option: str, given: float | None, budget: Budget, value: float) -> Iterator[None]:
    """Name the option of a budget that a mechanism refuses.

    Args:
        option: The finer option, ``--eps-adjacency`` for example.
        given: Its value, None if ``value`` is a share of ``--epsilon``.
        budget: The whole budget.
        value: Budget of the mechanism.

    Raises:
        ValueError: one line with the option and its value.
    """
    try:
        yield
    except SettingError:
        raise  # it names another option
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
        raise SettingError(f"{key}={given}", f"not a value of type {kind}") from None
