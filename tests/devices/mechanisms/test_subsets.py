"""Reports of many devices at once against those of each alone, and against a plain reading of the noise."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.mechanisms import RandomizedResponse, subsets
from ldpsim.devices.mechanisms.binomial import binomial
from ldpsim.devices.mechanisms.codecs import pack_positions, unpack_positions
from ldpsim.devices.mechanisms.mechanism import one_value
from ldpsim.devices.noise import Noise, NoiseDraw
from tests.devices.mechanisms.examples import person
from tests.devices.mechanisms.one import drawn, encoded, respond


def noise(count: int) -> Noise:
    return Noise([number.to_bytes(32, "little") for number in range(count)])


def plainly(n: int, threshold: int, key: bytes) -> set[int]:
    """The flips, word by word."""
    noise = Noise([key])
    first, places = noise.next_draw(), noise.next_draw()
    uniform = chain(first.numbers(1, 8)[0].tolist(), first.words_of(0, 0, 8))
    count = binomial(n - 1, threshold).count(uniform.__next__)
    found: set[int] = set()
    words = iter(places.numbers(400, 4)[0].tolist())
    while len(found) < count:
        product = next(words) * (n - 1)
        if product & 0xFFFFFFFF >= (1 << 32) % (n - 1):
            found.add(product >> 32)
    return found


CASES = [(2, 60), (3, 60), (9, 60), (40, 60), (400, 60), (3000, 53), (30_000, 51), (1 << 20, 46), ((1 << 31) + 2, 35)]


@pytest.mark.parametrize("reporting", ["both", "one-end"])
@pytest.mark.parametrize(("n", "power"), CASES)
def test_every_byte_is_that_of_each_device_alone(
    n: int, power: int, reporting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repeated places are frequent with few people, dropped words with 2^31 + 2."""
    mechanism = RandomizedResponse((1 << power) - 1, n, reporting)  # type: ignore[arg-type]
    rng = np.random.default_rng(1)
    devices = [0, n - 1, *rng.integers(0, n, 98).tolist()]
    near = [0, n - 1, *(device + 1 for device in devices[2:])]
    ids = [[], [0, 0, n - 1], *(np.append(rng.integers(0, min(n + 3, 1 << 31), 5), near[i]) for i in range(2, 100))]
    records = [person(near=np.minimum(some, (1 << 31) - 1)) for some in ids]
    monkeypatch.setattr(subsets, "_SPARE", 0)  # few words, so that some rows need more of them
    together = mechanism.respond(records, noise(100), devices=devices)
    for number, (data, owner, device) in enumerate(zip(together, records, devices, strict=True)):
        key = number.to_bytes(32, "little")
        assert data == respond(mechanism, owner, key, device)
        flips = {place for place in plainly(n, mechanism.flip, key) if place < mechanism.targets(device)}
        clipped = np.clip(owner.neighbours.astype(np.int64), 0, n - 1)
        own = {place for place in (clipped - (clipped > device))[clipped != device].tolist()
               if place < mechanism.targets(device)}  # fmt: skip
        assert unpack_positions(data, mechanism.targets(device)).tolist() == sorted(flips ^ own)
        if n <= 3000:
            row = drawn(mechanism, one_value(mechanism, owner, device), Noise([key]))
            assert data == encoded(mechanism, row, device) == pack_positions(np.flatnonzero(row), len(row))


def test_a_tie_of_a_count_is_settled_by_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first word of one device is made the digits of a c_k: its next one decides."""
    law = binomial(2999, RandomizedResponse.from_epsilon(7.2, n=3000).flip)
    noise = Noise([bytes([k]) * 32 for k in range(8)])
    counts, tied = law.counts(noise[:]), law.floors(64)[3]
    further = next(noise[:].next_draw().words_of(3, 0, 8))
    numbers = NoiseDraw.numbers

    def chosen(self: NoiseDraw, size: int, octets: int, rows: Any = None) -> Any:
        drawn = numbers(self, size, octets, rows).copy()
        drawn[3] = tied
        return drawn

    monkeypatch.setattr(NoiseDraw, "numbers", chosen)
    found = law.counts(noise[:])
    assert found[3] == 3 + (tied << 64 | further >= law.floors(128)[3])
    assert np.array_equal(np.delete(found, 3), np.delete(counts, 3))


def test_the_blocks_that_are_squeezed_do_not_depend_on_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[Any, ...]] = []
    squeeze = Noise.squeeze
    monkeypatch.setattr(Noise, "squeeze", lambda self, *block: taken.append(block[:3]) or squeeze(self, *block))
    found = []
    for epsilon in (1.0, 4.0):
        mechanism = RandomizedResponse.from_epsilon(epsilon, n=500)
        for neighbours in ([], [3], range(500)):
            for size in (1, 3):
                taken.clear()
                mechanism.respond([person(near=neighbours)] * size, Noise([bytes(32)] * size), devices=[7] * size)
                found.append(tuple(taken))
    assert len(set(found)) == 2  # two budgets
