"""The secure sum: epsilon by the number of honest people, what the curator gets, and a run to the result."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.features.linear_feature_model import fit_feature_model
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.methods.local.secure_sum import SecureSum, epsilons
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.curator.sum_model import NoisySum, mixed_model
from ldpsim.devices.facts import PublicFacts, Split
from ldpsim.devices.mechanisms import SumShare, gaussian
from ldpsim.devices.mechanisms.sum_share import STEPS
from ldpsim.strategies import Refused, RunOptions, simulate

FACTS = PublicFacts(40, 6, 3)
SPLIT = Split(np.arange(4), np.arange(4, 6), np.arange(30, 40), ordinary=np.arange(6, 30))
BUDGET = Budget(epsilon=2.0, volunteers=True)


def test_epsilon_at_h_and_at_fewer() -> None:
    """Of 24 people 18 are honest: at 10, 30 and 50 % fewer 16, 12 and 9 shares are left of the noise."""
    method = SecureSum(honest=0.75, delta=1e-3)
    questions = method.questions(FACTS, SPLIT, BUDGET, "c")
    share = questions[1].query.plan[0][0].mechanisms[0]
    assert isinstance(share, SumShare) and share.honest == 18
    assert questions[1].devices is not None and questions[1].devices.tolist() == list(range(6, 30))
    found = epsilons(share).at
    sigma = gaussian.calibrate(2.0, 1e-3, shift=1.0)
    for less, left in {0.0: 18, 0.1: 16, 0.3: 12, 0.5: 9}.items():
        expected = gaussian.epsilon_of(1e-3, shift=1.0, sigma=sigma * math.sqrt(left / 18))
        assert found[less] == pytest.approx(expected, rel=1e-6)
    assert found[0.0] <= 2.0 + 1e-9
    holds = method.guarantee(FACTS, questions, BUDGET).holds
    assert holds["user"].value == holds["label"].value == pytest.approx(2.0, abs=1e-6)
    assert 0 < holds["bit_feature"].value < holds["vector"].value < 2  # type: ignore[operator]
    assert holds["relationship"].status == "not asked" and "the party that adds sees every" in holds["user"].detail
    twice = method.guarantee(FACTS, questions, BUDGET, collections=2).holds["user"]
    assert twice.value == pytest.approx(gaussian.epsilon_of(1e-3, shift=math.sqrt(2), sigma=sigma), rel=1e-6)
    assert all(f"{found[less]:.10g}" in holds["user"].detail for less in (0.1, 0.3, 0.5))


def test_without_volunteers_or_others_it_asks_nobody() -> None:
    with pytest.raises(ValueError, match="--volunteers is needed"):
        SecureSum().questions(FACTS, SPLIT, Budget(), "c")
    with pytest.raises(ValueError, match="nobody else knows a label"):
        SecureSum().questions(FACTS, Split(SPLIT.train, SPLIT.val, SPLIT.test), BUDGET, "c")


def test_the_shares_and_the_covariances_are_those_of_the_contributors() -> None:
    """Without noise: 30 people of class 0 with word 0, 10 of class 1 with word 1; pi are equal."""
    mechanism = SumShare.from_epsilon(
        1e3, delta=0.1, honest=10**9, d=2, low=0.0, high=1.0, words=True, radius=1.0, shares=np.ones(2)
    )
    rows = np.repeat(np.eye(2, dtype=np.float32), (30, 10), axis=0)
    total = sum(
        mechanism.steps(np.append(row, label)) for row, label in zip(rows, np.repeat((0, 1), (30, 10)), strict=True)
    )
    noisy = NoisySum(np.asarray(total) / STEPS, 40, mechanism)
    assert noisy.shares == pytest.approx(np.array([0.75, 0.25]), abs=1e-4)
    assert noisy.covariances == pytest.approx(np.array([[0.375, -0.375], [-0.125, 0.125]]), abs=1e-4)


def world(people: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Bits of 30 features and one of three classes; each class has ten likelier features."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, people)
    chances = np.where(np.arange(30) // 10 == labels[:, None], 0.3, 0.15)
    return (random.random((people, 30)) < chances).astype(np.float32), labels


def test_a_sum_over_many_people_mends_the_model_of_few_volunteers() -> None:
    facts, (features, labels) = PublicFacts(3, 30, 3), world(60, 0)
    evidence = ObservedLabels(labels, 3)
    own = fit_feature_model(features, evidence, facts)
    mechanism = SumShare.from_epsilon(
        2.0, delta=1e-5, honest=3_000, d=30, low=0.0, high=1.0, words=True, radius=1.0, shares=np.ones(3)
    )
    others, classes = world(3_000, 1)
    total = sum(mechanism.steps(np.append(row, label)) for row, label in zip(others, classes, strict=True))
    noise = np.random.default_rng(2).normal(0, mechanism.sum_deviation(3_000), total.shape)  # type: ignore[union-attr]
    mixed = mixed_model(own, features, evidence, NoisySum((total + noise) / STEPS, 3_000, mechanism))
    test, truth = world(4_000, 3)
    right = [float(np.mean(each.model.scores(test.astype(np.int64), words=True).argmax(axis=1) == truth))
             for each in (own, mixed)]  # fmt: skip
    assert right[1] > right[0] + 0.03


RUN: dict[str, Any] = {"method": "secure-sum", "clients": 300, "volunteers": 0.1, "epsilon": 4.0, "groups": False}


def test_a_run_from_contributions_to_figures(tmp_path: Path) -> None:
    options = RunOptions(**RUN, out=tmp_path / "runs", state=tmp_path / "state", save_reports=True, reference=False)
    result = simulate(options)
    record, privacy = result.record, result.record["privacy"]
    assert privacy["trusted"] == "sum" and privacy["trust"] == "untrusted curator"
    assert privacy["holds"]["user"]["value"] == pytest.approx(4.0, abs=1e-6)
    assert privacy["holds"]["user"]["figures"].keys() == {"honest", "fewer_10", "fewer_30", "fewer_50"}
    assert record["accuracy"]["device"] > 1.5 * record["accuracy"]["curator"]  # who names one class for everybody
    assert record["nulls"]["device_alone"] is not None
    # A contribution is in the ledgers as a release in clear, and whatever else is asked of these people is refused.
    assert privacy["lifetime_per_device"]["user"]["max"] is None or math.isinf(
        privacy["lifetime_per_device"]["user"]["max"]
    )
    # What is kept of the contributions is their sum.
    assert result.folder is not None
    (kept,) = (result.folder / "reports").rglob("sums.npy")
    sums = np.load(kept)
    assert sums.shape == (record["dataset"]["features"] + 1, record["dataset"]["classes"])
    assert {path.name for path in kept.parent.glob("*.npy")} == {"sums.npy", "answered.npy", "asked_features.npy"}
    again = simulate(RunOptions(**{**RUN, "method": "secure-sum"}, out=None, reference=False, nulls=False,
                                from_reports=result.folder / "reports"))  # fmt: skip
    assert again.record["accuracy"]["device"] == record["accuracy"]["device"]
    for other in ({"epsilon": 2.0}, {}):
        with pytest.raises(Refused, match="refused"):
            simulate(RunOptions(**{**RUN, **other}, out=None, state=tmp_path / "state", nulls=False))


def test_a_share_of_many_features_and_classes_is_no_oversized_report() -> None:
    """9,000 features times 12 classes: the size is that of their product, and neither number alone says so."""
    record = simulate(RunOptions(**{**RUN, "clients": 40, "features": 9000, "classes": 12}, out=None, nulls=False,
                                 reference=False)).record  # fmt: skip
    assert record["devices"]["reported"] == record["devices"]["asked"] and record["accuracy"]["device"] is not None
