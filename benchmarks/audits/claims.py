"""Claimed against held: public programs restated in a few lines each, and the loss that their noise has.

    python -m benchmarks.audits.claims

Nothing of the programs is here: what they do is stated again, from their code at the named version. A loss is the exact
one of that statement at small size, or a formula that stands beside it. The rows go to ``docs/results/claims.csv``.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.stats import binom, norm

from benchmarks import RESULTS
from benchmarks.audits.accountants import TABLE as ACCOUNTANTS
from benchmarks.study import read_rows, write_rows
from ldpsim.curator.attacks.mechanism_audit import Effort
from ldpsim.curator.attacks.randomiser_audit import Randomiser, audit_randomiser
from ldpsim.curator.owner.privacy.label import label_epsilon
from ldpsim.curator.owner.privacy.vector import rdp_epsilon
from ldpsim.curator.privacy.shuffle import shuffled_epsilon
from ldpsim.curator.shown import loss_in_table, shown_bound, shown_loss
from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.mechanisms import gaussian
from ldpsim.strategies.seeded import seeded

NONE = math.inf
DELTA = 1e-5
CORA, COLUMNS = 2708, 1433  # people and features of Cora
FEDGRAPH, OPENFGL = ("FedGraph", "1eef9066"), ("OpenFGL", "5483768e")
FEDGRAPH_RUN = ("FedGraph", "0.2.5")
GAP, PROGAP = ("GAP", "926e375"), ("ProGAP", "3ccad59")
LPGNN, LPGNN_RANGE = ("LPGNN", "code of 2021-11"), ("LPGNN", "55e92b0")
BLINK, SOLITUDE = ("Blink", "947ec30"), ("Solitude, in Blink's", "947ec30")
RGNN, PRIVGNN = ("RGNN", "58af9822"), ("PrivGnn", "7ffe0d55")
FLOWER, FLIP = ("Flower, LocalDpMod", "1.41 and 1.42"), ("FLIP", "dd7ad6a0")
SHUFFLING = ("ml-shuffling-amplification", "993d285")
Program = tuple[str, str]
_TINY = 1e-12


@dataclass(frozen=True)
class Claim:
    """A row of the table.

    Args:
        program: Name, and the commit or the date.
        part: Part of it, with its setting.
        claimed: Epsilon that it states.
        changes: Data that differ.
        holds: Loss: infinite where nothing bounds it; None where the program stops.
        how: How the loss is known.
        delta: Delta of both figures.
        shown: Lower bound from trials of the restated code, where there are trials.
    """

    program: Program
    part: str
    claimed: float
    changes: str
    holds: float | None
    how: str
    delta: float = 0.0
    shown: float | None = None


def worst(law: Mapping[Any, Mapping[Any, float]]) -> float:
    """Return the largest log-ratio of the probabilities of a report under two values, infinite if one excludes it."""
    most = 0.0
    for one, other in product(law.values(), repeat=2):
        for report, chance in one.items():
            if chance > _TINY:
                rest = other.get(report, 0.0)
                most = max(most, math.log(chance / rest) if rest > _TINY else NONE)
    return most


def rounded(law: Callable[[Any], Mapping[Any, float]], values: Sequence[Any]) -> dict[Any, Mapping[Any, float]]:
    """Return value -> {report: probability}."""
    return {value: law(value) for value in values}


def sign_flip(epsilon: float) -> Callable[[float], dict[float, float]]:
    """FedGraph, ``mechanism="local"``: each number is sent as it is with probability p, else with the other sign."""
    p = math.exp(epsilon) / (math.exp(epsilon) + 1)
    return lambda value: {value: 1.0} if value == 0 else {value: p, -value: 1 - p}


def classical_deviation(epsilon: float, sensitivity: float = 1.0) -> float:
    """Return sensitivity sqrt(2 ln(1.25 / DELTA)) / epsilon: its theorem holds below epsilon 1 only."""
    return sensitivity * math.sqrt(2 * math.log(1.25 / DELTA)) / epsilon


def fedgraph(effort: Effort) -> Iterator[Claim]:
    """Yield the rows of FedGraph's three mechanisms for the sums that trainers send."""
    law, numbers = sign_flip(1.0), (-2.0, -1.0, 1.0, 2.0)

    def draw(value: float) -> float:
        return value if random.random() < math.e / (math.e + 1) else -value

    with seeded(effort.seed):
        shown = audit_randomiser(Randomiser("sign", draw, list(numbers), law), effort, claimed=1.0)[0].lower_bound
    yield Claim(FEDGRAPH, "local: x or -x", 1.0, "any number", worst(rounded(law, numbers)),
                "exact distribution, and trials", shown=shown)  # fmt: skip
    yield Claim(FEDGRAPH, "local: x or -x", 1.0, "the sign of a number", worst(rounded(law, numbers[1:3])),
                "exact distribution")  # fmt: skip
    for epsilon in (1.0, 8.0, 12.0):
        sigma = classical_deviation(epsilon)  # sensitivity 1, clip 1
        for changes, shift in (("a trainer's sum is left out", 1.0), ("a trainer's sum is another one", 2.0)):
            held = gaussian.epsilon_of(DELTA, shift=shift, sigma=sigma)
            yield Claim(FEDGRAPH, "gaussian, clip 1", epsilon, changes, held, "exact Gaussian curve", DELTA)
    for size, words in ((2, "2 numbers"), (CORA * COLUMNS, "the sums of Cora")):
        # clipped in L2 to 1, with Laplace noise of scale 1 / epsilon: the L1 distance is the root of the size
        yield Claim(FEDGRAPH, f"laplace, clip 1 in L2, {words}", 1.0, "a trainer's sum is left out", math.sqrt(size),
                    "L1 distance over the scale")  # fmt: skip
    yield Claim(FEDGRAPH_RUN, "a whole run, the printed budget", 1.0, "a trainer's data", NONE,
                "the updates of the rounds have no noise and are not counted", DELTA)  # fmt: skip


def updates() -> Iterator[Claim]:
    """Yield the rows of Flower's local noise on updates, and of a program whose defaults have another sensitivity."""
    clip, rounds, part = 1.0, 10, "clip 1, sensitivity 1"
    changed = (("an update is left out", clip), ("an update is another one", 2 * clip))
    for epsilon in (8.0, 16.0):
        for changes, shift in changed:
            held = gaussian.epsilon_of(DELTA, shift=shift, sigma=classical_deviation(epsilon))
            yield Claim(FLOWER, part, epsilon, changes, held, "exact Gaussian curve", DELTA)
    held = gaussian.epsilon_of(DELTA, shift=clip * math.sqrt(rounds), sigma=classical_deviation(8.0))
    yield Claim(FLOWER, f"{part}, {rounds} rounds", 8.0, "all updates of a client are left out", held,
                f"exact Gaussian curve of {rounds} rounds", DELTA)  # fmt: skip
    sensitivity = 1e-4
    for changes, shift in (("an example that moves the update by 1e-4", sensitivity), *changed):
        held = gaussian.epsilon_of(DELTA, shift=shift, sigma=classical_deviation(10.0, sensitivity))
        yield Claim(FLIP, "its defaults: clip 1, sensitivity 1e-4", 10.0, changes, held, "exact Gaussian curve", DELTA)


def shuffling() -> Iterator[Claim]:
    """Yield the rows of an accountant of shuffled reports: its upper bound as printed, and with few people."""
    delta, steps = 1e-6, 10  # of its bisection
    printed = 0.172790550755978  # its README: n 1e5, local 4, step 100
    yield Claim(SHUFFLING, "upper bound, n 1e5, local 4, step 100", printed, "a person's report",
                shuffled_epsilon(people=10**5, local=4.0, delta=delta), "both distributions of its analysis, exact",
                delta)  # fmt: skip
    # With n <= step its loop over the number of clones is empty: delta is 0 everywhere, and each step halves epsilon.
    yield Claim(SHUFFLING, "upper bound, n 100, local 1, step 100", 1.0 / 2**steps, "a person's bit, all others are 0",
                least_epsilon(shuffled_bit_deltas(100, 1.0), delta), "exact distribution of the number of ones",
                delta)  # fmt: skip


def shuffled_bit_deltas(people: int, local: float) -> Callable[[float], float]:
    """Return delta(epsilon) of one bit among shuffled randomised responses of ``people``, where all others have 0."""
    flip = 1 / (1 + math.exp(local))
    lower, upper = (binom.pmf(np.arange(people + 1) - k, people - 1, flip) for k in (0, 1))
    return delta_curve((1 - flip) * lower + flip * upper, flip * lower + (1 - flip) * upper)


def openfgl() -> Iterator[Claim]:
    """Yield OpenFGL's row: the noise reads ``dp_eps`` and ``dp_delta``, and the options have ``dp_epsilon`` alone."""
    options = argparse.Namespace(dp_mech="gaussian", dp_epsilon=1.0, grad_clip=1.0, num_rounds=100, client_frac=1.0)
    stops = not all(hasattr(options, name) for name in ("dp_eps", "dp_delta"))
    yield Claim(OPENFGL, "laplace, gaussian", 1.0, "a client's data", None if stops else 1.0,
                "options it has against options it reads", DELTA)  # fmt: skip


def owners() -> Iterator[Claim]:
    """Yield the rows of GAP and ProGAP: the noise of their accountants against one arc and an undirected edge."""
    programs = {"GAP": GAP, "ProGAP": PROGAP}
    for row in read_rows(ACCOUNTANTS):
        part = f"edge level, {row['hops']} hops, autodp {row['autodp']}"
        program, epsilon, delta = programs[row["program"]], float(row["epsilon"]), float(row["delta"])
        if not row["sigma"]:
            if epsilon == 1:
                yield Claim(
                    program, part, epsilon, "an edge", None, f"it ends with {row['error'].partition(':')[0]}", delta
                )
            continue
        sigma = float(row["sigma"]) / math.sqrt(int(row["hops"]))
        for changes, shift in (("an arc", 1.0), ("an undirected edge", math.sqrt(2))):
            yield Claim(program, part, epsilon, changes, gaussian.epsilon_of(delta, shift=shift, sigma=sigma),
                        f"exact Gaussian curve at noise {row['sigma']}", delta)  # fmt: skip
    degree, bound, sigma = 168, 100, 1.386705  # neighbours of one person in Cora; D and noise of epsilon 8
    yield Claim(GAP, "node level, D 100, own embedding of one hop", 8.0, f"a person on {degree} lists",
                gaussian.epsilon_of(1e-4, shift=degree, sigma=sigma * math.sqrt(bound)), "exact Gaussian curve",
                1e-4)  # fmt: skip
    yield Claim(GAP, "node level, own prediction", 8.0, "a person", NONE,
                "the prediction reads the person's own features without noise", 1e-4)  # fmt: skip
    for people in (1, 5, 50):
        losses = sampled_deltas(people, gaussian.calibrate(1.0, DELTA, shift=1.0))
        yield Claim(GAP, f"node level, D 1, 1 hop, {people} lists of two", 1.0, "a person on all these lists",
                    least_epsilon(losses, DELTA), "both distributions by quadrature", DELTA)  # fmt: skip


def sampled_deltas(people: int, sigma: float) -> Callable[[float], float]:
    """Return delta(epsilon) of N(m, s^2) and N(Bin(m, 1/2), s^2): one of two on each list is drawn, or one is left."""
    x = np.arange(-12 * sigma, people + 12 * sigma, 1e-2)
    drawn = sum(math.comb(people, k) / 2**people * norm.pdf(x, k, sigma) for k in range(people + 1))
    left = norm.pdf(x, people, sigma)
    return delta_curve(left, drawn, width=1e-2)


def delta_curve(one: FloatArray, other: FloatArray, width: float = 1.0) -> Callable[[float], float]:
    """Return delta(epsilon) of two laws on the same points, each of this width: the larger one of both directions."""
    pairs = ((one, other), (other, one))
    return lambda epsilon: max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) * width for p, q in pairs)


def least_epsilon(delta_of: Callable[[float], float], delta: float) -> float:
    """Return the smallest epsilon with delta(epsilon) <= delta, from above within 1e-9."""
    low, high = 0.0, 1.0
    while delta_of(high) > delta:
        low, high = high, 2 * high
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) > delta else (low, middle)
    return high


def multi_bit(d: int, m: int, epsilon: float) -> Callable[[Sequence[float]], dict[Any, float]]:
    """LPGNN's features in [0, 1]: m of d drawn, each a bit with budget epsilon / m, the others 0."""
    e = math.exp(epsilon / m)

    def law(x: Sequence[float]) -> dict[Any, float]:
        ones = [1 / (e + 1) + value * (e - 1) / (e + 1) for value in x]
        chances: dict[Any, float] = {}
        for chosen in combinations(range(d), m):
            for bits in product((1, -1), repeat=m):
                by_place = dict(zip(chosen, bits, strict=True))
                report = tuple(by_place.get(place, 0) for place in range(d))
                chance = math.prod(ones[place] if bit > 0 else 1 - ones[place] for place, bit in by_place.items())
                chances[report] = chance / math.comb(d, m)
        return chances

    return law


def response(epsilon: float, size: int) -> Callable[[Sequence[int]], dict[Any, float]]:
    """Randomised response on every entry of a list of a size, as Blink's and Solitude's clients send their row."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    return lambda row: {
        report: math.prod(keep if bit == entry else 1 - keep for bit, entry in zip(row, report, strict=True))
        for report in product((0, 1), repeat=size)
    }


def local() -> Iterator[Claim]:
    """Yield the rows of LPGNN, Blink, Solitude and RGNN."""
    corners = list(product((0.0, 1.0), repeat=4))
    yield Claim(LPGNN, "multi-bit, 2 of 4 features in a public range", 1.0, "all features",
                worst(rounded(multi_bit(4, 2, 1.0), corners)), "exact distribution")  # fmt: skip
    # every client needs the smallest and the largest private value of a feature, and is told them as they are
    ranges = {value: {max(value, 1.0): 1.0} for value in (1.0, 2.0)}
    yield Claim(LPGNN_RANGE, "the range of a feature, of private values", 1.0, "the largest value", worst(ranges),
                "exact distribution: it has no noise")  # fmt: skip
    share = 0.1  # of the degree
    bits = worst(rounded(response((1 - share) * 5, 3), list(product((0, 1), repeat=3))[:2]))
    entry = bits + share * 5  # a degree that moves by one has Laplace noise of scale 1 / (share epsilon)
    for changes, times in (("an entry of a list", 1), ("an edge, in both lists", 2)):
        yield Claim(BLINK, "row and degree, share .1", 5.0, changes, times * entry,
                    "exact distribution, and the Laplace ratio")  # fmt: skip
    link = worst(rounded(response(7.0, 3), list(product((0, 1), repeat=3))[:2]))
    whole = worst(rounded(response(7.0, 3), list(product((0, 1), repeat=3)))) / 3
    for changes, loss in (("an entry of a list", link), ("an edge, in both lists", 2 * link),
                          ("a person's list, Cora", whole * (CORA - 1))):  # fmt: skip
        yield Claim(SOLITUDE, "row of links, epsilon 7", 7.0, changes, loss,
                    "exact distribution of 3 entries, each alike")  # fmt: skip
    d, m, each = 6, 2, 1.0
    vectors = [(0,) * d, (1,) * d]
    stated = math.log(1 + m / d * (math.exp(m * each) - 1))
    yield Claim(RGNN, "2 of 6 features, epsilon 1 each", stated, "all features",
                worst(rounded(sampled_response(d, m, each), vectors)), "exact distribution")  # fmt: skip


def sampled_response(d: int, m: int, epsilon: float) -> Callable[[Sequence[int]], dict[Any, float]]:
    """RGNN's features: m of d drawn, each told by randomised response, the others are coins."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))

    def law(x: Sequence[int]) -> dict[Any, float]:
        chances = dict.fromkeys(product((0, 1), repeat=d), 0.0)
        for chosen, report in product(list(combinations(range(d), m)), list(chances)):
            chance = math.prod(keep if report[place] == x[place] else 1 - keep for place in chosen)
            chances[report] += chance / 2 ** (d - m) / math.comb(d, m)
        return chances

    return law


def privgnn() -> Iterator[Claim]:
    """Yield the rows of PrivGnn: noise on log-probabilities, and the printed figure with noise on probabilities."""
    printed = 2.67
    used, stated = (rdp_epsilon(loss=0.1, queries=500, delta=delta, gamma=0.3) for delta in (1e-3, 1e-4))
    how = f"its formula gives {shown_loss(used)} at delta 1e-3 and {shown_loss(stated)} at 1e-4"
    yield Claim(PRIVGNN, "Amazon, 500 labels, lambda .1, as coded", printed, "a person", NONE,
                f"noise of scale 10 on log-probabilities, which have no least value; {how}", 1e-4)  # fmt: skip
    yield Claim(PRIVGNN, "the same with noise on probabilities", printed, "a person",
                label_epsilon(classes=10, lambda_=0.1, queries=500, delta=1e-4, gamma=0.3),
                "exact distribution of the labels", 1e-4)  # fmt: skip


def every(effort: Effort) -> list[Claim]:
    """Return all rows."""
    return [*fedgraph(effort), *openfgl(), *owners(), *local(), *privgnn(), *updates(), *shuffling()]


def written(claim: Claim) -> dict[str, str]:
    """Return the line of the table of a row."""
    holds = "stops" if claim.holds is None else "no bound" if math.isinf(claim.holds) else loss_in_table(claim.holds)
    return {
        "program": claim.program[0], "version": claim.program[1], "part": claim.part,
        "claimed": loss_in_table(claim.claimed),
        "delta": f"{claim.delta:g}" if claim.delta else "", "changes": claim.changes, "holds": holds,
        "trials_show": "" if claim.shown is None else shown_bound(claim.shown), "how": claim.how,
    }  # fmt: skip


def main() -> None:
    """Write the table."""
    write_rows(RESULTS / "claims.csv", map(written, every(Effort())))


if __name__ == "__main__":
    main()
