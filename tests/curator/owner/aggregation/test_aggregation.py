"""How far one edge or record moves noisy sums, and the steps under noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

from ldpsim.curator.owner.aggregation.layers import Alone, Classifier, Encoder, Progressive
from ldpsim.curator.owner.aggregation.sums import HandedLists, noisy_sums, rows_of_norm_1
from ldpsim.curator.owner.aggregation.training import Learners, PrivateSteps, clipped_sum, fit_in_place
from ldpsim.curator.owner.privacy.aggregation import ARC, UNDIRECTED, UNDIRECTED_CUT
from ldpsim.devices.array_types import DoubleArray

Lists = tuple[tuple[int, int], ...]


FIVE, FOUR = 5, 4


PAIRS = list(itertools.combinations(range(FIVE), 2))


SIGNS = {n: np.array(list(itertools.product((1.0, -1.0), repeat=n))) for n in (FOUR, FIVE)}


GRAPHS = [tuple(itertools.compress(PAIRS, bits)) for bits in itertools.product((0, 1), repeat=len(PAIRS))]


ENTRIES = [(i, j) for i in range(FOUR) for j in range(FOUR) if i != j]


def handed(lists: Lists, people: int) -> HandedLists:
    senders, names = np.array(lists, np.int64).reshape(-1, 2).T
    return HandedLists(csr_array((people, 1), dtype=np.float32), np.zeros(people, np.int64), senders, names)


@cache
def arcs(lists: Lists, people: int, cap: int | None) -> DoubleArray:
    return np.asarray(handed(lists, people).arcs(0, cap).toarray(), np.float64)


def both(graph: Iterable[tuple[int, int]]) -> Lists:
    return tuple(sorted(entry for pair in graph for entry in (pair, pair[::-1])))


def moved(move: DoubleArray) -> float:
    """Largest change in the L2 norm; rows of norm 1 that point the same way or opposite ways are the worst."""
    return float(np.linalg.norm(move @ SIGNS[len(move)].T, axis=0).max())


def largest(moves: Iterable[DoubleArray]) -> float:
    return max(moved(move) for move in {each.tobytes(): each for each in moves}.values())


@pytest.mark.parametrize(("cap", "shift"), [(None, UNDIRECTED), (1, UNDIRECTED_CUT)])
def test_an_undirected_edge(cap: int | None, shift: float) -> None:
    found = largest(
        arcs(both(graph), FIVE, cap) - arcs(both(pair for pair in graph if pair != edge), FIVE, cap)
        for graph in GRAPHS for edge in graph
    )  # fmt: skip
    assert found <= shift + 1e-12
    assert found == pytest.approx(shift) or cap is not None
    assert found > ARC + 0.1  # the sensitivity of one arc would be too small


def directed() -> Iterable[Lists]:
    for bits in itertools.product((0, 1), repeat=len(ENTRIES)):
        yield tuple(itertools.compress(ENTRIES, bits))


@pytest.mark.parametrize(("cap", "shift"), [(None, UNDIRECTED), (1, math.sqrt(3))])
def test_one_entry_of_one_list(cap: int | None, shift: float) -> None:
    """Every choice of directed lists of four people: an arc needs the names of both ends."""
    found = largest(
        arcs(lists, FOUR, cap) - arcs(tuple(each for each in lists if each != entry), FOUR, cap)
        for lists in directed() for entry in lists
    )  # fmt: skip
    assert found <= shift + 1e-12
    if cap is None:
        assert found == pytest.approx(shift)


def others(move: DoubleArray, person: int) -> DoubleArray:
    """The change of everybody's sums but the person's own."""
    move = move.copy()
    move[person] = 0.0
    return move


@pytest.mark.parametrize("cap", [1, 2])
def test_a_record_joins_or_leaves(cap: int) -> None:
    """Lists of others still name the person: nobody else sends to other people than before."""
    found = largest(
        others(arcs(both(graph), FIVE, cap) - arcs(tuple(e for e in both(graph) if e[0] != person), FIVE, cap), person)
        for graph in GRAPHS for person in range(FIVE)
    )  # fmt: skip
    assert found == pytest.approx(math.sqrt(cap))


@pytest.mark.parametrize("cap", [1, 2])
def test_a_record_is_replaced(cap: int) -> None:
    """Another list, and another row: in the worst case the opposite one to the same people."""
    rest = tuple(entry for entry in both(PAIRS) if entry[0] != 0)
    own_lists = [tuple((0, name) for name in itertools.compress(range(1, FIVE), bits))
                 for bits in itertools.product((0, 1), repeat=FIVE - 1)]  # fmt: skip
    worst = 0.0
    for own, new in itertools.product([arcs((*rest, *own), FIVE, cap) for own in own_lists], repeat=2):
        assert np.array_equal(own[1:, 1:], new[1:, 1:])  # no other person sends anything else
        worst = max(worst, *(float(np.linalg.norm(own[1:, 0] - sign * new[1:, 0])) for sign in (1, -1)))
    assert worst == pytest.approx(2 * math.sqrt(cap))


def test_everybody_sends_and_nothing_is_counted_twice() -> None:
    """The last person too; self-loops are dropped, and a name twice on a list is one name."""
    complete = both(PAIRS)
    assert arcs(complete, FIVE, None).sum() == FIVE * (FIVE - 1)
    odd = handed((*complete, (1, 1), (4, 0), (4, 0)), FIVE)
    assert np.array_equal(odd.arcs(0, None).toarray(), arcs(complete, FIVE, None)) and odd.longest == 4
    assert (arcs(complete, FIVE, 2).sum(axis=0) == 2).all()
    assert handed((), FIVE).longest == 0 and handed((), FIVE).arcs(0, 3).nnz == 0
    assert arcs(((0, 1), (2, 0)), FIVE, None).sum() == 0  # both ends list an edge


def test_rows_have_norm_1_and_rows_of_zeros_stay() -> None:
    rows = rows_of_norm_1(np.array([[3, 4], [0, 0], [1e-30, 0]], np.float32))
    assert np.allclose(rows, [[0.6, 0.8], [0, 0], [1, 0]])


@pytest.mark.filterwarnings("error")
def test_a_row_that_is_not_finite_is_one_of_zeros() -> None:
    rows = rows_of_norm_1(np.array([[np.inf, 1], [np.nan, 0], [-np.inf, np.inf], [0, 2]], np.float32))
    assert np.array_equal(rows, [[0, 0], [0, 0], [0, 0], [0, 1]])


def test_noise_has_its_deviation_and_isolated_people_get_noise_alone() -> None:
    rows = np.ones((2, 40_000), np.float32)
    found = noisy_sums(csr_array(np.array([[0, 1], [0, 0]], np.float32)), rows, 2.0, np.random.default_rng(1))
    mean = 5 * 2 / math.sqrt(rows.shape[1])  # five deviations of a mean: a false alarm of 6e-7
    assert np.allclose(found.mean(axis=1), [1, 0], atol=mean) and np.allclose(found.std(axis=1), 2, atol=mean)
    silent = noisy_sums(csr_array((2, 2), dtype=np.float32), rows, 0.0, np.random.default_rng(1))
    assert not silent.any()


KINDS: dict[str, Any] = {
    "alone": lambda: (Alone(6, 4, 3, norm="none"), 1),
    "alone-group": lambda: (Alone(6, 4, 3, norm="group"), 1),
    "encoder": lambda: (Encoder(6, 4, 3, norm="none"), 1),
    "classifier": lambda: (Classifier(3, 6, 3, norm="none"), 3),
    "progressive": lambda: (staged(), 2),
}


def staged() -> Progressive:
    network = Progressive(6, 6, 3, stages=2, norm="group")
    network.stage = 1
    return network


def people(rows: int, channels: int) -> tuple[list[Tensor], Tensor]:
    draws = torch.Generator().manual_seed(3)
    given = [3 * torch.randn(rows, 6, generator=draws) for _ in range(channels)]
    return given, torch.arange(rows) % 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clip", [0.3, 1e6])
def test_the_clipped_sum_is_that_of_each_person_alone(kind: str, clip: float) -> None:
    torch.manual_seed(1)
    network, channels = KINDS[kind]()
    rows, labels = people(9, channels)
    weights = list(network.of_stage() if kind == "progressive" else network.parameters())
    expected = [torch.zeros_like(weight) for weight in weights]
    norms = []
    for person in range(len(labels)):
        loss = functional.cross_entropy(network([each[person : person + 1] for each in rows]), labels[person][None])
        slopes = torch.autograd.grad(loss, weights)
        norms.append(math.sqrt(sum(float((slope**2).sum()) for slope in slopes)))
        for total, slope in zip(expected, slopes, strict=True):
            total += slope * min(1.0, clip / norms[-1])
    assert max(norms) > 0.3
    found = clipped_sum(network, rows, labels, weights, clip)
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_one_person_moves_the_sum_by_the_clipping_norm_at_most(kind: str) -> None:
    torch.manual_seed(1)
    network, channels = KINDS[kind]()
    rows, labels = people(9, channels)
    rows[0][4] = math.inf  # and a gradient that overflows counts as none
    weights = list(network.of_stage() if kind == "progressive" else network.parameters())
    whole = clipped_sum(network, rows, labels, weights, 0.5)
    for person in range(len(labels)):
        rest = [number for number in range(len(labels)) if number != person]
        less = clipped_sum(network, [each[rest] for each in rows], labels[rest], weights, 0.5)
        moved = math.sqrt(sum(float(((one - other) ** 2).sum()) for one, other in zip(whole, less, strict=True)))
        assert moved <= 0.5 + 1e-5


def test_a_step_that_draws_nobody_has_noise_alone() -> None:
    network = Alone(6, 4, 3, norm="none")
    rows, labels = people(0, 1)
    assert not any(part.any() for part in clipped_sum(network, rows, labels, list(network.parameters()), 1.0))
    rows, labels = people(9, 1)
    learners = Learners(labels.numpy(), np.arange(9), np.zeros(0, np.int64))
    steps = PrivateSteps(3, 1e-9, 1.0, 1.0, np.random.default_rng(1))
    fit_in_place(network, rows, learners, weights=list(network.parameters()), lr=0.01, weight_decay=0.0, epochs=1,
                 private=steps)  # fmt: skip
    assert all(torch.isfinite(weight).all() for weight in network.parameters())


def test_noise_of_a_step_has_its_deviation(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Alone(400, 50, 3, norm="none")
    rows, labels = [torch.zeros(10, 400)], torch.zeros(10, dtype=torch.int64)
    seen: list[Tensor] = []

    def keep(self: Any) -> None:
        seen.extend(weight.grad.clone() for weight in self.parameters)

    monkeypatch.setattr("ldpsim.curator.learning.loop.Adam.step", keep)
    learners = Learners(labels.numpy(), np.arange(10), np.zeros(0, np.int64))
    fit_in_place(network, rows, learners, weights=list(network.parameters()), lr=0.01, weight_decay=0.0, epochs=1,
                 private=PrivateSteps(1, 0.5, 3.0, 2.0, np.random.default_rng(1)))  # fmt: skip
    first = seen[0].double()  # features of zeros: nothing but noise of 3 * 2 / (0.5 * 10)
    error = 5 / math.sqrt(2 * first.numel())
    assert float(first.std()) == pytest.approx(1.2, rel=error)
