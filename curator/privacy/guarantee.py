"""Guarantee of a collection at every level, beside the paper's claim.

Loss = sup over neighbouring inputs and outputs of ln(Pr[y | x] / Pr[y | x']). The levels are
those of :mod:`curator.privacy.levels`:

=============  ====================================================================
bit_adjacency  one entry of one person's list changes
bit_feature    one feature of one person changes
relationship   one undirected edge changes: the entry in both ends' lists
vector         one person's whole feature vector changes
label          one person's label changes
user           one person's own list, features (and label, where it is asked) change
node           as user, and every other person's bit about that person changes too
central_node   a person is added to or removed from an owner's data
=============  ====================================================================

Each level is ``bounded`` (a value), ``unprotected`` (in clear) or ``not asked``. The losses
are those of the mechanisms in the questions, for the people who were asked. Pure losses of
independent reports add exactly, since their probability ratios multiply. So T collections
cost T times as much. Where a report has a delta, the sums of losses and of deltas are an upper
bound (basic composition), over all reports that the change touches.

Public features make ``vector``, ``user`` and ``node`` unprotected, because a person's
features are in clear. A public *label* makes ``label`` unprotected. It leaves ``user`` and
``node`` bounded, because these are about the private part of the record; their detail says
that the label is not counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from curator.privacy.asked import TimesAsked, collect, loss_when
from curator.privacy.levels import LEVELS, LevelSpec, Unit, by_attribute, level_spec
from devices.facts import PublicFacts
from devices.mechanisms import round_up

if TYPE_CHECKING:
    from curator.reports.question import Question

Status = Literal["bounded", "unprotected", "not asked"]
PUBLIC = "public in this setting"  # ends the detail of a level whose data nobody has to be asked for
_DONATED = "features of labelled people are public in this setting and not counted"
_EACH = {"adjacency": "list", "features": "feature vector", "label": "label"}


@dataclass(frozen=True)
class Level:
    """Guarantee at one level; ``value`` is None unless the status is ``bounded``."""

    status: Status
    value: float | None = None
    delta: float = 0.0
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"value": self.value, "status": self.status, "delta": self.delta, "detail": self.detail}


@dataclass(frozen=True)
class Claim:
    """Statement of a paper and its figure, None without a figure."""

    statement: str
    value: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"statement": self.statement, "value": self.value}


@dataclass(frozen=True)
class Guarantee:
    """Claim of a paper, and the guarantee that holds at every level.

    Args:
        trust: ``untrusted curator``, ``trusted curator`` or ``none``.
        claimed: The paper's statement.
        holds: A :class:`Level` for each of :data:`~curator.privacy.levels.LEVELS`.
        why_they_differ: Reasons why claim and guarantee differ.
        collections: Number of independent reports of each person that the figures count.

    Raises:
        ValueError: for an unknown level.
    """

    trust: str
    claimed: Claim
    holds: Mapping[str, Level]
    why_they_differ: tuple[str, ...] = ()
    collections: int = 1

    def __post_init__(self) -> None:
        for name in self.holds:
            level_spec(name)

    def to_dict(self) -> dict[str, Any]:
        """Return the ``privacy`` part of a result, JSON-ready."""
        return {
            "trust": self.trust,
            "claimed": self.claimed.to_dict(),
            "holds": {name: self.holds[name].to_dict() for name in LEVELS},
            "collections": self.collections,
            "why_they_differ": list(self.why_they_differ),
        }


def local_guarantee(
    facts: PublicFacts,
    questions: Sequence[Question],
    *,
    claim: Claim,
    why_they_differ: Sequence[str] = (),
    collections: int = 1,
    public_features: bool = False,
    public_edges: bool = False,
    donated_features: bool = False,
) -> Guarantee:
    """Return the guarantee of reports to an untrusted curator.

    Args:
        facts: Sizes.
        questions: The questions and the people who were asked.
        claim: The paper's statement.
        why_they_differ: The method's own reasons.
        collections: Number of times that all of it was asked, with fresh noise.
        public_features, public_edges: Whether these are in clear in this setting.
        donated_features: Whether the features of labelled people, and of nobody else, are in clear.

    Raises:
        ValueError: for fewer than one collection.
    """
    if collections < 1:
        raise ValueError(f"a guarantee is about at least one collection, not {collections}")
    asked = collect(facts.n, questions)
    clear = {"features": public_features, "adjacency": public_edges}
    clear["label"] = all("label" not in a.attributes for a in asked)  # methods train on labels: asked, or public
    build = _Builder(asked, collections, clear, _DONATED if donated_features else "")
    holds = {name: build.level(spec) for name, spec in LEVELS.items()}
    reasons = list(why_they_differ)
    if public_features:
        reasons.append("features are public in this setting: nothing protects them, at any level")
    if donated_features:
        reasons.append("features of labelled people are public in this setting: nothing protects theirs, at any level")
    if collections > 1:
        reasons.append(f"people were asked {collections} times with fresh noise, and losses add")
    return Guarantee("untrusted curator", claim, holds, tuple(reasons), collections)


class _Builder:
    def __init__(
        self, asked: Sequence[TimesAsked], collections: int, clear: Mapping[str, bool], donated: str = ""
    ) -> None:
        self.asked, self.collections, self.clear, self.donated = asked, collections, clear, donated

    def of(self, *attributes: str) -> list[TimesAsked]:
        """Return what was asked about these attributes; an answer about several of them is one entry."""
        return [a for a in self.asked if set(attributes).intersection(a.attributes)]

    def _bounded(self, values: Sequence[float], attributes: Sequence[str], unit: Unit, detail: str) -> Level:
        value = round_up(float(self.collections * math.fsum(values)))
        if not math.isfinite(value):
            return Level("unprotected", detail=detail)
        delta = self.collections * sum(a.mechanism.loss().delta * a.touched(unit) for a in self.of(*attributes))
        return Level("bounded", value, delta, detail)

    def level(self, spec: LevelSpec) -> Level:
        """Return the guarantee at a level."""
        if spec.unit == "owned":
            return Level("not asked", detail="nobody's raw data reach the curator")
        if spec.attribute is not None:
            parts = self.of(spec.attribute)
            return self._single(spec.attribute, spec.unit, [loss_when(spec.unit, parts)] if parts else [])
        return self._record(others=spec.unit == "node")

    def _of_few_lists(self) -> str:
        """Return the figure of a node that few lists hold, where an answer is about the list as a whole."""
        lists = self.of("adjacency")
        if not lists or not all(a.of_the_whole for a in lists):
            return ""
        own = loss_when("whole", self.of(*(a for a in _EACH if not self.clear[a])))
        own, changed = (round_up(self.collections * loss) for loss in (own, 2 * loss_when("entry", lists)))
        return f"; at most {own:.10g} + {changed:.10g} D where nobody is in more than D lists"

    def _single(self, attribute: str, unit: Unit, values: Sequence[float]) -> Level:
        """Return a level about one attribute only."""
        if self.clear[attribute]:
            where = " of training and validation nodes" if attribute == "label" else ""
            plural = {"adjacency": "edges", "features": "features", "label": "labels"}[attribute]
            return Level("unprotected", detail=f"{plural}{where} are {PUBLIC}")
        if not values:
            return Level("not asked")
        return self._bounded(values, [attribute], unit, self.donated if attribute == "features" else "")

    def _record(self, *, others: bool) -> Level:
        """Return the level of a whole record, with or without the bits that others report about it."""
        record = [a for a in _EACH if a != "label" or not self.clear["label"]]
        parts = self.of(*record)
        named = [_EACH[a] for a in record if self.of(a)]
        public = [_EACH[a] for a in record if self.clear[a]]
        if others and self.of("adjacency"):
            named.append("the bits that others report about it")
        detail = " and ".join(named) + (self._of_few_lists() if others else "")
        label = "; the label is public in this setting and not counted" if self.clear["label"] else ""
        label += f"; {self.donated}" if self.donated else ""
        if not parts:
            return Level("unprotected", detail=f"{' and '.join(public)} in clear") if public else Level("not asked")
        total = sum(a.own() + (a.told() if others else 0) for a in parts)
        worst = int(np.argmax(total))
        values = [a.own_exactly(worst) + (a.told()[worst] if others else 0) for a in parts]
        bounded = self._bounded(values, record, "node" if others else "record", detail + label)
        if public and bounded.value is not None:
            alone = f"{detail}{_ALONE}{bounded.value:.10g}"
            return Level("unprotected", detail=f"{' and '.join(public)}{_CLEAR}; {alone}{label}")
        return bounded


_CLEAR, _ALONE = " in clear", " alone: "


def private_part(detail: str) -> tuple[str, float] | None:
    """Return what is public in a record, and the loss of its private part; None for another detail.

    Args:
        detail: Detail of the level of a record or a node.

    >>> private_part("feature vector in clear; list alone: 4; the label is public in this setting and not counted")
    ('feature vector', 4.0)
    """
    public, clear, rest = detail.partition(f"{_CLEAR}; ")
    _, alone, value = rest.partition(_ALONE)
    return (public, float(value.partition(";")[0])) if clear and alone else None


def open_guarantee(used: Sequence[str], *, trust: str, statement: str, detail: str = "raw data, no noise") -> Guarantee:
    """Return the guarantee of a method without noise: everything it uses is unprotected.

    Args:
        used: Attributes that are read, of adjacency, features, label.
        trust: ``none`` or ``trusted curator``.
        statement: The claim in words.
        detail: Who sees the data in clear.
    """
    open_, unused = Level("unprotected", detail=detail), Level("not asked")
    level = {attribute: open_ if attribute in used else unused for attribute in _EACH}
    some = open_ if used else unused
    return Guarantee(trust, Claim(statement, None), by_attribute(level, several=some, owned=some))
