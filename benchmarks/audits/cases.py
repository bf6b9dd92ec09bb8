"""Randomisers of other libraries, as callables of one value: pure-ldp and multi-freq-ldpy.

A wrapper builds a client once and calls it for every trial. The libraries are imported here by
name alone, because they are not installed with this project.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.audits import laws

PURE, MULTI = "pure-ldp", "multi-freq-ldpy"
K = 4
GRID = 2.0**53


@dataclass(frozen=True)
class Case:
    """A randomiser to audit.

    Args:
        library: Name of the package.
        name: Mechanism and what it is called with.
        claimed: Epsilon that the library states for these arguments.
        draw: Value -> report.
        law: Law of the definition, None where it is not written down here.
        values: Values to compare.
    """

    library: str
    name: str
    claimed: float
    draw: Callable[[Any], Any]
    law: laws.Law | None = None
    values: Sequence[Any] = range(K)


def finer_than_the_grid(report: Any) -> tuple[bool, ...]:
    """Return, for each number of a report, whether it is no multiple of 2**-53."""
    return tuple(not float(x * GRID).is_integer() for x in report)


def supports(report: Any, g: int, values: Sequence[int] = range(K)) -> tuple[int, ...]:
    """Return, for each value, whether local hashing with the report's seed sends it to the reported hash."""
    xxhash = import_module("xxhash")
    bucket, seed = report
    return tuple(int(xxhash.xxh32(str(value), seed=int(seed)).intdigest() % g == bucket) for value in values)


def then(draw: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a callable that changes what another one draws."""
    return lambda value: change(draw(value))


def bind(draw: Callable[..., Any], *arguments: Any) -> Callable[[Any], Any]:
    """Return a callable of the value alone, with the arguments that follow it."""
    return lambda value: draw(value, *arguments)


def marks(functions: Sequence[Callable[[str], int]]) -> Callable[[Any], list[int]]:
    """Return value -> the places that hash functions give it."""
    return lambda value: [function(str(value)) for function in functions]


def pure_ldp() -> Iterator[Case]:
    """Yield the cases of pure-ldp."""
    oracles, core = import_module("pure_ldp.frequency_oracles"), import_module("pure_ldp.core")

    def client(kind: str, *arguments: Any, **more: Any) -> Any:
        return getattr(oracles, kind)(*arguments, index_mapper=lambda value: value, **more).privatise

    yield Case(PURE, "DE", 1.0, client("DEClient", 1.0, K), laws.grr(K, 1.0))
    for optimal, name in ((False, "SUE"), (True, "OUE")):
        yield Case(PURE, name, 1.0, client("UEClient", 1.0, K, use_oue=optimal), laws.unary(K, 1.0, optimal=optimal))
    for optimal, g, name in ((False, 2, "BLH"), (True, 4, "OLH")):
        hashed = client("LHClient", 1.0, K, use_olh=optimal)
        yield Case(PURE, name, 1.0, then(hashed, partial(supports, g=g)))
    yield Case(PURE, "FLH, 10 hashes", 1.0, client("FastLHClient", 1.0, K, 10, use_olh=True), _few_hashes(10, 4, 1.0))
    histogram = client("HEClient", 1.0, K)
    yield Case(PURE, "HE, values in bins", 1.0, histogram)
    yield Case(PURE, "HE, last bits", 1.0, then(histogram, finer_than_the_grid))
    yield Case(PURE, "HR, high privacy", 1.0, client("HadamardResponseClient", 1.0, K, None))
    permutation = oracles.HadamardResponseServer(2.0, K, index_mapper=lambda value: value).get_hash_funcs()
    yield Case(PURE, "HR, epsilon 2", 2.0, client("HadamardResponseClient", 2.0, K, permutation))
    for t in (1, 2):
        yield Case(PURE, f"HM, t = {t}", 1.0, then(client("HadamardMechClient", 1.0, K, t), list))
    for epsilon, k in ((1.0, 1), (3.0, 1), (1.0, 2)):
        yield from _rappor(oracles.RAPPORClient, core.generate_hash, epsilon, k)
    sketches = [core.generate_hash(8, seed) for seed in range(2)]
    flipped = 1 / (1 + math.exp(0.5))
    law = laws.mixed([laws.bits(marks([function]), 8, 1 - flipped, flipped) for function in sketches])
    sketch = oracles.CMSClient(1.0, sketches, 8).privatise
    yield Case(PURE, "CMS, 2 hashes of 8", 1.0, then(sketch, _signs), law)
    yield Case(PURE, "HCMS, 2 hashes of 8", 1.0, oracles.CMSClient(1.0, sketches, 8, is_hadamard=True).privatise)
    pairs = [(core.generate_hash(8, seed), core.generate_hash(2, 9 + seed)) for seed in range(2)]
    yield Case(PURE, "PCS, 2 hashes of 8", 1.0, oracles.PCSClient(1.0, 2, 8, pairs).privatise)


def multi_freq_ldpy() -> Iterator[Case]:
    """Yield the cases of multi-freq-ldpy."""

    def function(module: str, name: str) -> Callable[..., Any]:
        client: Callable[..., Any] = getattr(import_module(f"multi_freq_ldpy.{module}"), name)
        return client

    def pure(kind: str) -> Callable[..., Any]:
        return function(f"pure_frequency_oracles.{kind}", f"{kind}_Client")

    yield Case(MULTI, "GRR", 1.0, bind(pure("GRR"), K, 1.0), laws.grr(K, 1.0))
    for optimal, name, hashed, g in ((False, "SUE", "BLH", 2), (True, "OUE", "OLH", 4)):
        yield Case(MULTI, name, 1.0, bind(pure("UE"), K, 1.0, optimal), laws.unary(K, 1.0, optimal=optimal))
        yield Case(MULTI, hashed, 1.0, then(bind(pure("LH"), K, 1.0, optimal), partial(supports, g=g)))
    subsets = then(bind(pure("SS"), 6, 1.0), _members)
    yield Case(MULTI, "SS, 6 values", 1.0, subsets, laws.subset(6, 1.0), range(6))
    yield Case(MULTI, "ADP", 1.0, bind(pure("ADP"), K, 1.0, True))
    yield Case(MULTI, "HE, values in bins", 1.0, bind(pure("HE"), K, 1.0))
    yield Case(MULTI, "HE, last bits", 1.0, then(bind(pure("HE"), K, 1.0), finer_than_the_grid))
    for kind in ("L_GRR", "L_SUE", "L_OUE", "L_OSUE", "L_SOUE"):
        twice = function(f"long_freq_est.{kind}", f"{kind}_Client")
        yield Case(MULTI, f"{kind.replace('_', '-')}, one report", 1.0, bind(twice, K, 2.0, 1.0))
    flips = function("long_freq_est.dBitFlipPM", "dBitFlipPM_Client")
    yield Case(MULTI, "dBitFlipPM, 2 of 4 bits", 1.0, bind(flips, K, 4, 2, 1.0))
    yield from _sampled(function, 1.0)


def _sampled(function: Callable[[str, str], Callable[..., Any]], epsilon: float) -> Iterator[Case]:
    """Yield RS+FD: records of two attributes, of three values each."""
    records = [(0, 0), (0, 1), (1, 0), (1, 1)]
    amplified = math.log(2 * (math.exp(epsilon) - 1) + 1)
    unary, labels = laws.unary(3, amplified, optimal=True), laws.grr(3, amplified)
    nothing = laws.bits(lambda value: [], 3, 0.5, 1 / (math.exp(amplified) + 1))(None)
    for kind, name, truth, fake in (
        ("GRR", "GRR", labels, dict.fromkeys(range(3), 1 / 3)), ("UE_zero", "OUE-z", unary, nothing),
        ("UE_rnd", "OUE-r", unary, laws.average(unary, range(3))),
    ):  # fmt: skip
        draw = bind(function("mdim_freq_est.RSpFD_solution", f"RSpFD_{kind}_Client"), [3, 3], 2, epsilon)
        law = laws.sampled(truth, fake, 2)
        yield Case(MULTI, f"RS+FD[{name}], 2 attributes of 3", epsilon, draw, law, records)
        if kind == "GRR":
            yield Case(MULTI, "RS+FD[GRR], one attribute changes", epsilon, draw, law, records[:2])


def _rappor(kind: Any, generate: Callable[[int, int], Any], epsilon: float, k: int) -> Iterator[Case]:
    """Yield RAPPOR with ``convert_eps_to_f``: two cohorts, eight bits."""
    cohorts = [[generate(8, 10 * cohort + number) for number in range(k)] for cohort in range(2)]
    f = kind(0.5, 8, cohorts).convert_eps_to_f(epsilon)
    client = kind(f, 8, cohorts, num_of_cohorts=2, index_mapper=lambda value: value)
    law = laws.mixed([laws.bits(marks(functions), 8, 1 - f / 2, f / 2) for functions in cohorts])
    yield Case(PURE, f"RAPPOR, f = convert_eps_to_f({epsilon:g}), {k} hash{'es' * (k > 1)}", epsilon,
               client.privatise, law)  # fmt: skip


def _few_hashes(hashes: int, g: int, epsilon: float) -> laws.Law:
    grr = laws.grr(g, epsilon)

    def law(value: Any) -> dict[Any, float]:
        xxhash = import_module("xxhash")
        return {(report, seed): chance / hashes for seed in range(hashes)
                for report, chance in grr(xxhash.xxh32(str(value), seed=seed).intdigest() % g).items()}  # fmt: skip

    return law


def _members(report: Any) -> frozenset[int]:
    return frozenset(report.tolist())


def _signs(report: Any) -> Any:
    signs, number = report
    return [int(sign > 0) for sign in signs], number
