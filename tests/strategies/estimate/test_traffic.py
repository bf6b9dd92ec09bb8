from __future__ import annotations

from dataclasses import replace

import pytest

from ldpsim.devices.mechanisms import NoisyRow, RandomizedResponse
from ldpsim.devices.mechanisms.bits import pack_bits
from ldpsim.strategies import simulate
from ldpsim.strategies.estimate.fits import asked_of
from ldpsim.strategies.estimate.graph_facts import known_before
from ldpsim.strategies.estimate.row_sizes import bytes_of_bits, expected_bytes
from ldpsim.strategies.estimate.traffic import expected_traffic, miniature
from ldpsim.strategies.setup.options import RunOptions


@pytest.mark.parametrize("method", ["hogs", "rgnn", "ldpgen", "vote"])
def test_bytes_are_within_two_per_cent_of_a_run(method: str) -> None:
    settings = {} if method == "vote" else {"epochs": "2"}  # vote trains no network
    options = RunOptions(method=method, dataset="generated", clients=400, out=None, reference=False, nulls=False,
                         device="cpu", engine="local", settings=settings)  # fmt: skip
    facts = known_before(options)
    assert facts is not None
    paper = expected_traffic(asked_of(options, facts), facts)
    sent = simulate(options, keep_graph=False).record["communication"]
    assert paper.up == pytest.approx(sent["uplink_bytes_per_device"], rel=0.02)
    # A vote's table depends on what earlier answers say.
    assert paper.down == pytest.approx(sent["downlink_bytes_per_device"], rel=0.3 if method == "vote" else 0.02)
    assert paper.rounds == (2 if method == "ldpgen" else 1)


@pytest.mark.parametrize(("share", "bits"), [(0.001, 6000), (0.02, 6000), (0.3, 500)])
def test_the_size_of_bits_follows_from_their_law(share: float, bits: int) -> None:
    import numpy as np

    rng = np.random.default_rng(3)
    seen = [len(pack_bits(rng.random(bits) < share)) for _ in range(300)]
    assert np.mean(seen) == pytest.approx(bytes_of_bits(bits, share), rel=0.02, abs=0.5)


def test_the_size_of_a_row_of_numbers_follows_from_their_law() -> None:
    import numpy as np

    from ldpsim.devices.noise import NoiseStream

    mechanism = NoisyRow.from_epsilon(6.0, n=1500)
    value = mechanism.grid * (np.arange(1499) < 5)
    seen = [len(mechanism.encode(mechanism.perturb(value, NoiseStream(bytes([seed]) * 32)))) for seed in range(60)]
    assert np.mean(seen) == pytest.approx(expected_bytes(mechanism, 5.0), rel=0.12)


def test_a_pair_of_one_end_is_half_the_bytes() -> None:
    both = RandomizedResponse.from_epsilon(5.0, n=100_000)
    one = replace(both, reporting="one-end")
    assert expected_bytes(one, 5.0) == pytest.approx(expected_bytes(both, 5.0) / 2, rel=0.05)


def test_a_miniature_has_the_facts() -> None:
    facts = known_before(RunOptions(clients=50_000))
    assert facts is not None
    people = miniature(replace(facts, homophily=0.4, mean_degree=9.0, features=80, words=6.0), 900, seed=2)
    assert people.degrees.mean() == pytest.approx(9.0, rel=0.1)
    assert people.homophily == pytest.approx(0.4, abs=0.1)
    assert len(people.feature_indices) / 900 == pytest.approx(6.0, rel=0.25)
