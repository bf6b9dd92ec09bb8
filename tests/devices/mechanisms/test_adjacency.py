"""Degrees, counts by group, noisy rows and rows in clear: exact losses at every level, one end and both.

This file also covers ``degree.py``, ``group_degrees.py``, ``noisy_row.py``, ``clear.py`` and ``integers.py``
of ``devices/mechanisms``.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ldpsim.devices.mechanisms import ClearAdjacency, Degree, GroupDegrees, NoisyRow
from ldpsim.devices.mechanisms.codecs import pack_integers, unpack_integers
from ldpsim.devices.mechanisms.counts import random_grouping
from ldpsim.devices.mechanisms.mechanism import one_value
from ldpsim.devices.noise import Noise
from tests.devices.mechanisms.examples import person

N = 5
GROUPS = (0, 1, 1, 0, 1)


def lists(device: int, reporting: str) -> list[list[int]]:
    others = [j for j in range(N) if j != device and (reporting == "both" or j < device)]
    return [list(c) for size in range(len(others) + 1) for c in itertools.combinations(others, size)]


def window(mechanism: object) -> list[object]:
    if isinstance(mechanism, Degree):
        return list(range(-30, 35))
    return [np.array(r) for r in itertools.product(range(-12, 17), repeat=2)]


@pytest.mark.parametrize("reporting", ["both", "one-end"])
@pytest.mark.parametrize("device", [0, 2, 4])
@pytest.mark.parametrize("kind", ["degree", "group_degrees"])
def test_losses_by_enumeration(kind: str, device: int, reporting: str) -> None:
    """Every pair of lists that differ in k entries: the worst ratio is k eps, whatever the groups."""
    if kind == "degree":
        mechanism: Degree | GroupDegrees = Degree.from_epsilon(1.2, n=N, reporting=reporting)  # type: ignore[arg-type]
    else:
        mechanism = GroupDegrees.from_epsilon(1.2, n=N, groups=2, reporting=reporting)  # type: ignore[arg-type]
    every = lists(device, reporting)
    logs = []
    for neighbours in every:
        value = one_value(mechanism, person(near=neighbours), device, grouping=GROUPS)
        logs.append([mechanism.log_probability(r, value) for r in window(mechanism)])
    table = np.array(logs)
    assert np.exp(table).sum(axis=1) == pytest.approx(1, abs=1e-5)
    bits = mechanism.targets(device)
    for k in range(1, bits + 1):
        found = max(
            (table[i] - table[j]).max()
            for (i, a), (j, b) in itertools.permutations(enumerate(every), 2)
            if len(set(a) ^ set(b)) == k
        )
        assert found == pytest.approx(1.2 * k, abs=1e-9)
    loss = mechanism.loss(device=device)
    assert loss.bit == (1.2 if bits else 0.0) and loss.vector == pytest.approx(1.2 * bits, abs=2e-9)
    assert mechanism.loss().vector == pytest.approx(1.2 * (N - 1), abs=2e-9)  # the largest of any device
    assert loss.delta == 0


def test_integers_of_every_width_are_read_back() -> None:
    for bits in range(64):
        for number in ((1 << bits) - 1, -(1 << bits)):  # the largest and the least of this many bits and a sign
            data = pack_integers(np.array([0, number]))
            assert len(data) == 1 + 2 * (bits // 8 + 1)
            assert unpack_integers(data, 2).tolist() == [0, number]


@pytest.mark.parametrize("reporting", ["both", "one-end"])
def test_what_is_counted(reporting: str) -> None:
    degree = Degree.from_epsilon(1.0, n=N, reporting=reporting)  # type: ignore[arg-type]
    groups = GroupDegrees.from_epsilon(1.0, n=N, groups=2, reporting=reporting)  # type: ignore[arg-type]
    for device in range(N):
        for neighbours in lists(device, "both"):
            counted = [j for j in neighbours if reporting == "both" or j < device]
            assert one_value(degree, person(near=neighbours), device) == len(counted)
            found = one_value(groups, person(near=neighbours), device, grouping=GROUPS)
            assert found.tolist() == [sum(GROUPS[j] == g for j in counted) for g in (0, 1)]


@pytest.mark.parametrize("kind", ["degree", "group_degrees", "noisy_row", "clear"])
def test_a_one_ended_report_does_not_read_later_entries(kind: str) -> None:
    mechanism = {
        "degree": Degree.from_epsilon(1.0, n=N, reporting="one-end"),
        "group_degrees": GroupDegrees.from_epsilon(1.0, n=N, groups=2, seed=3, reporting="one-end"),
        "noisy_row": NoisyRow.from_epsilon(1.0, n=N, reporting="one-end"),
        "clear": ClearAdjacency(N, "one-end"),
    }[kind]
    answers = {
        mechanism.respond([person(near=[0, *later])], Noise([bytes([1]) * 32]), devices=[2])[0]
        for later in ([], [3], [4], [3, 4])
    }
    assert len(answers) == 1
    assert mechanism.loss(device=0).vector == 0 < mechanism.loss(device=2).vector


def test_a_random_grouping_is_public_and_even() -> None:
    first = random_grouping(6, 3, 0)
    # SplitMix64 from 0: the published first outputs, modulo 3
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert first[:4].tolist() == [word % 3 for word in published]
    assert random_grouping(6, 3, 0) is first and not first.flags.writeable
    sizes = np.bincount(random_grouping(30_000, 4, 12))
    assert np.abs(sizes - 7500).max() < 5.2 * math.sqrt(30_000 * 3 / 16)
    assert not np.array_equal(random_grouping(100, 4, 1), random_grouping(100, 4, 2))


def test_which_groupings_can_be_answered() -> None:
    own, given = (GroupDegrees.from_epsilon(1.0, n=4, groups=3, seed=s) for s in (0, -1))
    assert own.takes(None) and own.takes((0, 0, 0, 0))
    assert own.groups_of(None).tolist() == random_grouping(4, 3, 0).tolist()  # 0 is a seed
    assert given.takes((0, 2, 1, 0))
    assert not given.takes(None) and not given.takes((0, 2, 1)) and not given.takes((0, 3, 1, 0))


def test_places_in_a_row_are_those_of_its_nodes() -> None:
    for device in range(N):
        for mechanism, inside in (
            (ClearAdjacency(N), [j for j in range(N) if j != device]),
            (ClearAdjacency(N, "one-end"), list(range(device))),
        ):
            assert mechanism.nodes(device, np.arange(len(inside))).tolist() == inside
