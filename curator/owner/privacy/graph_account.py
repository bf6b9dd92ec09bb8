"""Loss of networks and predictions that an owner of a graph publishes under noise: every level beside the claim."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ldpsim.curator.owner.privacy.account import four_decimals
from ldpsim.curator.owner.privacy.aggregation import (
    ARC,
    UNDIRECTED,
    UNDIRECTED_CUT,
    NoisyTraining,
    edge_loss,
    multiplier_for,
    person_loss,
    replaced_loss,
)
from ldpsim.curator.privacy.guarantee import Claim, Guarantee
from ldpsim.curator.privacy.level import JOINS, Level
from ldpsim.curator.privacy.levels import LEVELS as OF_LDPSIM
from ldpsim.curator.shown import shown_loss
from ldpsim.devices.mechanisms import round_up

EDGE, NODE = "edge", "node"
LEVELS = (EDGE, NODE)
_CLEAR = "handed to the trusted owner"


@dataclass(frozen=True)
class GraphRelease:
    """Networks and predictions that an owner publishes, with their noise.

    Args:
        method: Its name.
        level: ``edge`` or ``node``.
        training: Hops and private steps of one release.
        epsilon: Loss to which the noise is calibrated.
        undirected: Whether the noise of the edge level is for both arcs of an edge.
        degree: Largest number of people that one person sends to, at the node level.
        refuses: Whether longer lists are refused, in place of cut.
        chosen: Whether validation people choose the epoch.
        accountant: ``tight`` or ``rdp``.
        printed_by: Accountant of the edge level in the method's public code.
        noise_multiplier: Noise multiplier in place of a calibrated one; 0: none.
        releases: Number of releases about the same people, each with fresh noise.
    """

    method: str
    level: str
    training: NoisyTraining
    epsilon: float
    undirected: bool
    degree: int
    refuses: bool
    chosen: bool
    accountant: str
    printed_by: str
    noise_multiplier: float = 0.0
    releases: int = 1

    @cached_property
    def multiplier(self) -> float:
        """Noise of a hop divided by its sensitivity, and of a step by the clipping norm; 0 where there is none."""
        return self.noise_multiplier or multiplier_for(self.training, self.epsilon, self.accountant)

    @property
    def sensitivity(self) -> float:
        """Shift of a hop's sums that the noise is calibrated to, in the L2 norm."""
        if self.level == NODE:
            return math.sqrt(self.degree)
        return UNDIRECTED if self.undirected else ARC

    @property
    def deviation(self) -> float:
        """Deviation of the noise on each entry of a hop."""
        return self.multiplier * self.sensitivity

    @property
    def spent(self) -> NoisyTraining:
        """Hops and steps of all releases together."""
        return replace(self.training, hops=self.releases * self.training.hops,
                       steps=self.releases * self.training.steps)  # fmt: skip

    @property
    def relationship(self) -> float:
        """Loss of an undirected edge, to readers; lists that are cut name somebody else in its place."""
        shift = UNDIRECTED if self.level == EDGE or self.refuses else UNDIRECTED_CUT
        return edge_loss(shift, hops=self.spent.hops, noise=self.deviation, delta=self.training.delta)

    @property
    def claimed(self) -> float:
        """Loss as the public code's accountant counts it, at this noise: of one arc, or of a person."""
        if self.level == EDGE:
            noise = self.multiplier * (self.sensitivity / ARC)
            return round_up(person_loss(replace(self.spent, steps=0), noise, self.printed_by))
        return round_up(person_loss(self.spent, self.multiplier, "rdp"))

    @property
    def joins(self) -> float | None:
        """Loss of a person who joins or leaves, to those who read all but her own prediction; None without a bound."""
        return None if self.level == EDGE or self.chosen else person_loss(self.spent, self.multiplier)

    @property
    def replaced(self) -> float | None:
        """The same where the record is replaced by another one."""
        return None if self.joins is None else replaced_loss(self.spent, self.multiplier)

    def central_node(self) -> Level:
        """Return what holds for a person in the owner's data."""
        if self.level == EDGE:
            return Level("unprotected", reason="features and labels train in clear")
        if self.joins is None:
            return Level("unprotected", reason="validation labels choose the epoch: no loss bounds that (keep=last)")
        others = "nobody lists more" if self.refuses else "the lists of others stay as they are"
        return Level(
            "bounded", self.joins, self.training.delta, kind="bound", relation=JOINS,
            reason=f"to readers of the network and of the predictions about others; the person sends to {{degree}} "
            f"people at most, and {others}; the own prediction reads the own row without noise, and nothing bounds it; "
            "where the record is replaced: {replaced}",
            figures={"degree": self.degree, "replaced": four_decimals(self.replaced or 0.0)},
        )  # fmt: skip

    def guarantee(self, trust: str) -> Guarantee:
        """Return the claim and what holds; the owner itself has every record in clear."""
        to_owner = Level("unprotected", reason=_CLEAR)
        edge = Level(
            "unprotected",
            reason=f"{_CLEAR}; readers learn {{published}} of an edge, delta {{delta}}",
            figures={"published": four_decimals(self.relationship), "delta": self.training.delta},
        )
        holds = {**dict.fromkeys(OF_LDPSIM, to_owner), "relationship": edge, "central_node": self.central_node()}
        about = "one arc" if self.level == EDGE else "a person"
        statement = f"({shown_loss(self.claimed)}, {self.training.delta:g})-DP for {about}, as published"
        return Guarantee(trust, Claim(statement, self.claimed), holds, tuple(self.reasons()), self.releases)

    def reasons(self) -> list[str]:
        """Reasons why the printed figure and what holds differ."""
        if self.level == EDGE:
            texts = ["the printed analysis is about one arc; an edge, or one end's entry of it, moves the rows of both"]
        else:
            texts = [
                "the printed figure is by Rényi divergences; what holds is by privacy loss distributions",
                "the printed figure is said of everything that is published; a person's own prediction reads the own "
                "row without noise, so it holds for readers of the rest",
                "people are drawn independently and join or leave; a record that is replaced loses more",
            ]
            if not self.refuses:
                texts.append("lists are cut by a public order; with all that others say about a person, a bound needs "
                             "longer=refuse")  # fmt: skip
            if self.chosen:
                texts.append("validation people choose the epoch, and the printed analysis does not count it")
        texts.append("the number of people, of training people and the split are public")
        texts.append("noise is drawn in floating point; figures are for real numbers")
        return texts

    def to_dict(self) -> dict[str, Any]:
        """Return the section of a result, JSON-ready: what readers of the published parts learn, by level."""
        return {
            "level": self.level,
            "epsilon": self.epsilon,
            "delta": self.training.delta,
            "noise_multiplier": self.multiplier,
            "noise_deviation": self.deviation,
            "sensitivity": self.sensitivity,
            "hops": self.training.hops,
            "private_steps": self.training.steps,
            "rate": self.training.rate,
            "claimed": self.claimed,
            "published": {"relationship": self.relationship, "person_joins": self.joins,
                          "person_replaced": self.replaced},
        }  # fmt: skip
