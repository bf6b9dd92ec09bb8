"""Reports of many devices at once against those of each alone, and against a plain reading of the noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpsim.devices.mechanisms import RandomizedResponse
from ldpsim.devices.mechanisms import randomized_response as rows
from ldpsim.devices.mechanisms.base import one_value
from ldpsim.devices.mechanisms.bits import pack_bits, unpack_positions
from ldpsim.devices.mechanisms.sampling import binomial
from ldpsim.devices.noise import Noise, NoiseStream
from tests.devices.mechanisms.examples import person
from tests.devices.mechanisms.one import drawn, encoded, respond


def noise(count: int) -> Noise:
    return Noise([number.to_bytes(32, "little") for number in range(count)])


def plainly(n: int, threshold: int, key: bytes) -> set[int]:
    """The flips, word by word."""
    words = iter(Noise([key]).first_words(400)[0].tolist())
    count = binomial(n - 1, threshold).count(lambda: next(words) << 32 | next(words))
    found: set[int] = set()
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
    if n in (9, 3000):  # few words, so that some rows need more of them
        monkeypatch.setattr(rows, "_words", lambda law: 3 + math.ceil(law.mean))
    together = mechanism.respond(records, noise(100), devices=devices)
    if n in (9, 40, 400, 3000):
        law = binomial(n - 1, mechanism.flip)
        left = int(rows._flips(law, noise(100), rows._words(law))[1].sum())
        assert 0 < left < 100 if n in (9, 3000) else left == 0
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
            assert data == encoded(mechanism, row, device) == pack_bits(row)


def test_a_tie_is_left_to_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = RandomizedResponse.from_epsilon(7.2, n=3000)
    records = [person(near=[1, 2, 9])] * 8
    wanted = mechanism.respond(records, noise(8), devices=range(8))
    law = binomial(2999, mechanism.flip)
    first = noise(8).first_words(2)[3].tolist()
    floors = np.array(sorted([*law.floors(64), first[0] << 32 | first[1]]), np.uint64)
    monkeypatch.setattr(rows, "_floors", lambda law: floors)
    assert np.flatnonzero(rows._flips(law, noise(8), rows._words(law))[1]).tolist() == [3]
    assert mechanism.respond(records, noise(8), devices=range(8))[3] == wanted[3]


def test_the_words_that_are_taken_do_not_depend_on_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[int, int]] = []
    draw = NoiseStream._draw
    monkeypatch.setattr(
        NoiseStream, "_draw", lambda self, lane, size: taken.append((lane, size)) or draw(self, lane, size)
    )
    found = []
    for epsilon in (1.0, 4.0):
        mechanism = RandomizedResponse.from_epsilon(epsilon, n=500)
        for neighbours in ([], [3], range(500)):
            for way in (
                lambda m, r: respond(m, r, bytes(32), 7),
                lambda m, r: m.respond([r] * 3, Noise([bytes(32)] * 3), devices=[7] * 3),
            ):
                taken.clear()
                way(mechanism, person(near=neighbours))
                found.append(tuple(taken))
    assert len(set(found)) == 3  # two ways; the few flips of the larger budget are drawn together
