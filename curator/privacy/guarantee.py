"""Guarantee of a collection at every level, beside the paper's claim.

Loss = sup over neighbouring inputs and outputs of ln(Pr[y | x] / Pr[y | x']). The levels are
those of :mod:`ldpsim.curator.privacy.levels`:

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
``node`` bounded, because these are about the private part of the record; ``not_counted`` names
the label.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpsim.curator.privacy.asked import MechanismUse, attained, loss_when, mechanism_uses
from ldpsim.curator.privacy.level import LABEL, REPORTED_BY_OTHERS, VOLUNTEERS, Kind, OfOne
from ldpsim.curator.privacy.level import Level as Level
from ldpsim.curator.privacy.levels import LEVELS, Attribute, LevelSpec, Unit, by_attribute, level_spec
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import round_up

if TYPE_CHECKING:
    from ldpsim.curator.reports.question import Question

_EACH: tuple[Attribute, ...] = ("adjacency", "features", "label")


@dataclass(frozen=True)
class Claim:
    """Statement of a paper, its figure or None, and reasons why it and what holds differ."""

    statement: str
    value: float | None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Guarantee:
    """Claim of a paper, and the guarantee that holds at every level.

    Args:
        trust: ``untrusted curator``, ``trusted curator`` or ``none``.
        claimed: The paper's statement.
        holds: A :class:`Level` for each of :data:`~ldpsim.curator.privacy.levels.LEVELS`.
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

    def over(self, collections: int) -> Guarantee:
        """Return the guarantee with its number of collections; its figures are about all of them already."""
        if collections == self.collections:
            return self
        return replace(self, collections=collections, why_they_differ=(*self.why_they_differ, _asked(collections)))

    def beside(self, one: Guarantee) -> Guarantee:
        """Return the guarantee with the losses of one of its collections beside its own."""
        holds = {}
        for name, level in self.holds.items():
            alone = one.holds[name]
            for value, delta in ((alone.value, alone.delta), (alone.private_value, alone.private_delta)):
                if value is not None:
                    level = replace(level, of_one=OfOne(value, delta, self.collections))
            holds[name] = level
        return replace(self, holds=holds)

    def as_bound(self) -> Guarantee:
        """Return the guarantee with every figure as a bound."""
        bounds = {name: level if level.kind is None else replace(level, kind="bound")
                  for name, level in self.holds.items()}  # fmt: skip
        return replace(self, holds=bounds)

    def to_dict(self) -> dict[str, Any]:
        """Return the ``privacy`` part of a result, JSON-ready."""
        return {
            "trust": self.trust,
            "claimed": {"statement": self.claimed.statement, "value": self.claimed.value},
            "holds": {name: self.holds[name].to_dict() for name in LEVELS},
            "collections": self.collections,
            "why_they_differ": list(self.why_they_differ),
        }


def local_guarantee(
    facts: PublicFacts,
    questions: Sequence[Question],
    *,
    claim: Claim,
    collections: int = 1,
    public_features: bool = False,
    public_edges: bool = False,
    volunteers: bool = False,
) -> Guarantee:
    """Return the guarantee of reports to an untrusted curator.

    Args:
        facts: Sizes.
        questions: The questions and the people who were asked.
        claim: The paper's statement, with the method's own reasons.
        collections: Number of times that all of it was asked, with fresh noise.
        public_features, public_edges: Whether these are in clear in this setting.
        volunteers: Whether labelled people give label and features in clear, and nobody else does. Their questions
            in clear are left out: the levels are those of everybody else.

    Raises:
        ValueError: for fewer than one collection.
    """
    if collections < 1:
        raise ValueError(f"a guarantee is about at least one collection, not {collections}")
    if volunteers:
        questions = [question for question in questions if not question.query.in_clear]
    parts = mechanism_uses(facts.n, questions)
    clear = {"features": public_features, "adjacency": public_edges}
    # Methods train on labels: asked, or public, or of volunteers alone.
    clear["label"] = not volunteers and all("label" not in a.attributes for a in parts)
    build = _Builder(parts, collections, clear, volunteers=volunteers)
    holds = {name: build.level(spec) for name, spec in LEVELS.items()}
    reasons = list(claim.reasons)
    if public_features:
        reasons.append("features are public in this setting: nothing protects them, at any level")
    if volunteers:
        reasons.append(
            "volunteers give label and features in clear: nothing protects theirs, and their list is not asked"
        )
    return Guarantee("untrusted curator", claim, holds, tuple(reasons)).over(collections)


def _asked(collections: int) -> str:
    return f"people were asked {collections} times with fresh noise, and losses add"


class _Builder:
    def __init__(
        self, parts: Sequence[MechanismUse], collections: int, clear: Mapping[str, bool], *, volunteers: bool = False
    ) -> None:
        self.parts, self.collections, self.clear, self.volunteers = parts, collections, clear, volunteers

    def of(self, *attributes: str) -> list[MechanismUse]:
        """Return what was asked about these attributes; an answer about several of them is one entry."""
        return [a for a in self.parts if set(attributes).intersection(a.attributes)]

    def _level(self, values: Sequence[float], attributes: Sequence[str], unit: Unit, **fields: Any) -> Level:
        value = round_up(float(self.collections * math.fsum(values)))
        if not math.isfinite(value):
            return Level("unprotected", **fields)
        parts = self.of(*attributes)
        delta = self.collections * sum(a.mechanism.loss().delta * a.touched(unit) for a in parts)
        kind: Kind = "exact" if not delta and attained(parts) else "bound"
        return Level("bounded", value, delta, kind=kind, **fields)

    def level(self, spec: LevelSpec) -> Level:
        """Return the guarantee at a level."""
        if spec.unit == "owned":
            return Level("not asked", reason="nobody's raw data reach the curator")
        if spec.attribute is not None:
            return self._single(spec.attribute, spec.unit)
        return self._record(others=spec.unit == "node")

    def _of_few_lists(self) -> dict[str, float]:
        """Return the figure of a node that few lists hold, where an answer is about the list as a whole."""
        lists = self.of("adjacency")
        if not lists or not all(a.is_whole_list for a in lists):
            return {}
        own = loss_when("whole", self.of(*(a for a in _EACH if not self.clear[a])))
        own, changed = (round_up(self.collections * loss) for loss in (own, 2 * loss_when("entry", lists)))
        return {"own": own, "per_list": changed}

    def _single(self, attribute: Attribute, unit: Unit) -> Level:
        """Return a level about one attribute only."""
        if self.clear[attribute]:
            return Level("unprotected", public=(attribute,))
        parts = self.of(attribute)
        if not parts:
            return Level("not asked")
        left_out = (VOLUNTEERS,) if self.volunteers and attribute == "features" else ()
        return self._level([loss_when(unit, parts)], [attribute], unit, not_counted=left_out)

    def _record(self, *, others: bool) -> Level:
        """Return the level of a whole record, with or without the bits that others report about it."""
        record = [a for a in _EACH if a != "label" or not self.clear["label"]]
        parts, public = self.of(*record), tuple(a for a in record if self.clear[a])
        if not parts:
            return Level("unprotected", public=public) if public else Level("not asked")
        bits = (REPORTED_BY_OTHERS,) if others and self.of("adjacency") else ()
        left_out = ((LABEL,) if self.clear["label"] else ()) + ((VOLUNTEERS,) if self.volunteers else ())
        total = sum(a.own_loss() + (a.others_loss() if others else 0) for a in parts)
        worst = int(np.argmax(total))
        values = [a.own_loss_of(worst) + (a.others_loss()[worst] if others else 0) for a in parts]
        level = self._level(
            values, record, "node" if others else "record", counted=(*(a for a in record if self.of(a)), *bits),
            not_counted=left_out, **(self._of_few_lists() if others else {}),
        )  # fmt: skip
        if not public:
            return level
        return replace(level, status="unprotected", value=None, delta=0.0, public=public,
                       private_value=level.value, private_delta=level.delta)  # fmt: skip


def open_guarantee(used: Sequence[str], *, trust: str, statement: str, detail: str = "raw data, no noise") -> Guarantee:
    """Return the guarantee of a method without noise: everything it uses is unprotected.

    Args:
        used: Attributes that are read, of adjacency, features, label.
        trust: ``none`` or ``trusted curator``.
        statement: The claim in words.
        detail: Who sees the data in clear.
    """
    open_, unused = Level("unprotected", reason=detail), Level("not asked")
    level: dict[str, Level] = {attribute: open_ if attribute in used else unused for attribute in _EACH}
    some = open_ if used else unused
    return Guarantee(trust, Claim(statement, None), by_attribute(level, several=some, owned=some))
