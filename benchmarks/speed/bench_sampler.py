"""Microseconds of an adjacency report by randomised response, sampler 1 beside sampler 2.

    python -m benchmarks.speed.bench_sampler [--people 3000 30000 100000 1000000] [--epsilon 8 7.2]

A report runs from the record and a fresh key to the bytes on the wire. *alone*: one device after the other.
*together*: a batch of devices in one call. CPU time of the fastest of three rounds, taken in turn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.speed.process import beside
from devices.data.population import Record
from devices.mechanisms import RandomizedResponse
from devices.noise import NoiseStream

DEGREE, ROUNDS = 6, 3


def people(n: int, count: int) -> tuple[list[Record], list[int]]:
    """Return records with six neighbours each, and the devices' numbers."""
    rng, none = np.random.default_rng(0), np.zeros(0, np.int32)
    devices = rng.integers(0, n, count).tolist()
    rows = [np.unique(rng.integers(0, n, DEGREE)).astype(np.int32) for _ in devices]
    return [
        Record(none, none.astype(np.float32), row[row != me], 0) for row, me in zip(rows, devices, strict=True)
    ], devices


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[3_000, 30_000, 100_000, 1_000_000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[8.0, 7.2])
    given = parser.parse_args()
    print(f"{beside()}; us CPU a report")
    print("    people   eps   1 alone   2 alone  2 together   ratio   bytes  table ms")
    for n in given.people:
        for epsilon in given.epsilon:
            print(measure(n, epsilon), flush=True)


def measure(n: int, epsilon: float) -> str:
    """Return one line of figures."""
    old = RandomizedResponse.from_epsilon(epsilon, n=n)
    new = replace(old, sampler=2)
    count = 512
    few = max(min(count, 30_000_000 // n), 10)
    records, devices = people(n, count)
    began = time.process_time()
    new.respond(records[0], NoiseStream(bytes(32)), device=devices[0])
    table = time.process_time() - began

    def alone(mechanism: RandomizedResponse, size: int) -> list[bytes]:
        asked = zip(records[:size], devices[:size], strict=True)
        return [mechanism.respond(r, NoiseStream(k.to_bytes(32, "big")), device=d) for k, (r, d) in enumerate(asked)]

    def together() -> list[bytes]:
        keys = [NoiseStream(k.to_bytes(32, "big")) for k in range(count)]
        return new.respond_many(records, keys, devices=devices)

    ways: list[tuple[Callable[[], list[bytes]], int]] = [
        (lambda: alone(old, few), few), (lambda: alone(new, count), count), (together, count),
    ]  # fmt: skip
    best, reports = [float("inf")] * 3, list[bytes]()
    for _ in range(ROUNDS):
        for place, (way, size) in enumerate(ways):
            began = time.process_time()
            reports = way()
            best[place] = min(best[place], 1e6 * (time.process_time() - began) / size)
    if alone(new, 20) != reports[:20]:
        raise SystemExit("a batch has other bytes than its devices alone")
    carried = sum(map(len, reports)) / count
    return (f"{n:>10,} {epsilon:>5g} {best[0]:>9.1f} {best[1]:>9.1f} {best[2]:>11.1f} {best[0] / best[2]:>6.1f}x "
            f"{carried:>7.0f} {1e3 * table:>9.1f}")  # fmt: skip


if __name__ == "__main__":
    main()
