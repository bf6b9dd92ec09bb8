"""Design of the question: the worth of a number of candidates, against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ldpsim.curator.votes.design import HIT_RATE, all_classes, designed_widths, hits, information
from ldpsim.devices.array_types import DoubleArray


def _joint(q: DoubleArray, chosen: tuple[int, ...], epsilon: float) -> DoubleArray:
    """P(class, report) by walking through vote, lie and report; reports are places in ``chosen``."""
    width = len(chosen)
    told = np.exp(epsilon) / (np.exp(epsilon) + width - 1)
    among = np.array([q[k] for k in chosen]) / sum(q[k] for k in chosen)
    joint = np.zeros((len(q), width))
    for c in range(len(q)):
        for vote in range(width):
            chance = among[vote] * (1 - HIT_RATE * (c in chosen)) + HIT_RATE * (chosen[vote] == c)
            for report in range(width):
                joint[c, report] += q[c] * chance * (told if report == vote else (1 - told) / (width - 1))
    return joint


def _information(joint: DoubleArray) -> float:
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    some = joint > 0
    return float((joint[some] * np.log(joint[some] / independent[some])).sum())


def _cases() -> DoubleArray:
    rng = np.random.default_rng(0)
    return np.asarray(-np.sort(-rng.dirichlet(np.full(5, 0.6), size=40), axis=1))


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("width", [2, 3, 5])
def test_both_measures_are_those_of_the_joint_distribution(width: int, epsilon: float) -> None:
    q = _cases()
    told, right = information(q, width, epsilon), hits(q, width, epsilon)
    for row in range(len(q)):
        joint = _joint(q[row], tuple(range(width)), epsilon)
        assert joint.sum() == pytest.approx(1)
        assert told[row] == pytest.approx(_information(joint), abs=1e-12)
        assert right[row] == pytest.approx(joint.max(axis=0).sum() - q[row, 0], abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_the_likeliest_classes_are_the_best_candidates(epsilon: float) -> None:
    """No other set of the same size has more hits; information is at most a hair below the best set's."""
    for q in _cases():
        for width in (2, 3, 4):
            joints = {chosen: _joint(q, chosen, epsilon) for chosen in combinations(range(5), width)}
            first = joints[tuple(range(width))]
            most = max(joint.max(axis=0).sum() for joint in joints.values())
            assert first.max(axis=0).sum() >= most - 1e-12


def test_the_width_with_the_largest_worth_is_taken() -> None:
    q = _cases()
    for epsilon in (1.0, 4.0):
        widths = designed_widths(q, epsilon, "information")
        worth = np.stack([information(q, width, epsilon) for width in range(2, 6)], axis=1)
        assert np.array_equal(widths, worth.argmax(axis=1) + 2)
        more = np.stack([hits(q, width, epsilon) for width in range(2, 6)], axis=1)
        assert np.array_equal(designed_widths(q, epsilon), (more + 1e-6 * worth).argmax(axis=1) + 2)
        chosen = designed_widths(q, epsilon) - 2
        assert (more.max(axis=1) - np.take_along_axis(more, chosen[:, None], axis=1)[:, 0]).max() < 1e-5


def test_a_larger_epsilon_asks_for_more_and_certainty_for_less() -> None:
    q = _cases()
    assert designed_widths(q, 0.5).mean() < designed_widths(q, 3.0).mean() < designed_widths(q, 8.0).mean()
    sure = np.array([[0.998, 0.0005, 0.0005, 0.0005, 0.0005]])
    assert designed_widths(sure, 2.0)[0] <= designed_widths(np.full((1, 5), 0.2), 2.0)[0]


def test_the_scale_of_a_row_plays_no_part_and_zeros_know_nothing() -> None:
    q = _cases()
    rng = np.random.default_rng(1)
    mixed = rng.permuted(7 * q, axis=1)
    assert np.array_equal(designed_widths(mixed, 2.0), designed_widths(q, 2.0))
    assert designed_widths(np.zeros((1, 4)), 2.0)[0] == designed_widths(np.ones((1, 4)), 2.0)[0]


def test_information_decides_where_no_report_changes_a_guess() -> None:
    q = np.array([[0.9, 0.06, 0.02, 0.01, 0.01], [0.97, 0.01, 0.01, 0.005, 0.005]])
    assert all(hits(q, width, 0.5) == pytest.approx([0, 0], abs=1e-12) for width in range(2, 6))
    found = np.stack([information(q, width, 0.5) for width in range(2, 6)], axis=1)
    assert (
        designed_widths(q, 0.5).tolist() == (found.argmax(axis=1) + 2).tolist() != (found.argmin(axis=1) + 2).tolist()
    )


def test_of_equal_widths_the_smallest_is_taken() -> None:
    """Beyond the classes that have a chance, a candidate adds nothing at an infinite loss."""
    assert designed_widths(np.array([[0.5, 0.5, 0.0, 0.0]]), 800.0).tolist() == [2]
    assert designed_widths(np.array([[0.5, 0.3, 0.2, 0.0]]), 800.0).tolist() == [3]


def test_all_classes_where_the_truth_is_told_in_seven_of_eight_cases() -> None:
    for classes in (2, 3, 7, 40):
        least = np.log(7 * (classes - 1))  # e^eps / (e^eps + classes - 1) = 7 / 8
        assert not all_classes(least - 1e-9, classes) and all_classes(least + 1e-9, classes)
    assert all_classes(1e6, 10**6)
