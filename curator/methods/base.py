"""Base classes of methods, and their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from ldpsim.curator.graph import Graph
from ldpsim.curator.methods.parameters import check_values, read_value
from ldpsim.curator.methods.spec import MethodSpec
from ldpsim.curator.names import by_field, nearest, paper_name
from ldpsim.curator.privacy.guarantee import Claim, Guarantee, local_guarantee
from ldpsim.curator.reports.budget import Budget
from ldpsim.curator.reports.question import Question, at_stage, collection_id, stages_of
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rounds import RoundSteps
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import Reporting

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings

# For authors of methods.
__all__ = ["Budget", "Graph", "LocalMethod", "Method", "MethodSpec", "Question", "Reporting", "collection_id"]

# Reasons why the loss of an undirected edge differs from that of one bit of a list.
BOTH_ENDS = "both ends report each edge, so their losses add up"
ONE_END = "one-end reporting: one end reports each edge, so its loss is that of one bit"


class Method:
    """A method: a frozen dataclass with a ``spec``; ``--set key=value`` sets its fields."""

    spec: ClassVar[MethodSpec]
    # Parameter that sets how much is learned of a person, and its symbol in a table; None: that is epsilon.
    budget_parameter: ClassVar[tuple[str, str] | None] = None
    # Option -> the setting with which it is read, of options that are not read by default.
    settings_of_options: ClassVar[Mapping[str, str]] = {}
    needs_volunteers: ClassVar[bool] = False  # whether it asks no reports without volunteers

    def __post_init__(self) -> None:
        """Refuse a parameter outside its range (ValueError)."""
        check_values(self)

    @property
    def features_optional(self) -> bool:
        """Whether it works without reports of features, so that ``--feature-share auto`` is the default."""
        return False

    def effective_spec(self) -> MethodSpec:
        """Return the spec with these parameters."""
        return self.spec

    def check_people(self, facts: PublicFacts) -> None:
        """Raise ValueError for people of one class, or without the features that it needs.

        Only a curator can do without: it has a graph of everybody.
        """
        spec = self.effective_spec()
        graph_read = "adjacency" in (*spec.private, *spec.reads)
        graph_suffices = self.features_optional if "features" in spec.private else graph_read
        if facts.classes < 2:
            raise ValueError(f"{spec.name} needs two classes or more, not {facts.classes}")
        if not facts.d and (spec.trained_by != "curator" or not graph_suffices):
            raise ValueError(f"{spec.name} needs features, and these people have none")

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return what is claimed and what holds for these questions, asked ``collections`` times."""
        raise NotImplementedError

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Method:
        """Return the method with ``key=value`` settings; text is converted to the field's type.

        Raises:
            ValueError: for an unknown key (the message names the nearest ones) or an unfit value.
        """
        # A type is text, or a class if the method's module does not defer annotations.
        kinds = {entry.name: str(getattr(entry.type, "__name__", entry.type))
                 for entry in fields(cls)}  # type: ignore[arg-type]  # fmt: skip
        values = {}
        for key, value in by_field(settings, "--set").items():
            given = paper_name(key)
            if key not in kinds:
                there = sorted(map(paper_name, kinds))
                allowed = ", ".join(there) or "nothing"
                raise SettingError(
                    given, f"{cls.spec.name} has no such parameter{nearest(given, there)} (it has {allowed})"
                )
            values[key] = read_value(given, value, kinds[key])
        return cls(**values)


class GraphMethod(Method):
    """A method whose curator trains on a graph."""

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Train on the graph; a method with a loss of its own overrides this.

        See :func:`ldpsim.curator.learning.training.train` for the arguments and errors.
        """
        from ldpsim.curator.learning.training import train  # torch is only needed from here on

        return train(graph, settings=settings, classes=classes, seed=seed, device=device)

    def rebuilds_graph(self) -> bool:
        """Return whether it estimates edges."""
        return True

    def single_attribute_parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """Return, by attribute, the parameters with which reports are about this attribute alone.

        Beside volunteers, a report about several attributes has null models that ask in this way: the rest was worth
        the difference.
        """
        return {}


class LocalMethod(GraphMethod):
    """A method whose devices report under local differential privacy to an untrusted curator."""

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Return the questions and the devices of each; ValueError for a budget that does not fit.

        They are made once, before the collection's id is known: it stands in the queries alone. They must depend on the
        arguments alone, as an interrupted collection asks for them again. Where later questions follow from earlier
        reports (:meth:`rounds`), these ask the same people with the same losses: they are for accounting.
        """
        raise NotImplementedError

    def rounds(self, public: PublicKnowledge, budget: Budget, planned: Sequence[Question]) -> RoundSteps:
        """Yield the questions of one round after the other, and take the decoded reports of all rounds so far.

        ``planned`` are the method's ``questions``; ``collection_id(planned)`` is that of the collection. A method
        overrides this where later questions follow from earlier reports. A later round has either of two kinds:

        - a later stage of a query that was asked, to the same people, with a public group for every person
          (:func:`ldpsim.curator.reports.question.at_stage`). LDPGen's is an example;
        - questions to people who were not asked about the attribute before. ``spec.in_batches`` says so, and the
          ``questions`` of such a method go to no device.

        The questions must depend on the arguments and the reports alone. Of questions that depend on no report each
        stage is asked, without groups.
        """
        for stage in range(stages_of(planned)):
            yield at_stage(planned, stage)

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return the graph to train on, from the reports and public knowledge alone."""
        raise NotImplementedError

    def list_reporters(self, facts: PublicFacts, split: Split, budget: Budget) -> int:
        """Return how many people report about their list.

        What others report about a person grows with this number. It follows from the lengths of the parts of the split
        alone: a plan for many people has no ids.
        """
        return facts.n

    def claim(self, budget: Budget) -> Claim:
        """Return the paper's statement, and reasons why it and what holds differ."""
        raise NotImplementedError

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return the claim beside what holds."""
        return local_guarantee(
            facts, questions, claim=self.claim(budget), collections=collections,
            public_features=budget.public_features, public_edges=self.effective_spec().public_graph,
            volunteers=budget.volunteers,
        )  # fmt: skip


def of_an_edge(budget: Budget) -> str:
    """Return why an undirected edge loses what it does."""
    return ONE_END if budget.reporting == "one-end" else BOTH_ENDS


def questions_asked(
    method: Method, facts: PublicFacts, split: Split, budget: Budget, collection: str
) -> tuple[Question, ...]:
    """Return the questions of a method; none of one that asks nobody. ValueError for people that it does not fit."""
    method.check_people(facts)
    return method.questions(facts, split, budget, collection) if isinstance(method, LocalMethod) else ()


@contextmanager
def option_in_errors(option: str, amount: float | None, budget: Budget, value: float) -> Iterator[None]:
    """Name the option of a budget that a mechanism refuses.

    Args:
        option: The finer option, ``--eps-adjacency`` for example.
        amount: Its value, None if ``value`` is a share of ``--epsilon``.
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
        typed = f"{option} {amount:g}" if amount is not None else f"--epsilon {budget.epsilon:g}"
        share = "" if amount is not None or value == budget.epsilon else f" (here {value:g} of it for one entry)"
        raise ValueError(f"{typed}{share}: {error}") from None
