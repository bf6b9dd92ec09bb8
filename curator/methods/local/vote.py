"""Vote: one small question, with everything that a person reports inside one epsilon.

The curator publishes a class distribution Q_j of every person: the label of people who have one, and what
public features say of everybody else. Device i with m friends of whom something is known computes a score of each of
the C classes,

    s_c = ln Q_i(c) + D / (D + m - 1) sum over friends j of ln(((1 - h) / C + h Q_j(c)) C),        D = 10,

and takes the largest one among its w candidates, the w classes with the largest Q_i. It reports the place of that class
among them by generalised randomised response with w values, so that epsilon is the loss of all that it has read
(:mod:`ldpsim.devices.mechanisms.neighbourhood_vote`).

The curator estimates the channel M(c, r), the probability of report r from a person of class c, from people whose label
is known. The class of person i with report r_i is the largest one of

    a ln Q_i(c) + b ln M(c, r_i),        a, b >= 0 fitted to known labels

(:mod:`ldpsim.curator.votes.knowledge`). No graph is rebuilt.

- Everything that a person reports is epsilon-LDP, and a friendship costs 2 epsilon: both ends answer. Others
  who list a person report about it too, epsilon each.
- Everybody is asked once. In ``batches`` the later people vote on what the earlier ones have said.
- The table that a labelled person gets does not tell the person's own label.
- Without public features nothing is known of people without a label. "Nobody known among my neighbours" is then one
  more answer, and all classes are candidates.
- With ``--volunteers`` some people give label and features in clear, and answer nothing else. A model that is fitted
  to them goes with the table. Everybody else's device adds what it says of the own features: list and features are
  inside the one epsilon (:mod:`ldpsim.curator.votes.volunteer_questions`). With ``--private-labels`` too, the other
  people who know their label report it in place of the vote, or are the calibration group: they report whether their
  list speaks for their label, so that the others vote by how much friends are alike. The epsilon is the same, and all
  answer once.
- Else private labels are reported first, under noise with ``--eps-labels``; the losses of label and vote add.

Close to it: LPGNet (https://arxiv.org/abs/2205.03105), which adds noise to degrees towards predicted classes, and the
group degrees of LDPGen (Qin et al., CCS 2017, https://doi.org/10.1145/3133956.3134086).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpsim.curator import options as o
from ldpsim.curator.methods.base import (
    Budget,
    Graph,
    LocalMethod,
    MethodSpec,
    Question,
    collection_id,
    of_an_edge,
    option_in_errors,
)
from ldpsim.curator.methods.local.graphs import labelled_graph
from ldpsim.curator.methods.local.label_questions import label_mechanism
from ldpsim.curator.methods.parameters import ABOVE_0, between, one_of, parameter, whole
from ldpsim.curator.privacy.guarantee import Claim
from ldpsim.curator.reports.question import volunteers_of
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rounds import RoundSteps
from ldpsim.curator.setting_error import SettingError
from ldpsim.curator.shown import shown_loss
from ldpsim.curator.votes.knowledge import VotePosterior, knowledge, people_of_batch
from ldpsim.curator.votes.volunteer_knowledge import VolunteerKnowledge, volunteer_knowledge
from ldpsim.curator.votes.volunteer_questions import EVIDENCE, VolunteerQuestions
from ldpsim.devices.array_types import DoubleArray, IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import NeighbourhoodVote
from ldpsim.devices.mechanisms.score_rows import STEPS_PER_NAT
from ldpsim.devices.mechanisms.score_table import MOST_CLASSES, MOST_PAIRED, MOST_SATURATION
from ldpsim.devices.query import Ask, Query

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings

MOST_BATCHES = 16
OF_VOLUNTEERS = 6  # batches beside volunteers, where nothing is known of anybody else before the first answers
FEW_LABELS = 0.3  # share of training people
MANY = "others who list a person vote on it too: the row 'node' counts all of them"


@dataclass(frozen=True, eq=False)
class VotedGraph(Graph):
    """A graph without edges or features, and what the votes tell."""

    knowledge: VotePosterior | VolunteerKnowledge = field(kw_only=True, repr=False)


@dataclass(frozen=True)
class Vote(LocalMethod):
    """Vote.

    Args:
        candidates: Number of candidates, the likeliest classes of a person; 0 for :func:`candidates_at`, and for all
            classes without public features.
        homophily: h, the probability that a friend is of one's own class beyond chance, in [0, 1). It is assumed where
            nothing is known: a calibration group replaces it.
        batches: Number of batches; 0 for :meth:`Vote.batches_of`, which depends on what is public.
        evidence: What an answer is about beside ``--volunteers``: ``both``, the own ``features``, or the ``list``.

    Raises:
        ValueError: for a parameter outside its range.

    >>> Vote(batches=3).homophily
    0.8
    """

    candidates: int = parameter(0, whole(0, MOST_CLASSES), volunteers=(None,))
    homophily: float = parameter(0.8, between(0, 1))
    batches: int = parameter(0, whole(0, MOST_BATCHES))
    evidence: str = parameter("both", one_of(*EVIDENCE), volunteers=ABOVE_0)

    spec = MethodSpec(
        name="vote", paper="this project: one vote of each neighbourhood", private=("adjacency",),
        mechanisms=("neighbourhood_vote", "grr"), in_batches=True,
        trains_network=False, learns_from_validation=True, asks_volunteers=True,
        # nothing to choose
        search_grid=({},),
        options=o.SPLIT | o.REPORTS | o.NETWORK | o.LABELS | {"epsilon", "public_features", "reporting"},
        finer=("eps_adjacency",),
    )  # fmt: skip

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Return questions for accounting.

        Their table is made up: it has as many different rows as a real one, each for one class, so bytes are those of
        the real question. A change of the list changes the answer, so losses are those of the real question too.
        """
        self._check(facts, budget)
        if budget.volunteers:
            with option_in_errors("--eps-adjacency", budget.eps_adjacency, budget, self._epsilon(budget)):
                return self._of_volunteers(split, facts, budget, collection).for_accounts(facts, split)
        shade, place = np.divmod(np.arange(facts.n), facts.classes)
        rows = np.exp(-10 - (shade % (MOST_PAIRED // facts.classes + 1)) / STEPS_PER_NAT)[:, None] * np.ones(
            facts.classes
        )
        rows[np.arange(facts.n), place] = 1.0
        batches = np.array_split(np.arange(facts.n), self.batches_of(split, facts, budget))
        votes = [self._question(rows, facts, budget, collection, people) for people in batches if len(people)]
        return (*votes, *self._labels(facts, split, budget, collection))

    def rounds(self, public: PublicKnowledge, budget: Budget, planned: Sequence[Question]) -> RoundSteps:
        """Yield the question for private labels first, then the votes of one batch after the other."""
        facts, split, collection = public.facts, public.split, collection_id(planned)
        self._check(facts, budget)
        if budget.volunteers:
            yield from self._of_volunteers(split, facts, budget, collection).rounds(public)
            return
        reports, recipients = None, np.zeros(facts.n, np.bool_)
        if budget.private_labels:
            reports = yield self._labels(facts, split, budget, collection)
        batches = self.batches_of(split, facts, budget)
        for number in range(batches):
            so_far = knowledge(reports, public)
            log_p, _ = so_far.posterior(split.labelled)
            folds = people_of_batch(split, log_p.max(axis=1), recipients, batches=batches, number=number)
            reports = yield tuple(
                self._question(_rows(public, so_far, np.exp(log_p), people), facts, budget, collection, people)
                for people in folds if len(people)
            )  # fmt: skip
            recipients = reports.recipients["adjacency"]

    def list_reporters(self, facts: PublicFacts, split: Split, budget: Budget) -> int:
        """As :meth:`~ldpsim.curator.methods.base.LocalMethod.list_reporters`; volunteers do not report theirs."""
        if not budget.volunteers:
            return facts.n
        return self._of_volunteers(split, facts, budget, "").list_reporters(facts, split)

    def batches_of(self, split: Split, facts: PublicFacts, budget: Budget) -> int:
        """Return the number of batches: 3 where little is known of most people, else 1 (measured)."""
        little = not budget.public_features or len(split.train) < FEW_LABELS * facts.n
        if budget.volunteers:
            return self.batches or (3 if budget.private_labels else OF_VOLUNTEERS)
        # somebody without a label ends each batch
        return max(1, min(self.batches or (3 if little else 1), facts.n - len(split.labelled)))

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return a graph without edges or features, with the components of the pool."""
        nothing, no_edges = np.zeros((reports.facts.n, 0), np.float32), np.zeros((2, 0), np.int64)
        graph = labelled_graph(nothing, no_edges, None, {"edges": 0}, reports, public)
        if len(volunteers_of(reports.questions())):
            knowledge_so_far = volunteer_knowledge(reports, public, self.evidence, self.homophily)
            return VotedGraph(**vars(graph), knowledge=knowledge_so_far)
        return VotedGraph(**vars(graph), knowledge=knowledge(reports, public))

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Fit the exponents of the pool on the labels that the curator has; nothing is drawn at random."""
        import torch

        from ldpsim.curator.learning.training import NO_LABEL, TrainedNetwork

        assert isinstance(graph, VotedGraph)
        started = time.perf_counter()
        if not len(graph.train):
            raise ValueError(NO_LABEL)
        log_p, exponents = graph.knowledge.posterior(np.sort(np.concatenate([graph.train, graph.val])))
        model = torch.nn.Module()
        for name, value in exponents.items():
            model.register_buffer(name, torch.tensor(value, dtype=torch.float64))
        predictions = log_p.argmax(axis=1).astype(np.int64)
        right = predictions[graph.val] == graph.labels[graph.val]
        accuracy = float(right.mean()) if len(right) else float("nan")
        return TrainedNetwork(model, predictions, 1, accuracy, time.perf_counter() - started, log_p)

    def rebuilds_graph(self) -> bool:
        """As :meth:`~ldpsim.curator.methods.base.GraphMethod.rebuilds_graph`; votes name no neighbour."""
        return False

    def single_attribute_parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """As :meth:`~ldpsim.curator.methods.base.GraphMethod.single_attribute_parameters`.

        ``evidence`` leaves the list or the features out.
        """
        return {"features": {"evidence": "features"}, "adjacency": {"evidence": "list"}}

    def claim(self, budget: Budget) -> Claim:
        """Return the claim: all that a person reports."""
        epsilon, labels = self._epsilon(budget), budget.eps_labels if budget.private_labels else None
        of, total = "a person reports", epsilon
        if budget.volunteers:
            of = "an ordinary person reports"
        elif labels is not None:
            of, total = f"{of}, vote and label", epsilon + labels
        statement = f"epsilon-LDP of all that {of}, epsilon = {shown_loss(total)}"
        return Claim(statement, total, (of_an_edge(budget), MANY))

    def _of_volunteers(
        self, split: Split, facts: PublicFacts, budget: Budget, collection: str
    ) -> VolunteerQuestions:  # fmt: skip
        return VolunteerQuestions(
            collection, self._epsilon(budget), self.homophily, self.evidence, budget.reporting,
            self.batches_of(split, facts, budget), budget.private_labels,
        )  # fmt: skip

    def _check(self, facts: PublicFacts, budget: Budget) -> None:
        if self.candidates and not 2 <= self.candidates <= facts.classes:
            raise SettingError(f"candidates={self.candidates}", f"must be 2..{facts.classes}, the number of classes")
        if budget.volunteers and not facts.d:
            raise ValueError("--volunteers: these people have no features, so that volunteers' features teach nothing")
        if budget.private_labels and budget.eps_labels is None and not budget.volunteers:
            raise ValueError(
                f"--eps-labels is needed: labels are private, and {self.spec.name}'s epsilon has no share for them"
            )

    def _epsilon(self, budget: Budget) -> float:
        return budget.eps_adjacency or budget.epsilon

    def _labels(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        if not budget.private_labels:
            return ()
        assert budget.eps_labels is not None
        truth = label_mechanism(budget, budget.eps_labels, facts)
        return (Question(Query(collection, ((Ask("label", (truth,)),),)), split.labelled),)

    def _question(
        self, rows: DoubleArray, facts: PublicFacts, budget: Budget, collection: str, people: IntArray
    ) -> Question:
        epsilon, classes = self._epsilon(budget), facts.classes
        width = self.candidates or (candidates_at(epsilon, classes) if budget.public_features else classes)
        with option_in_errors("--eps-adjacency", budget.eps_adjacency, budget, epsilon):
            vote = NeighbourhoodVote.from_probabilities(
                rows, epsilon, candidates=width, unseen=not budget.public_features, homophily=self.homophily,
                reporting=budget.reporting, saturation=MOST_SATURATION,  # measured: labels are known, friends add up
            )  # fmt: skip
        return Question(Query(collection, ((Ask("adjacency", (vote,)),),)), people)


def candidates_at(epsilon: float, classes: int) -> int:
    """Return the most candidates with which GRR tells the truth in 7 of 8 cases, at least 2.

    With all classes as candidates, votes of people whose friends are of other classes can be read as well.

    >>> [candidates_at(epsilon, 7) for epsilon in (1, 2, 3, 4, 8)]
    [2, 2, 3, 7, 7]
    """
    return min(classes, max(2, 1 + int(math.exp(min(epsilon, 700.0)) / 7)))


def _rows(public: PublicKnowledge, posterior: VotePosterior, probability: DoubleArray, people: IntArray) -> DoubleArray:
    """float64 (n, classes): the published table for these people; their own rows tell nothing of their labels."""
    rows = np.array(probability)
    if public.features is None:
        rows[~posterior.voted] = 0  # nothing is known of these people
    labelled = np.setdiff1d(public.split.labelled, people)
    labelled = labelled[(posterior.label_rows[labelled] > 0).any(axis=1)]
    rows[labelled] = posterior.label_rows[labelled]
    return rows
