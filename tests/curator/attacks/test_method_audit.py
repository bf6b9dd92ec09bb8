"""Methods against their own guarantees, and guarantees that are too good."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.attacks import method_audit
from ldpsim.curator.attacks.drawn_rounds import drawn_rounds
from ldpsim.curator.attacks.mechanism_audit import Effort
from ldpsim.curator.attacks.method_audit import audit_method
from ldpsim.curator.methods import LPGNN, Budget, HoGS, Method, Noisy, Question, Raw, Vote, find
from ldpsim.curator.methods.base import collection_id
from ldpsim.curator.methods.federated.dp_fedavg import DPFedAvg
from ldpsim.curator.privacy.guarantee import Claim, Guarantee, Level
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.curator.reports.rounds import RoundSteps
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import gaussian
from ldpsim.devices.noise import Noise

QUICK = Effort(trials=200, rows=50)


@pytest.mark.parametrize("name", ["hogs", "lpgnn", "rgnn", "solitude", "lp-and", "raw", "privgnn", "pate-g", "b1"])
def test_what_is_there_passes(name: str) -> None:
    rows = audit_method(find(name), QUICK, stream=Noise)
    assert rows and all(row.passed for row in rows), [row for row in rows if not row.passed]
    bounded = [row for row in rows if row.claimed is not None and math.isfinite(row.claimed)]
    assert bool(bounded) == (name not in ("raw", "b1"))
    for row in bounded:
        assert row.exact is not None and row.claimed is not None and row.exact > 0.99 * row.claimed - 1e-6


def test_levels_of_hogs() -> None:
    levels = {row.level: row.claimed for row in audit_method(HoGS, QUICK, stream=Noise)}
    assert levels["relationship"] == 2 * (levels["bit_adjacency"] or 0)
    assert set(levels) == {name for name, spec in LEVELS.items() if spec.attribute != "label" and spec.unit != "owned"}


@dataclass(frozen=True)
class OwnFeatures(Vote):
    """One answer about list and features, of people who do not volunteer."""

    spec = replace(Vote.spec, in_batches=False)  # its questions are asked

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        ordinary = Split(split.train[:0], split.val[:0], np.arange(facts.n))
        in_clear, vote = super().questions(facts, ordinary, replace(budget, volunteers=True), collection)
        assert in_clear.query.in_clear
        return (replace(vote, part=0),)

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        return super().guarantee(facts, questions, replace(budget, volunteers=True), collections=collections)


@dataclass(frozen=True)
class LabelOrVote(OwnFeatures):
    """People with an even number answer their label or are witnesses, the others vote, and nobody does both."""

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        even = Split(split.train[:0], split.val[:0], np.arange(1, facts.n, 2), ordinary=np.arange(0, facts.n, 2))
        asked = replace(budget, volunteers=True, private_labels=True)
        _, *others = Vote.questions(self, facts, even, asked, collection)
        return tuple(replace(each, part=each.part - 1) for each in others)


class EverybodyAnswersBoth(LabelOrVote):
    """Asks all people for their label, and says that each answers one question."""

    def questions(self, facts: PublicFacts, split: Split, budget: Budget, collection: str) -> tuple[Question, ...]:
        label, *others = super().questions(facts, split, budget, collection)
        return replace(label, devices=np.arange(facts.n)), *others

    def guarantee(
        self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
    ) -> Guarantee:
        label, *others = questions
        one_each = (replace(label, devices=np.arange(0, facts.n, 2)), *others)
        return super().guarantee(facts, one_each, budget, collections=collections)


def too_good(base: type[Method], level: str, change: Callable[[Guarantee], Level]) -> type[Method]:
    """Return a method whose guarantee states another loss at one level."""

    class TooGood(base):  # type: ignore[misc,valid-type]
        def guarantee(
            self, facts: PublicFacts, questions: Sequence[Question], budget: Budget, *, collections: int = 1
        ) -> Guarantee:
            usual = super().guarantee(facts, questions, budget, collections=collections)
            return replace(usual, holds={**usual.holds, level: change(usual)})

    return TooGood


def half_of_the_vector(usual: Guarantee) -> Level:
    """Return half of the loss: as if list and features shared it, or two questions were one."""
    level = usual.holds["vector"]
    return replace(level, value=(level.value or 0) / 2)


def test_an_answer_about_list_and_features_loses_its_epsilon_once() -> None:
    found = {row.level: row for row in audit_method(OwnFeatures, QUICK, stream=Noise)}
    assert all(row.passed for row in found.values()) and "node" in found
    for level in ("bit_adjacency", "bit_feature", "vector", "user"):
        assert found[level].claimed == pytest.approx(2.0, abs=1e-8), level
        assert found[level].exact == pytest.approx(2.0, abs=1e-8), level
    assert found["relationship"].claimed == pytest.approx(4.0, abs=1e-8)
    half = too_good(OwnFeatures, "vector", half_of_the_vector)
    failing = {row.level for row in audit_method(half, QUICK, stream=Noise) if not row.passed}
    assert failing == {"vector"}


def test_a_label_in_place_of_a_vote_loses_the_same_epsilon_once() -> None:
    found = {row.level: row for row in audit_method(LabelOrVote, QUICK, stream=Noise)}
    assert all(row.passed for row in found.values())
    for level in ("bit_adjacency", "vector", "label", "user"):
        assert found[level].claimed == pytest.approx(2.0, abs=1e-8), level
        assert found[level].exact == pytest.approx(2.0, abs=1e-8), level
    failing = {row.level for row in audit_method(EverybodyAnswersBoth, QUICK, stream=Noise) if not row.passed}
    assert "user" in failing


class Nobody(HoGS):
    """Cannot ask anybody at small size."""

    def questions(self, *arguments: object, **more: object) -> tuple[Question, ...]:
        raise ValueError("too few people")


class InRounds(HoGS):
    """Asks no questions: four updates of Gaussian noise, said to lose what the budget says."""

    def questions(self, *arguments: object, **more: object) -> tuple[Question, ...]:
        return ()

    def guarantee(self, *arguments: object, **more: object) -> Guarantee:
        nothing = dict.fromkeys(LEVELS, Level("not asked"))
        return Guarantee("untrusted curator", Claim("", 2.0), {**nothing, "user": Level("bounded", 2.0, 1e-3)})


class EnoughNoise(InRounds):
    """Noise that four updates need."""

    def gaussian_composition(self, facts: PublicFacts, budget: Budget) -> tuple[float, float, int]:
        return 2.0, 2.0 * gaussian.calibrate(2.0, 1e-3, shift=2.0), 4


class NoiseForOne(InRounds):
    """Noise that one update needs, used for four."""

    def gaussian_composition(self, facts: PublicFacts, budget: Budget) -> tuple[float, float, int]:
        return 2.0, gaussian.calibrate(2.0, 1e-3, shift=2.0), 4


def test_methods_that_are_trained_in_rounds() -> None:
    (row,) = audit_method(EnoughNoise, QUICK, stream=Noise)
    assert row.passed and row.exact == pytest.approx(2.0, abs=1e-6)
    for wrong in (InRounds, NoiseForOne):
        (row,) = audit_method(wrong, QUICK, stream=Noise)
        assert not row.passed


@pytest.mark.parametrize(("fraction", "passed"), [(1.0, True), (0.5, None)])
def test_a_claim_about_drawn_devices_is_not_judged_without_the_draw(fraction: float, passed: bool | None) -> None:
    """One of two devices is drawn: epsilon 2 holds with the draw, and the same noise without it loses 2.32."""
    of_run = (DPFedAvg(fraction=fraction, rounds=1, delta=1e-5), Budget(epsilon=2.0))
    rows = audit_method(DPFedAvg, QUICK, stream=Noise, of_run=of_run)
    assert rows and {row.passed for row in rows} == {passed}
    assert all(row.claimed == pytest.approx(2.0, abs=1e-3) for row in rows)
    assert all((row.exact is None) == (passed is None) for row in rows)


TOO_GOOD = [
    # Theorem 4: one bit and one feature for a whole person
    (too_good(HoGS, "user", lambda usual: replace(usual.holds["user"], value=usual.claimed.value)), "user"),
    # an edge is counted once though both ends report it
    (too_good(Noisy, "relationship", lambda usual: usual.holds["bit_adjacency"]), "relationship"),
    (too_good(LPGNN, "vector", half_of_the_vector), "vector"),
    (Nobody, "user"),
]


@pytest.mark.parametrize(("kind", "level"), TOO_GOOD)
def test_a_guarantee_that_is_too_good_fails(kind: type[Method], level: str) -> None:
    failing = {row.level for row in audit_method(kind, QUICK, stream=Noise) if not row.passed}
    assert failing == {level}


@pytest.mark.parametrize("kind", [LPGNN, too_good(LPGNN, "vector", half_of_the_vector)])
def test_a_claim_with_a_delta_is_not_judged_by_ratios(kind: type[Method]) -> None:
    """The largest ratio of Gaussian densities over drawn reports is no loss at delta 1e-10: nothing passes by it."""
    of_run = (
        kind.from_settings({"mechanism": "gaussian"}),
        Budget(eps_features=0.8, eps_labels=7.2, private_labels=True),
    )
    rows = {row.level: row for row in audit_method(kind, QUICK, stream=Noise, of_run=of_run)}
    assert [(rows[level].exact, rows[level].passed) for level in ("bit_feature", "vector")] == [(None, None)] * 2
    assert rows["label"].passed


@dataclass(frozen=True)
class Dearer(Noisy):
    """Its second round asks with 1.5 times the loss of the questions for accounting."""

    spec = replace(Noisy.spec, name="dearer", in_batches=True)
    factor: float = 1.5

    def rounds(self, public: PublicKnowledge, budget: Budget, planned: Sequence[Question]) -> RoundSteps:
        half = public.facts.n // 2
        for times, people in ((1.0, np.arange(half)), (self.factor, np.arange(half, public.facts.n))):
            spent = replace(budget, epsilon=times * budget.epsilon)
            (question,) = self.questions(public.facts, public.split, spent, collection_id(planned))
            yield (replace(question, devices=people),)


@dataclass(frozen=True)
class Even(Dearer):
    """Its second round asks with the same loss."""

    factor: float = 1.0


@pytest.mark.parametrize(("kind", "passed"), [(Even, True), (Dearer, False)])
def test_a_later_round_that_asks_for_more_fails(kind: type[Method], passed: bool) -> None:
    rows = audit_method(kind, QUICK, stream=Noise)
    assert {row.passed for row in rows} == {passed} and {"relationship", "user"} <= {row.level for row in rows}
    assert all(
        row.exact == pytest.approx(row.claimed * (1.0 if passed else 1.5)) for row in rows if row.level == "vector"
    )


@pytest.mark.parametrize("name", ["vote", "ldpgen"])
def test_a_method_of_several_rounds_is_asked_by_its_own_protocol(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every round is sent: three batches of votes, and the second stage with the groups of people's own reports."""
    walked: list[list[Question]] = []

    def noted(*given: Any, **named: Any) -> list[Question]:
        walked.append(drawn_rounds(*given, **named))
        return walked[-1]

    monkeypatch.setattr(method_audit, "drawn_rounds", noted)
    assert all(row.passed for row in audit_method(find(name), QUICK, stream=Noise))
    (asked,) = walked
    if name == "ldpgen":
        assert [question.query.stage for question in asked] == [0, 1] and asked[1].query.grouping is not None
    else:
        people = np.concatenate([question.people(4) for question in asked])
        assert sorted(people) == [0, 1, 2, 3] and len({question.query for question in asked}) > 1


def test_a_reference_claims_nothing() -> None:
    (row,) = audit_method(Raw, QUICK, stream=Noise)
    assert row.claimed == math.inf and row.exact is None and row.passed
