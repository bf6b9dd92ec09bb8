"""The party that adds updates: the server sees their sum alone, whose noise is that of a server at h contributors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpsim.curator.methods import Budget
from ldpsim.curator.methods.federated.dp_fedavg import DPFedAvg
from ldpsim.curator.privacy.federated import Rounds, central_epsilon
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.federated.messages import AnswerGroup, QuestionGroup, RoundAnswers
from ldpsim.devices.federated.update_adder import UpdateAdder
from ldpsim.devices.federated.updates import Updates
from ldpsim.devices.mechanisms.noisy_steps import UNIT
from ldpsim.devices.training_task import STEPS

FACTS, BUDGET = PublicFacts(400, 5, 2), Budget(epsilon=3.0)
METHOD = DPFedAvg(noise="distributed", rounds=3, honest=0.5, clip=2.0)


def answers(rows: np.ndarray) -> RoundAnswers:
    nodes = list(range(1, len(rows) + 1))
    group = QuestionGroup("train", None, nodes)
    return RoundAnswers([AnswerGroup(group, nodes, np.ones(len(rows), np.int64), Updates.whole(rows))])


def test_one_answer_with_the_mean_of_what_changed() -> None:
    sent = np.array([1.0, -2.0, 0.5], np.float32)
    moves = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.5, 0.5, -1.5]], np.float32)
    shown = UpdateAdder(clip=2.0, least_contributors=3).add(answers(sent + moves), sent)
    (part,) = shown.parts
    assert part.nodes == [1] and part.people.tolist() == [3] and len(part.updates) == 1
    assert np.allclose(part.updates.row(0), sent + np.array([0.5, 1 / 3, -0.5]), atol=1e-5)
    assert not UpdateAdder(clip=2.0, least_contributors=4).add(answers(sent + moves), sent)  # fewer than h: no sum


def test_shares_of_h_devices_are_the_noise_of_the_server() -> None:
    """Exactly: h variances of a share are (z C)^2, rounded up by less than a step of the deviation's grid a share."""
    people = 200
    central, h = METHOD.multiplier(people, BUDGET) * METHOD.clip, METHOD.least_honest(people)
    share = METHOD.share(FACTS, BUDGET, people)
    deviation = share.deviation / UNIT * share.clip / STEPS
    assert h == 100 and central <= math.sqrt(h) * deviation <= central * (1 + 1e-9)


def test_the_law_of_the_sum_is_that_of_central_noise_at_h() -> None:
    """20,000 weights: the variance of the sum of h shares is (z C)^2 within 5 deviations of its estimate."""
    people, size = 16, 20_000
    method = DPFedAvg(noise="distributed", rounds=1, honest=0.5, noise_multiplier=1.5)
    share, h = method.share(FACTS, BUDGET, people), method.least_honest(people)
    sent = np.zeros(size, np.float64)
    rows = np.array([share.perturb(np.zeros(size), bytes([number]) * 32) for number in range(h)])
    (part,) = UpdateAdder(method.clip, h).add(answers(rows), sent).parts
    found = (h * part.updates.row(0)).var()
    assert abs(found / 1.5**2 - 1) < 5 * math.sqrt(2 / size)


def test_epsilon_at_h_and_at_fewer() -> None:
    """Of 200 devices 100 are honest; with half of them gone the noise is that of 50 shares."""
    people, z = 200, METHOD.multiplier(200, BUDGET)
    found = METHOD.guarantee_of_sums(people, 3, z)
    whole = found.holds["user"]
    everybody = Rounds(rounds=3, people=people, sample=people, delta=1e-3)
    assert whole.value == central_epsilon(everybody, z) <= 3.0 + 1e-6
    for less, left in {"10": 90, "30": 70, "50": 50}.items():
        assert whole.figures[f"fewer_{less}"] == central_epsilon(everybody, z * math.sqrt(left / 100))
    assert found.holds["label"] == found.holds["vector"] == whole and found.holds["central_node"].status == "not asked"
    assert METHOD.effective_spec().trusted == "sum" and DPFedAvg().effective_spec().trusted == "server"


def test_no_draw_amplifies_towards_a_server_that_knows_whom_it_asks() -> None:
    method = DPFedAvg(noise="distributed", rounds=10, fraction=0.5)
    assert method.answers == 5 and method.rounds_of(200) == Rounds(rounds=5, people=200, sample=200, delta=1e-3)
    assert method.least_honest(201) == 90
    with pytest.raises(ValueError, match="devices take turns"):
        DPFedAvg(noise="distributed", fraction=0.3)
    with pytest.raises(ValueError, match="clipping=adaptive"):
        DPFedAvg(noise="distributed", clipping="adaptive")
