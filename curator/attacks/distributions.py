"""The exact output distribution of a mechanism's code, found by running the code on chosen draws.

A mechanism reads randomness through a few methods of its noise stream. A scripted stream
enumerates every outcome of every draw and multiplies the exact probabilities, t / 2**64 for
a trial of threshold t. The result is the distribution of the code itself. It does not depend on the
documentation, on ``log_probability`` or on ``loss``.

Draws by inversion (:mod:`ldpsim.devices.mechanisms.inversion`) read one 64-bit word, and what
comes out is monotone in it. The places where it changes are found by parting intervals, and the
distances between them, over 2**64, are the probabilities, to ten digits. Words below 2**43
are left out: the distribution then holds up to a mass of about 2**-20.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.mechanisms.smallest import smallest

ONE = 1 << 64
HALF = 1 << 63
_FLOOR = 1 << 43
_PRECISION = 36  # bits of a place where the outcome changes
MOST_BRANCHES = 50_000
_PARTS = 16  # of an interval in which the outcome changes: the words between them are tried at once
_MOST_STEPS = 400  # different outcomes of one sign that a bisection follows

Draw = Callable[[Any], Sequence[Hashable]]  # an outcome for each row of the noise


class NotWalkable(Exception):
    """The draws are of a kind, or too many, to be walked through."""


@dataclass(frozen=True)
class OutputDistribution:
    """Probabilities by outcome, and the mass of what is not among them.

    Args:
        chances: Outcome -> probability, exact.
        lost: Upper bound on the probability of all other outcomes.
    """

    chances: dict[Hashable, Fraction]
    lost: float = 0.0


class _Branch:
    """A noise stream on one branch of the tree of all draws."""

    def __init__(self, path: list[int]) -> None:
        self.path = path  # the choice at each step; grows by first choices
        self.options: list[int] = []
        self.chance = Fraction(1)

    def _choose(self, weights: list[Fraction]) -> int:
        step = len(self.options)
        if step == len(self.path):
            self.path.append(0)
        self.options.append(len(weights))
        taken = self.path[step]
        self.chance *= weights[taken]
        return taken

    def __len__(self) -> int:
        return 1

    def bernoulli(self, threshold: Any, size: int) -> NDArray[np.bool_]:
        thresholds = np.broadcast_to(np.asarray(threshold, object), (1, size))[0].tolist()
        trials = []
        for t in map(int, thresholds):
            if not 0 < t < ONE:
                raise ValueError(f"a threshold of {t} draws no noise")
            trials.append(self._choose([Fraction(ONE - t, ONE), Fraction(t, ONE)]) == 1)
        return np.array([trials], np.bool_)

    def uniform_integers(self, bound: Any, size: int) -> NDArray[np.int64]:
        bounds = np.broadcast_to(bound, (1, size))[0].tolist()
        return np.array([[self._choose([Fraction(1, each)] * each) for each in bounds]], np.int64)

    def next_draw(self) -> _Words:
        raise _Inversion

    def __getattr__(self, name: str) -> Any:
        raise NotWalkable(f"{name} is not walked through")


class _Inversion(Exception):
    """The mechanism asked for words."""


class _Words:
    """Noise with one draw of one word a row, which are chosen; further words, which settle ties alone, are 0."""

    def __init__(self, words: Sequence[int]) -> None:
        self._words, self._read = words, False

    def __len__(self) -> int:
        return len(self._words)

    def next_draw(self) -> _Words:
        if self._read:
            raise NotWalkable("words and further draws are drawn together")
        return self

    def numbers(self, size: int, octets: int, rows: Any = None) -> NDArray[np.uint64]:
        if (size, octets) != (1, 8):
            raise NotWalkable("several words are drawn at once")
        self._read = True
        return np.array(self._words, np.uint64)[:, None]

    def words_of(self, row: int, trial: int, octets: int) -> Iterator[int]:
        return repeat(0)

    def __getattr__(self, name: str) -> Any:
        raise NotWalkable(f"words and {name} are drawn together")


def output_distribution(draw: Draw, *, most: int = MOST_BRANCHES) -> OutputDistribution:
    """Return the distribution of ``draw(noise)``; ``most`` bounds how many outcomes of the draws are walked through.

    Raises:
        NotWalkable: for draws that are too many, or of several words at once.
    """
    try:
        return _walk(draw, most)
    except _Inversion:
        return _bisect(draw)


def _walk(draw: Draw, most: int) -> OutputDistribution:
    chances: dict[Hashable, Fraction] = {}
    path: list[int] = []
    for _ in range(most):
        branch = _Branch(path)
        (outcome,) = draw(branch)
        chances[outcome] = chances.get(outcome, Fraction(0)) + branch.chance
        path = path[: len(branch.options)]
        while path and path[-1] == branch.options[len(path) - 1] - 1:
            path.pop()
        if not path:
            return OutputDistribution(chances)
        path[-1] += 1
    raise NotWalkable(f"more than {most} outcomes of the draws")


def _bisect(draw: Draw) -> OutputDistribution:
    chances: dict[Hashable, Fraction] = {}
    for sign in (0, HALF):
        segments = _segments(lambda words, s=sign: draw(_Words([s | word for word in words])))  # type: ignore[misc]
        # the first segment goes on below the window, so its probability is not known
        for outcome, size in segments[1:]:
            chances[outcome] = chances.get(outcome, Fraction(0)) + Fraction(size, ONE)
    return OutputDistribution(chances, lost=float(1 - sum(chances.values())))


def _segments(at: Callable[[list[int]], Sequence[Hashable]]) -> list[tuple[Hashable, int]]:
    """Outcomes over the window of words, in order, each with how many words give it."""
    segments: list[tuple[Hashable, int]] = []
    low, (here, last) = _FLOOR, at([_FLOOR, HALF - 1])
    while here != last:
        below, above, after = low, HALF - 1, last  # the first word that gives something else lies in (below, above]
        words = [low + (max(1, low // 8) << power) for power in range(64)]  # near first: most segments are short
        while above - below > 1 + (below >> _PRECISION):
            words = [word for word in words if below < word < above]
            outcomes = at(words) if words else ()
            place = next((place for place, outcome in enumerate(outcomes) if outcome != here), None)
            if place is not None:
                above, after = words[place], outcomes[place]
            below = max([below, *words[:place]])
            words = sorted({below + (above - below) * part // _PARTS for part in range(1, _PARTS)})
        segments.append((here, above - low))
        if len(segments) > _MOST_STEPS:
            raise NotWalkable(f"more than {_MOST_STEPS} outcomes of one sign")
        low, here = above, after
    segments.append((here, HALF - low))
    return segments


def worst_ratio(first: OutputDistribution, second: OutputDistribution) -> float:
    """The largest ln(Pr[y | first] / Pr[y | second]) of any outcome y: the loss, one way.

    Infinite where the second never gives what the first may give. With distributions found
    by bisection it is a lower bound that misses only what lies outside the window of both.
    """
    worst = 0.0
    for outcome, chance in first.chances.items():
        other = second.chances.get(outcome)
        if other:
            worst = max(worst, _ln(chance) - _ln(other))
        elif not second.lost:
            return math.inf
        else:  # what is outside the window has no more than the mass that is outside
            worst = max(worst, _ln(chance) - math.log(second.lost))
    return worst


def delta_at(first: OutputDistribution, second: OutputDistribution, epsilon: float) -> float:
    """The smallest delta with Pr[first in S] <= e^epsilon Pr[second in S] + delta for every S.

    With distributions found by bisection it is a lower bound: what one of them lost counts for it.
    """
    scale = math.exp(epsilon)
    terms = [
        max(0.0, float(chance) - scale * float(second.chances.get(outcome, second.lost)))
        for outcome, chance in first.chances.items()
    ]
    return math.fsum(terms)


def epsilon_at(first: OutputDistribution, second: OutputDistribution, delta: float) -> float:
    """The smallest epsilon >= 0 at which :func:`delta_at` is at most ``delta``."""
    if delta_at(first, second, 0.0) <= delta:
        return 0.0
    try:
        return smallest(lambda epsilon: delta_at(first, second, epsilon), delta, most=500.0)
    except ValueError:
        return math.inf


def _ln(chance: Fraction) -> float:
    return math.log(chance.numerator) - math.log(chance.denominator)
