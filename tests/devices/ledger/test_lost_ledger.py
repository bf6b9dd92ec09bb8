"""A device whose ledger is gone, lost or older."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ldpsim.devices.data.population import Population, Record
from ldpsim.devices.device import Device
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.ledger.ledger import Ledger
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report, unpack_report
from tests.fleets import lone_device

NUMBERS = itertools.count()


def lost(device: Device, folder: Path, record: Record | None = None, secret: bytes = b"") -> Device:
    """The same device with an empty ledger, and perhaps other data or another secret."""
    folder.mkdir(exist_ok=True)
    path = folder / f"lost-{next(NUMBERS)}"
    state, index = device._state, device.index
    own = secret or state.secrets[index].tobytes()
    return lone_device(index, record or state.population.record(index), own, state.policy, Ledger.create(path))


def bits(report: object, query: Query) -> np.ndarray:
    assert isinstance(report, Report)
    parts = unpack_report(report.data, query)
    return np.concatenate([
        mechanism.decode(part, device=3)
        for ask in query.asks
        for mechanism, part in zip(ask.mechanisms, parts[ask.attribute], strict=True)
    ]).astype(float)  # fmt: skip


def test_after_a_lost_ledger(
    tmp_path: Path,
    people: Callable[..., Population],
    policy_of: Callable[..., Policy],
    ask_for: Callable[..., Query],
    flipped: Callable[..., Record],
) -> None:
    """Same question, same data: same bytes. Otherwise independent noise (false alarm 1e-6 each).

    Noise = report XOR what was true. Two independent noises of 5,999 bits agree as often as
    chance says; the broken variants (a key without the fingerprint, the data, the attribute or the secret) agree
    everywhere, 40 standard deviations off.
    """
    population = people(n=3000, d=3000, seed=2)
    device = enrol(tmp_path / "s", population, policy_of(population), seed=1).device(3)
    query = ask_for(n=3000, d=3000, attributes="af")
    first = device.answer(query)
    assert isinstance(first, Report)
    again = lost(device, tmp_path / "lost").answer(replace(query, collection="another"))
    assert isinstance(again, Report) and again.data == first.data and not again.replayed

    for place, letter in enumerate("af"):  # asked alone, too: other bytes would be a second report
        alone = ask_for(n=3000, d=3000, attributes=letter)
        report = lost(device, tmp_path / "lost").answer(alone)
        assert isinstance(report, Report)
        assert [*unpack_report(report.data, alone).values()] == [[*unpack_report(first.data, query).values()][place]]

    def noise_of(asked: Query, record: Record, secret: bytes = b"") -> np.ndarray:
        row = np.zeros(2999)
        row[asked.asks[0].mechanisms[0].positions(3, record.neighbours)] = 1  # type: ignore[attr-defined]
        columns = np.zeros(3000)
        columns[record.feature_indices] = 1
        report = lost(device, tmp_path / "lost", record, secret).answer(asked)
        return np.abs(bits(report, asked) - np.concatenate([row, columns]))

    own, other = population.record(3), flipped(population.record(3), 3, n=3000, d=3000)
    few = replace(own, neighbours=own.neighbours[1:], feature_indices=own.feature_indices[1:],
                  feature_values=own.feature_values[1:])  # fmt: skip
    noises = [
        noise_of(query, own),  # itself
        noise_of(ask_for(n=3000, d=3000, attributes="af", eps=1.01), own),  # another budget
        noise_of(ask_for(n=3000, d=3000, attributes="af", eps=2.0), own),
        noise_of(query, other),  # everything changed
        noise_of(query, few),  # one edge and one feature changed
        noise_of(query, own, b"t" * 32),  # another secret, the same public number
    ]
    for i, left in enumerate(noises):
        for right in noises[:i]:
            for part in (slice(0, 2999), slice(2999, 5999)):
                size = len(left[part])
                correlation = np.corrcoef(left[part], right[part])[0, 1]
                assert abs(correlation) < 4.9 / np.sqrt(size)
    # Adjacency and features of one report do not share noise either.
    assert abs(np.corrcoef(noises[0][:2999], noises[0][2999:5998])[0, 1]) < 4.9 / np.sqrt(2999)
    # What the check would say of common noise: the same uniforms under two budgets.
    uniform = np.random.default_rng(0).random(2999)
    assert np.corrcoef(uniform < 0.269, uniform < 0.266)[0, 1] > 0.9
