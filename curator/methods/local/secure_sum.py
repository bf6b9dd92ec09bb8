"""A secure sum: everybody who knows her label adds one clipped vector to a sum, and the curator sees the sum alone.

Volunteers give label and features in clear, once, and answer nothing else. The class shares pi and, for features that
are numbers, a length follow from them and are public. Everybody else who knows her label contributes once: the clipped
u (e_y - pi)^T of her features and label, under a share of noise (:mod:`ldpsim.devices.mechanisms.sum_share`). A device
that knows no label contributes noise alone. **A party that adds is trusted**: it sees every contribution and shows
their sum (:class:`ldpsim.devices.mechanisms.stacked_reports.Adder`). It is an ideal one, as in the papers on secure
aggregation; no cryptography is simulated.

Who answers is unknown when noise is drawn. So each share is sized for the least number h of honest contributors that is
stated (``honest``): with h or more of them, who neither drop out nor tell their noise, the sum is
(epsilon, delta)-private when one person's features and label are replaced. The result has the epsilon at h, and at 10,
30 and 50 % fewer. Nothing counts the list: one friendship would move two contributions.

The curator mixes the linear model of the sum with that of the volunteers (:mod:`ldpsim.curator.sum_model`). Devices
evaluate it on their own features, and know the volunteers among their friends. Of a single person the curator learns
nothing, so that its own figure is that of the largest class.

Close to it: O-pFGL (https://arxiv.org/abs/2411.11304), statistics of classes under secure aggregation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ldpsim.curator import options as o
from ldpsim.curator.additive_noise import GAUSSIAN, AdditiveNoise
from ldpsim.curator.linear.scaling import is_text
from ldpsim.curator.methods.base import Budget, Graph, LocalMethod, MethodSpec, Question, collection_id
from ldpsim.curator.methods.local.graphs import labelled_graph
from ldpsim.curator.methods.parameters import FRACTION, between, parameter
from ldpsim.curator.owner.privacy.account import small_delta
from ldpsim.curator.privacy.guarantee import Claim, Guarantee
from ldpsim.curator.privacy.honest import REASON, HonestContributors
from ldpsim.curator.privacy.level import VOLUNTEERS, Level
from ldpsim.curator.privacy.levels import by_attribute
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rounds import RoundSteps
from ldpsim.curator.setting_error import SettingError
from ldpsim.curator.shown import shown_loss
from ldpsim.curator.sum_model import NoisySum
from ldpsim.devices.array_types import DoubleArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import ClearFeatures, ClearLabel, SumShare
from ldpsim.devices.mechanisms.sum_share import in_unit_range
from ldpsim.devices.query import Ask, Query

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings

_CHANGED = {"bit_feature": "feature", "vector": "features", "label": "label"}  # of a person, by level


@dataclass(frozen=True, eq=False)
class SummedGraph(Graph):
    """A graph without edges or features, and the class shares by the sum."""

    shares: DoubleArray = field(kw_only=True, repr=False)


@dataclass(frozen=True)
class SecureSum(LocalMethod):
    """Secure sum.

    Args:
        honest: Share of the people who are asked for a contribution for whom epsilon is stated: h is this share.
        delta: Delta of the guarantee; 0: the largest power of ten below 1 / n.

    Raises:
        ValueError: for a parameter outside its range.
    """

    honest: float = parameter(0.9, FRACTION)
    delta: float = parameter(0.0, between(0, 1))

    spec = MethodSpec(
        name="secure-sum", paper="this project: one contribution to a sum under noise", trusts="sum",
        private=("features", "label"), mechanisms=("sum_share",), in_batches=True,
        trains_network=False, learns_from_validation=True, asks_volunteers=True,
        search_grid=({},),
        options=o.SPLIT | (o.REPORTS - {"defence", "false_alarm"}) | o.NETWORK | {"epsilon"},
    )  # fmt: skip
    needs_volunteers = True

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        """Return questions for accounting: to volunteers, and about a contribution with equal shares of the classes."""
        if not budget.volunteers:
            raise ValueError("--volunteers is needed: secure-sum takes the shares of the classes from volunteers")
        if not len(split.ordinary):
            raise ValueError("--volunteers: nobody else knows a label, so that there is nothing to add")
        share = self._share(facts, budget, len(split.ordinary), np.ones(facts.classes), words=True, radius=1.0)
        return self._in_clear(facts, split, collection), self._contributions(share, split, collection, part=1)

    def rounds(self, public: PublicKnowledge, budget: Budget, planned: Sequence[Question]) -> RoundSteps:
        """Yield the question to volunteers, and then that about a contribution, which follows from their records."""
        facts, split, collection = public.facts, public.split, collection_id(planned)
        reports = yield (self._in_clear(facts, split, collection),)
        people = split.labelled[reports.needed("labels")[split.labelled] >= 0]
        rows = reports.needed("features")[people]
        counts = np.bincount(reports.needed("labels")[people], minlength=facts.classes).astype(np.float64) + 1
        words, radius = is_text(rows), 1.0
        if not words:  # the longest volunteer
            lengths = np.linalg.norm(in_unit_range(rows.toarray(), facts.feature_low, facts.feature_high), axis=1)
            radius = max(1e-6, float(lengths.max(initial=0)))
        share = self._share(facts, budget, len(split.ordinary), counts, words=words, radius=radius)
        yield (self._contributions(share, split, collection, part=0),)

    def rebuilds_graph(self) -> bool:
        """As :meth:`~ldpsim.curator.methods.base.GraphMethod.rebuilds_graph`; a sum names no neighbour."""
        return False

    def reconstruct(self, reports: Reports, public: PublicKnowledge) -> Graph:
        """Return a graph without edges or features, with the class shares."""
        nothing, no_edges = np.zeros((reports.facts.n, 0), np.float32), np.zeros((2, 0), np.int64)
        graph = labelled_graph(nothing, no_edges, None, {"edges": 0}, reports, public)
        noisy = NoisySum.of(reports)
        if noisy is None:
            raise ValueError("nobody contributed to the sum")
        return SummedGraph(**vars(graph), shares=noisy.shares)

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Name the largest class for everybody: the curator knows nothing of one person."""
        import torch

        from ldpsim.curator.learning.training import TrainedNetwork

        assert isinstance(graph, SummedGraph)
        started = time.perf_counter()
        model = torch.nn.Module()
        model.register_buffer("shares", torch.tensor(graph.shares, dtype=torch.float64))
        log_p = np.tile(np.log(graph.shares), (graph.features.shape[0], 1))
        predictions = log_p.argmax(axis=1).astype(np.int64)
        right = predictions[graph.val] == graph.labels[graph.val]
        accuracy = float(right.mean()) if len(right) else float("nan")
        return TrainedNetwork(model, predictions, 1, accuracy, time.perf_counter() - started, log_p)

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        """Return what holds towards the curator, who sees sums; the party that adds sees every contribution."""
        shares = [mechanism for question in questions for stage in question.query.plan for ask in stage
                  for mechanism in ask.mechanisms if isinstance(mechanism, SumShare)]  # fmt: skip
        rounds = collections * max(1, len(shares))
        share = min(shares, key=lambda each: each.sum_deviation(each.honest) / each.shift())
        at = epsilons(share, rounds=rounds)
        record = Level("bounded", at.epsilon, share.delta, kind="bound", counted=("features", "label"),
                       not_counted=(VOLUNTEERS,), reason=REASON + "in clear", figures=at.figures)  # fmt: skip
        levels = by_attribute(
            {"adjacency": Level("not asked"), "features": record, "label": record}, several=record,
            owned=Level("not asked", reason="nobody's raw data reach the curator"),
        )  # fmt: skip
        for level, changed in _CHANGED.items():
            value = epsilons(share, changed, rounds=rounds).epsilon
            levels[level] = Level("bounded", value, share.delta, kind="bound", not_counted=(VOLUNTEERS,))
        reasons = (
            "a person's features and label are replaced by other ones, or by none; her noise stays in the sum",
            at.sentence,
            "the party that adds is trusted: it sees every contribution, and a device's ledger has it as in clear",
            "figures are those of Gaussian noise in real numbers; shares are rounded to a grid, and their sum is not "
            "exactly Gaussian",
            "volunteers give label and features in clear: nothing protects theirs, and their list is not asked",
        )
        statement = f"({shown_loss(budget.epsilon)}, {share.delta:g})-DP of the sum, for one contribution"
        return Guarantee("untrusted curator", Claim(statement, budget.epsilon), levels, reasons).over(collections)

    def gaussian_composition(self, facts: PublicFacts, budget: Budget) -> dict[str, tuple[float, float, int]]:
        """(shift, sigma, times) of the sum of half of the people's contributions, by level; a shift is the unit."""
        share = self._share(facts, budget, max(1, facts.n // 2), np.ones(facts.classes), words=True, radius=1.0)
        changed = {**_CHANGED, "user": "record", "node": "record"}
        sigma = share.sum_deviation(share.honest)
        return {level: (1.0, sigma / share.shift(part), 1) for level, part in changed.items()}

    def _share(
        self, facts: PublicFacts, budget: Budget, asked: int, counts: DoubleArray, *, words: bool, radius: float
    ) -> SumShare:
        delta = self.delta or small_delta(facts.n)
        if delta * facts.n >= 1:
            raise SettingError(f"delta={delta:g}", f"must be below 1 / {facts.n:,} people")
        return SumShare.from_epsilon(
            budget.epsilon, delta=delta, honest=max(1, math.floor(self.honest * asked)), d=facts.d,
            low=facts.feature_low, high=facts.feature_high, words=words, radius=radius, shares=counts,
        )  # fmt: skip

    def _in_clear(self, facts: PublicFacts, split: Split, collection: str) -> Question:
        features = ClearFeatures(facts.d, facts.feature_low, facts.feature_high)
        asks = (Ask("features", (features,)), Ask("label", (ClearLabel(facts.classes),)))
        return Question(Query(collection, (asks,)), split.labelled)

    def _contributions(self, share: SumShare, split: Split, collection: str, *, part: int) -> Question:
        return Question(Query(collection, ((Ask("features", (share,)),),)), split.ordinary, part=part)


def epsilons(share: SumShare, changed: str = "record", *, rounds: int = 1) -> HonestContributors:
    """Return the epsilon of a sum by the number of honest contributors.

    Args:
        share: The mechanism of a share.
        changed: What of a person changes (``SumShare.distances``).
        rounds: Number of sums, each under fresh noise.
    """

    def epsilon(honest: int) -> float:
        scale = share.sum_deviation(honest) / share.shift(changed)
        return AdditiveNoise(distribution=GAUSSIAN, scale=scale, rounds=rounds).epsilon(share.delta)

    return HonestContributors.of(share.honest, epsilon)
