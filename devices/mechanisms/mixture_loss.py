"""The exact loss of a mixture over subsets of one person's values.

S is a uniform m-subset of d features; those in S are reported by GRR, the others uniformly.
Relative to the uniform distribution the report's probability is e_m(r_1 .. r_d) / C(d, m), with r_i
= g_i p_i where report and value agree, g_i q_i where they do not, and e_m the elementary
symmetric polynomial.

Let the features in K change. The ratio of two such polynomials is largest where the report
agrees with the first value on all of K, with the second one nowhere on K, and with neither
elsewhere: in e_m(r) = sum_j e_j(r on K) e_{m-j}(r elsewhere) the terms gain E^j, and small
r elsewhere give weight to large j. Of all K of one size the largest domains are the worst,
since g q grows with g.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import lru_cache

from ldpsim.devices.mechanisms.exact_loss import ONE, round_up


@lru_cache(maxsize=256)
def mixture_loss(lies: tuple[int, ...], domains: tuple[int, ...], changed: tuple[int, ...], m: int) -> float:
    """Return the loss, rounded up, when features of the sizes ``changed`` (some of ``domains``) change.

    ``lies`` are 64-bit thresholds of Pr[not the truth], by rising size of domain.
    """
    of = dict(zip(sorted(set(domains)), lies, strict=True))
    moved = Counter(changed)
    rest = Counter(domains) - moved
    with localcontext() as context:
        context.prec = 60
        right = {g: Decimal((ONE - of[g]) * g) / ONE for g in of}
        wrong = {g: Decimal(of[g] * g) / (ONE * (g - 1)) for g in of}
        before = elementary([(right[g], moved[g]) for g in moved] + [(wrong[g], rest[g]) for g in rest], m)
        after = elementary([(wrong[g], count) for g, count in Counter(domains).items()], m)
        return round_up((before / after).ln())


def mixture_cost(domains: tuple[int, ...], m: int) -> int:
    """Return an upper bound of the operations that :func:`mixture_loss` takes for one changed feature.

    ``before`` and ``after`` each have at most one factor more than there are sizes. Their terms are
    sum_i (min(t_i, m) + 1), t_i how often size i occurs. The largest factor is multiplied last, for one
    coefficient; the R = d - max t_i others, and the one that changed, make polynomials of at most
    min(R + 1, m) + 1 terms, and each of them multiplies such a polynomial once at most. A size takes
    eight steps more: its probabilities.
    """
    times = Counter(domains).values()
    rest = len(domains) - max(times) + 1
    return 2 * (sum(min(t, m) + 1 for t in times) + 2 + (rest + 1) * (min(rest, m) + 1)) + 8 * len(times)


def elementary(factors: Sequence[tuple[Decimal, int]], m: int) -> Decimal:
    """e_m of the numbers, each given with how often it occurs: the z^m term of prod (1 + value z)^times."""
    *others, (value, times) = sorted(factors, key=lambda factor: factor[1])
    product = [Decimal(1)]
    for other, often in others:
        term = _binomial(other, often, m)
        size = min(m + 1, len(product) + len(term) - 1)
        product = [
            sum((product[a - j] * term[j] for j in range(max(0, a - len(product) + 1), min(a, len(term) - 1) + 1)),
                start=Decimal(0))
            for a in range(size)
        ]  # fmt: skip
    last = _binomial(value, times, m)  # the largest one, of which a single coefficient is needed
    return sum((product[m - j] * last[j] for j in range(max(0, m - len(product) + 1), len(last))), start=Decimal(0))


def _binomial(value: Decimal, times: int, m: int) -> list[Decimal]:
    """The terms z^0 .. z^m of (1 + value z)^times, each made from the one before."""
    terms = [Decimal(1)]
    for j in range(min(times, m)):
        terms.append(terms[-1] * value * (times - j) / (j + 1))
    return terms
