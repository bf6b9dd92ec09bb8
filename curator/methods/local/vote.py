"""Vote: one small question, with everything that a person reports inside one epsilon.

The curator publishes a class distribution Q_j of every person: the label of training people, and what
public features say of everybody else. A device computes from its own neighbour list N_i the class that its
neighbours speak for, and reports its place among a few candidates by generalised randomised response
(:mod:`ldpsim.devices.mechanisms.neighbourhood_vote`):

    s_c = ln Q_i(c) + sum over j in N_i of ln((1 - h) / C + h Q_j(c))

The curator learns the law M of a report given the class from people whose label is known, and pools
ln Q_i with ln M (:mod:`ldpsim.curator.votes.law`, :mod:`ldpsim.curator.votes.knowledge`). No graph is rebuilt.

- Everything that a person reports is epsilon-LDP, and a relationship costs 2 epsilon: both ends answer. Others
  who list a person report about it too, epsilon each.
- Everybody is asked once. In ``batches`` the later people vote on what the earlier ones have said.
- The table that a labelled person gets does not tell the person's own label. With ``told=labelled`` it has the labels
  of validation people too, dealt to folds as training people are.
- Without public features nothing is known of people without a label. "Nobody known among my neighbours" is then one
  more answer, and all classes are candidates.
- With ``--volunteers`` some people give label and features in clear, and answer nothing else. A model that is fitted
  to them goes with the table. Everybody else's device adds what it says of the own features
  (:mod:`ldpsim.devices.mechanisms.own_features_vote`): list and features are inside the one epsilon
  (:mod:`ldpsim.curator.votes.volunteered`). With ``--private-labels`` too, the other people who know their label answer
  it in place of the vote, or are witnesses of how often votes are right. The epsilon is the same, and all answer once.
- Else private labels are reported first, under noise with ``--eps-labels``; the losses of label and vote add.

Close to it: LPGNet (https://arxiv.org/abs/2205.03105), which adds noise to degrees towards predicted classes, and the
group degrees of LDPGen (Qin et al., CCS 2017, https://doi.org/10.1145/3133956.3134086).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ldpsim.curator import options as o
from ldpsim.curator.methods.base import (
    BOTH_ENDS,
    ONE_END,
    Budget,
    Graph,
    LocalMethod,
    MethodSpec,
    Question,
    require_reports,
    spending,
)
from ldpsim.curator.methods.local.links import label_mechanism, labelled_graph
from ldpsim.curator.methods.parameters import ABOVE_0, check_choices, check_range, parameter
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.reports.question import volunteers_of
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.setting_error import SettingError
from ldpsim.curator.shown import shown_loss
from ldpsim.curator.votes.affinity import first_people, without_people
from ldpsim.curator.votes.design import MEASURES, all_classes, designed_widths
from ldpsim.curator.votes.knowledge import VoteEvidence, affinity_from_votes, batches_so_far, class_posterior, knowledge
from ldpsim.curator.votes.own_questions import EVIDENCE, OwnQuestions, agreement_of
from ldpsim.curator.votes.rounds import LABELLED, TRAINING, people_of_batch, told_split
from ldpsim.curator.votes.volunteered import volunteered
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import NeighbourhoodVote
from ldpsim.devices.mechanisms.class_table import FORMS
from ldpsim.devices.query import Ask, Query

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings
    from ldpsim.curator.votes.fitted import Known

MOST_BATCHES = 16
OF_VOLUNTEERS = 6  # batches beside volunteers, where nothing is known of anybody else before the first answers
FEW_LABELS = 0.3  # share of training people
CHOICES = ("auto", *MEASURES)
MANY = "others who list a person vote on it too: the row 'node' counts all of them"


@dataclass(frozen=True, eq=False)
class VotedGraph(Graph):
    """A graph without edges or features, and what the votes tell."""

    known: Known = field(kw_only=True, repr=False)


@dataclass(frozen=True)
class Vote(LocalMethod):
    """Vote.

    Args:
        candidates: Number of candidates: one for everybody, or of each person by ``hits`` or ``information``
            (:mod:`ldpsim.curator.votes.design`). ``auto`` is ``hits``, and all classes without features or where
            GRR over them tells the truth often.
        homophily: h, the share of neighbours that are of one's own class beyond chance, in [0, 1).
        batches: Number of batches; 0 for :meth:`Vote.batches_of`, which depends on what is public.
        affinity: ``asked``: a quarter of the labelled people say first of which class most of their neighbours are, and
            the others vote with the affinity between classes that follows, unless h fits as well
            (:mod:`ldpsim.curator.votes.affinity`). ``homophily``: h for everybody.
        table: Form of the published table: ``full`` distributions, or the ``codes`` of at most 255 distributions.
            Beside ``--volunteers`` the distributions of ``full`` are few, and go as codes: the rows are the same.
        told: Whose labels stand in the published table: those of ``training`` people, or of all ``labelled`` ones.
        evidence: What an answer is about beside ``--volunteers``: ``both``, the own ``features``, or the ``list``.

    Raises:
        ValueError: for a parameter outside its range.

    >>> Vote(batches=3).homophily
    0.8
    """

    candidates: str = parameter("auto", volunteers=(None,))
    homophily: float = 0.8
    batches: int = 0
    affinity: str = parameter("asked", volunteers=(None,))
    table: str = "full"
    told: str = parameter(TRAINING, hashed="unless default", volunteers=(None,))
    evidence: str = parameter("both", hashed="unless default", volunteers=ABOVE_0)

    spec = MethodSpec(
        name="vote", paper="this project: one vote of each neighbourhood", private=("adjacency",),
        mechanisms=("neighbourhood_vote", "own_features_vote", "grr"), in_batches=True,
        rebuilds_graph=False, trains_network=False, learns_from_validation=True,
        halves={"features": {"evidence": "features"}, "adjacency": {"evidence": "list"}}, asks_volunteers=True,
        # nothing to choose
        search_grid=({},), query_grid={"candidates": ("2", "3", "4"), "homophily": (0.5, 0.8), "batches": (1, 2, 4)},
        options=o.SPLIT | o.REPORTS | o.NETWORK | o.LABELS | {"epsilon", "public_features", "reporting"},
        finer=("eps_adjacency",),
    )  # fmt: skip

    hashed_before: ClassVar[dict[str, Any]] = {"slope": 0.0}  # a parameter that left, as all hashes have it

    def __post_init__(self) -> None:
        check_choices(self, table=FORMS, affinity=("asked", "homophily"), told=(TRAINING, LABELLED), evidence=EVIDENCE)
        check_range(self, "batches", least=0, most=MOST_BATCHES)
        if not 0 <= self.homophily < 1:
            raise SettingError(f"homophily={self.homophily:g}", "must be 0 or more and below 1")
        if self.candidates not in CHOICES and not (self.candidates.isascii() and self.candidates.isdigit()):
            raise SettingError(f"candidates={self.candidates}", f"must be {', '.join(CHOICES)} or a whole number")

    def questions(
        self, facts: PublicFacts, split: Split, budget: Budget, collection: str,
        so_far: tuple[PublicKnowledge, Reports | None] | None = None,
    ) -> tuple[Question, ...]:  # fmt: skip
        """Ask for private labels first, then for the votes of one batch after the other.

        Questions for accounting have a table that knows nobody: its rows are the classes in turn. So a change of the
        list changes the answer, and the losses are attained.
        """
        self._check(facts, budget)
        if so_far is None:
            return self._for_accounts(facts, split, budget, collection)
        return self._next(*so_far, budget, collection)

    def _for_accounts(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        if budget.volunteers:
            with spending("--eps-adjacency", budget.eps_adjacency, budget, self._epsilon(budget)):
                return self._own(split, facts, budget, collection).for_accounts(facts, split)
        rows = np.eye(facts.classes)[np.arange(facts.n) % facts.classes]
        first = self._first(split, facts, budget)
        batches = np.array_split(np.setdiff1d(np.arange(facts.n), first), self.batches_of(split, facts, budget))
        votes = [self._question(rows, facts, budget, collection, people) for people in batches if len(people)]
        if len(first):
            votes.append(self._question(rows, facts, budget, collection, first, first=True))
        return (*votes, *self._labels(facts, split, budget, collection))

    def _next(
        self, public: PublicKnowledge, earlier: Reports | None, budget: Budget, collection: str
    ) -> tuple[Question, ...]:
        facts, split = public.facts, public.split
        if budget.volunteers:
            return self._own(split, facts, budget, collection).next(public, earlier)
        if budget.private_labels and earlier is None:
            return self._labels(facts, split, budget, collection)
        asked = np.zeros(facts.n, np.bool_)
        if earlier is not None:
            asked |= earlier.asked.get("adjacency", False)
        if asked.all():
            return ()
        dealt = told_split(split, self.told)
        known = knowledge(earlier, public, dealt)
        log_p, _ = class_posterior(known, split.labelled)
        first = self._first(split, facts, budget)
        if len(first) and not asked.any():
            rows = self._rows(public, known, np.exp(log_p), first)
            return (self._question(rows, facts, budget, collection, first, first=True),)
        affinity = affinity_from_votes(earlier, known) if len(first) and earlier is not None else None
        number = 0 if earlier is None else batches_so_far(earlier, dealt)
        batches, left = self.batches_of(split, facts, budget), without_people(dealt, first)
        folds, others = people_of_batch(left, log_p.max(axis=1), asked, batches=batches, number=number)
        return tuple(
            self._question(
                self._rows(public, known, np.exp(log_p), people), facts, budget, collection, people, affinity
            )
            for people in (*folds, others) if len(people)
        )  # fmt: skip

    def batches_of(self, split: Split, facts: PublicFacts, budget: Budget) -> int:
        """Return the number of batches: 3 where little is known of most people, else 1 (measured)."""
        little = not budget.public_features or len(split.train) < FEW_LABELS * facts.n
        nothing = budget.volunteers and not budget.private_labels
        found = self.batches or (OF_VOLUNTEERS if nothing else 3 if little else 1)
        if self.told == TRAINING:
            return found
        return max(1, min(found, facts.n - len(split.labelled)))  # somebody without a label ends each of these batches

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return a graph without edges or features, with the components of the pool."""
        require_reports(reports, self.spec.name)
        nothing, no_edges = np.zeros((reports.facts.n, 0), np.float32), np.zeros((2, 0), np.int64)
        graph = labelled_graph(nothing, no_edges, None, {"edges": 0}, reports, public)
        if len(volunteers_of(reports.questions())):
            agreement = agreement_of(self.evidence, self.homophily)
            return VotedGraph(**vars(graph), known=volunteered(reports, public, agreement))
        return VotedGraph(**vars(graph), known=knowledge(reports, public, told_split(public.split, self.told)))

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Fit the exponents of the pool on the labels that the curator has; nothing is drawn at random."""
        from ldpsim.curator.votes.fitted import fitted

        assert isinstance(graph, VotedGraph)
        return fitted(graph, graph.known)

    def claim(self, budget: Budget) -> Claim:
        """Return the claim: all that a person reports."""
        epsilon, labels = self._epsilon(budget), budget.eps_labels if budget.private_labels else None
        of, total = "a person reports", epsilon
        if budget.volunteers:
            of = "an ordinary person reports"
        elif labels is not None:
            of, total = f"{of}, vote and label", epsilon + labels
        return Claim(f"epsilon-LDP of all that {of}, epsilon = {shown_loss(total)}", total)

    def reasons(self, budget: Budget) -> tuple[str, ...]:
        """As :meth:`LocalMethod.reasons`, and the votes of others."""
        return (ONE_END if budget.reporting == "one-end" else BOTH_ENDS, MANY)

    def _own(self, split: Split, facts: PublicFacts, budget: Budget, collection: str) -> OwnQuestions:
        epsilon, batches = self._epsilon(budget), self.batches_of(split, facts, budget)
        form = "codes" if self.table == "full" else self.table
        given = self.homophily, self.evidence, form, budget.reporting, batches, budget.private_labels
        return OwnQuestions(collection, epsilon, *given)

    def _check(self, facts: PublicFacts, budget: Budget) -> None:
        if facts.classes < 2:
            raise ValueError(f"vote needs two classes or more, not {facts.classes}")
        if self.candidates not in CHOICES and not 2 <= int(self.candidates) <= facts.classes:
            raise SettingError(f"candidates={self.candidates}", f"must be 2..{facts.classes}, the number of classes")
        if budget.volunteers and not facts.d:
            raise ValueError("--volunteers: these people have no features, so that volunteers' features teach nothing")
        if budget.private_labels and budget.eps_labels is None and not budget.volunteers:
            raise ValueError(f"--private-labels needs --eps-labels: {self.spec.name}'s epsilon has no share for labels")

    def _first(self, split: Split, facts: PublicFacts, budget: Budget) -> IntArray:
        """Return the people who are asked for the affinity."""
        if self.affinity == "homophily":
            return np.zeros(0, np.int64)
        return first_people(split, facts.classes, self._epsilon(budget))

    def _epsilon(self, budget: Budget) -> float:
        return budget.eps_adjacency or budget.epsilon

    def _labels(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        if not budget.private_labels:
            return ()
        assert budget.eps_labels is not None
        truth = label_mechanism(budget, budget.eps_labels, facts)
        return (Question(Query(collection, ((Ask("label", (truth,)),),)), split.labelled),)

    def _question(
        self, rows: DoubleArray, facts: PublicFacts, budget: Budget, collection: str, people: IntArray,
        affinity: DoubleArray | None = None, *, first: bool = False,
    ) -> Question:  # fmt: skip
        epsilon, features = self._epsilon(budget), budget.public_features
        width: int | IntArray = facts.classes
        measure = self.candidates
        if measure == "auto" and features and not all_classes(epsilon, facts.classes):
            measure = "hits"
        if first:
            pass
        elif measure in MEASURES:
            width = designed_widths(np.asarray(rows, np.float64), epsilon, measure)
        elif measure != "auto":
            width = int(measure)
        with spending("--eps-adjacency", budget.eps_adjacency, budget, epsilon):
            vote = NeighbourhoodVote.from_probabilities(
                rows, epsilon, candidates=width, unseen=not features, own=not first, form=self.table,
                homophily=self.homophily if affinity is None else None, affinity=affinity, reporting=budget.reporting,
            )  # fmt: skip
        return Question(Query(collection, ((Ask("adjacency", (vote,)),),)), people)

    def _rows(
        self, public: PublicKnowledge, known: VoteEvidence, probability: DoubleArray, people: IntArray
    ) -> DoubleArray:  # fmt: skip
        """float64 (n, classes): the published table for these people; their own rows tell nothing of their labels."""
        rows = np.array(probability)
        if public.features is None:
            rows[~known.voted] = 0  # nothing is known of these people
        train = told_split(public.split, self.told).train
        told = train[(known.told[train] > 0).any(axis=1) & ~np.isin(train, people)]
        rows[told] = known.told[told]
        return rows
