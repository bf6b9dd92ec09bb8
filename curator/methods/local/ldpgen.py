"""LDPGen: a synthetic graph from degrees towards groups (Qin et al., CCS 2017, https://doi.org/10.1145/3133956.3134086).

It is used as in Blink's comparison. Two stages, each with half of epsilon (``first_share``):

    stage 0  d~_ib = |N(i) in group b| + discrete Laplace noise for eps_0, (n, k0): each person is in one of
             k0 = 2 random public groups b
    between  the curator groups the people by k-means on the rows d~_i
    stage 1  d~_ib = |N(i) in group b| + discrete Laplace noise for eps_1, (n, k1), for the k1 new groups

The curator then draws a graph from Chung and Lu's model between the groups (:mod:`ldpsim.curator.links.block_model`):
with D_ab the sum of d~_ib over i in a, and M_ab expected edges between a and b, i in a and j in b have a link with

    p_ij = 1 - exp(-M_ab d~_ib d~_ja / (D_ab D_ba)).

Loss. One bit of a list changes one count of each stage by 1, for every grouping: eps_0 and
eps_1. The grouping of stage 1 is a function of stage 0's reports y_0, so the likelihood of a
person's two reports is Pr[y_0 | x] Pr[y_1 | x, grouping(y_0)], and its ratio for two lists
is at most e^(eps_0) e^(eps_1). Both factors are attained together, as the noise of stage 1 is
fresh and its largest ratio is eps_1 under every grouping. Hence, exactly: a bit loses eps_0 +
eps_1, a list (n - 1) times that, and an undirected edge twice that, as both ends report it.

Differences from the paper and the published comparison:

- The paper computes k1 from the data. Here it is fixed beforehand (k1 = 2): the devices agree to
  the whole query first, and more groups bring more noise.
- In the comparison's graph a link's probability depends on one end's degree; LDPGen's model has
  both (``graph="one-sided"``, :mod:`ldpsim.curator.links.directed_groups`). Its graph therefore holds
  no information on who is linked to whom, and the published figures are the same at every
  epsilon (Cora 34.5). ``graph="sampled"``, the default, is LDPGen's own.
- The vector of a silent device is estimated by the others' mean.

The curator's random seed is a hash of the reports: the same reports give the same graph.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.links.block_model import BlockModel
from ldpsim.curator.links.directed_groups import directed_probabilities, draw_links
from ldpsim.curator.methods.base import Budget, Question
from ldpsim.curator.methods.local.graphs import both_ways
from ldpsim.curator.methods.local.label_questions import StageMechanisms
from ldpsim.curator.methods.local.links import LinkMethod, ReconstructedLinks
from ldpsim.curator.methods.parameters import SHARE, one_of, parameter, whole
from ldpsim.curator.reports.question import at_stage
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rounds import RoundSteps
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge
from ldpsim.devices.mechanisms import GroupDegrees

GROUPS, SEED, GRAPH = whole(1, 1 << 16), whole(0, (1 << 32) - 1), one_of("sampled", "one-sided")
TWO_STAGES = "an edge is counted at both ends, in both stages, so its loss is 2 (eps_0 + eps_1)"


@dataclass(frozen=True)
class LDPGen(LinkMethod):
    """A graph drawn from noisy degrees towards groups.

    Args:
        first_share: Share of epsilon for stage 0, in (0, 1).
        first_groups: Number of random groups of stage 0 (the paper's k0).
        groups: Number of groups of stage 1 (the paper's k1).
        grouping_seed: Seed of the random groups; public.
        graph: ``sampled`` or ``one-sided``.

    Raises:
        ValueError: for a parameter outside its range.
    """

    first_share: float = parameter(0.5, SHARE)
    first_groups: int = parameter(2, GROUPS)
    groups: int = parameter(2, GROUPS)
    grouping_seed: int = parameter(0, SEED)
    graph: str = parameter("sampled", GRAPH)

    spec = replace(
        LinkMethod.spec, name="ldpgen",
        paper="Qin et al., Generating Synthetic Decentralized Social Graphs with LDP (LDPGen)",
        mechanisms=("group_degrees", "grr"),
    )  # fmt: skip

    def stages(self, facts: PublicFacts, budget: Budget, epsilon: float) -> StageMechanisms:
        """Return both stages: degrees towards the random groups, then towards the curator's."""
        return group_stages(self, facts, budget, epsilon)

    def rounds(self, public: PublicKnowledge, budget: Budget, planned: Sequence[Question]) -> RoundSteps:
        """Yield stage 0, and stage 1 with the groups that follow from its reports."""
        return grouped_rounds(planned, self.groups)

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Draw the graph."""
        return generated_links(reports, self.graph)

    def edge_loss(self, budget: Budget) -> str:
        """As :meth:`LinkMethod.edge_loss`; both stages count an edge, at both ends."""
        return TWO_STAGES


def group_stages(method: Any, facts: PublicFacts, budget: Budget, epsilon: float) -> StageMechanisms:
    """Return the mechanisms of both stages, for ``epsilon`` a bit of the list.

    ``method`` has the parameters of :class:`LDPGen`.

    Raises:
        ValueError: for one-end reporting, or more groups than people.
    """
    if budget.reporting == "one-end":
        raise ValueError(f"{method.spec.name} compares whole degrees, which --reporting one-end does not report")
    for name in ("first_groups", "groups"):
        if getattr(method, name) > facts.n:
            raise SettingError(f"{name}={getattr(method, name)}", f"there are only {facts.n:,} people to group")
    share = method.first_share
    first = GroupDegrees.from_epsilon(
        share * epsilon, n=facts.n, groups=method.first_groups, seed=method.grouping_seed
    )  # fmt: skip
    return (first,), (GroupDegrees.from_epsilon((1 - share) * epsilon, n=facts.n, groups=method.groups),)


def grouped_rounds(questions: Sequence[Question], groups: int) -> RoundSteps:
    """Yield the questions of stage 0, and those of stage 1, whose groups are people with similar vectors in stage 0."""
    reports = yield at_stage(questions, 0)
    yield at_stage(questions, 1, tuple(similar_people(reports, groups).tolist()))


def similar_people(reports: Reports, groups: int) -> IntArray:
    """int64 (n,): k-means clusters of the reported vectors; equal vectors if there are not more than groups."""
    from scipy.cluster.vq import kmeans2  # a run of another method does not load it

    vectors = _vectors(reports)
    different, group = np.unique(vectors, axis=0, return_inverse=True)
    if len(different) <= groups:
        return group.reshape(-1).astype(np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an empty group is allowed
        _, group = kmeans2(vectors, groups, minit="++", iter=30, rng=_coins(reports))
    return group.astype(np.int64)


def generated_links(reports: Reports, graph: str) -> ReconstructedLinks:
    """Return the links of a graph drawn from the reports; those of ``one-sided`` have a direction."""
    vectors, grouping = _vectors(reports), reports.needed("grouping")
    if graph == "one-sided":
        groups = similar_people(reports, vectors.shape[1])
        links = draw_links(directed_probabilities(vectors, grouping, groups), groups, _coins(reports))
        return links, None, {"groups": len(np.unique(groups)), "edges": links.shape[1]}
    # Nobody has more than n - 1 neighbours. A larger number is noise or a lie, and one lie could ask for more edges
    # than the memory holds.
    most = reports.facts.n - 1
    model = BlockModel.from_degrees(np.clip(vectors, -most, most), grouping)
    left, right = model.sample(_coins(reports))
    notes = {"expected_edges": float(model.edges.sum()), "groups": len(np.unique(grouping)), "edges": len(left)}
    return both_ways(left, right), None, notes


def _vectors(reports: Reports) -> NDArray[np.float64]:
    """float64 (n, groups): the reported vectors; the others' mean for a silent device."""
    reported = reports.reported("adjacency")
    vectors: NDArray[np.float64] = reports.needed("group_degrees").astype(np.float64)
    if reported.any():
        vectors[~reported] = vectors[reported].mean(axis=0)
    return vectors


def _coins(reports: Reports) -> np.random.Generator:
    seed = hashlib.sha256(np.ascontiguousarray(reports.needed("group_degrees"), "<i8").tobytes()).digest()
    return np.random.default_rng(int.from_bytes(seed, "little"))
