"""Targets of a stress test: devices with a protection, and the question for which they are enrolled."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from ldpsim.devices.collector import CollectorKey
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.mechanisms import GRR, OneBit, RandomizedResponse
from ldpsim.devices.noise import derive_key
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.attacks.adversaries import Target
from ldpsim.strategies.attacks.stress.grids import Order, UnguardedGrid
from ldpsim.strategies.attacks.stress.protections import GUARDED, PINNED, REAL, UnguardedApp
from ldpsim.strategies.setup.options import Seeds


def question(population: Population, epsilon_bit: float) -> Query:
    """Return the question about all attributes of the population, with the same loss for each entry.

    Raises:
        ValueError: for a budget that no threshold can have.
    """
    facts = population.facts
    try:
        asks = [Ask("adjacency", (RandomizedResponse.from_epsilon(epsilon_bit, n=facts.n),))]
        if facts.d:
            one_bit = OneBit.from_epsilon(epsilon_bit, d=facts.d, low=facts.feature_low, high=facts.feature_high)
            asks.append(Ask("features", (one_bit,)))
        if facts.classes >= 2:
            asks.append(Ask("label", (GRR.from_epsilon(epsilon_bit, categories=facts.classes),)))
    except ValueError as error:
        raise ValueError(f"--epsilon-bit {epsilon_bit:g}: {error}") from None
    return Query("stress", (tuple(asks),))


@contextmanager
def target_of(
    protection: str, population: Population, query: Query, seed: int, *, at_once: bool = False
) -> Iterator[Target]:
    """Make devices of one protection that nobody asked yet; they are gone at the end.

    Args:
        protection: Name of the protection.
        population: The people.
        query: The question; its loss is the cap of devices with a ledger.
        seed: Seed of the devices' secrets and of the noise without a ledger.
        at_once: Whether messages to a device come together; a guard in Flower's state then sees none of the others.
    """
    noise = Seeds.derive(seed).noise or 0
    if protection not in REAL:
        order: Order = "copy-then-write" if at_once else "serial"
        app, n = UnguardedApp(population, seed=noise, guarded=protection == GUARDED), len(population)
        yield Target(query, population.facts, n, partial(UnguardedGrid, app, n, order=order))
        return
    key = _collector(seed) if protection == PINNED else None
    on_requery: Literal["refuse", "replay"] = "replay" if protection == "replay" else "refuse"
    policy = policy_for([query], population.facts, on_requery=on_requery, collector=None if key is None else key.public)
    with tempfile.TemporaryDirectory(prefix="ldpsim-stress-") as folder:
        home = Path(folder) / "state"
        enrol(home, population, policy, seed=noise).close()
        yield Target.of(home, query, key)


def _collector(seed: int) -> CollectorKey:
    """Return the key that pinned devices know."""
    secret = derive_key(seed.to_bytes(16, "little", signed=True), b"ldpsim stress collector")
    return CollectorKey(Path("stress"), secret)
