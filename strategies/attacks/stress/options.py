"""Options of a stress test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from ldpsim.curator.names import check_known
from ldpsim.devices import datasets
from ldpsim.devices.data.population import Population
from ldpsim.strategies.attacks.stress.known import EVERY, STRIKING
from ldpsim.strategies.attacks.stress.protections import PROTECTIONS
from ldpsim.strategies.attacks.stress.tallies import milestones
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions, Seeds


@dataclass(frozen=True, kw_only=True)
class StressOptions:
    """Options of a stress test.

    Args:
        dataset, clients, data_dir: The population, as in :class:`strategies.RunOptions`.
        seed: Seed of the population, of the devices' secrets and of the noise without a ledger.
        protections: Some of ``none``, ``context-state``, ``refuse``, ``replay``, ``pinned``.
        adversaries: Names; empty for all, or for none if faults are given.
        faults: Names; empty for all, or for none if adversaries are given.
        asks: Numbers of asks after which recovery is measured.
        epsilon_bit: Loss of one bit of a list, of one feature, and of the label.
        workers: Number of comparisons that run at a time, each in a process.

    Raises:
        ValueError: one line, for options that do not fit.
    """

    dataset: str = "generated"
    clients: int | None = None
    data_dir: Path | None = None
    seed: int = 0
    protections: tuple[str, ...] = PROTECTIONS
    adversaries: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    asks: tuple[int, ...] = (1, 25)
    epsilon_bit: float = 1.0
    workers: int = 1

    def __post_init__(self) -> None:
        for option, given, known in (
            ("protection", self.protections, PROTECTIONS), ("adversary", self.adversaries, EVERY),
            ("fault", self.faults, STRIKING),
        ):  # fmt: skip
            for name in given:
                check_known(option, name, known)
        milestones(self.asks)
        if not (math.isfinite(self.epsilon_bit) and self.epsilon_bit > 0):
            raise ValueError(f"--epsilon-bit {self.epsilon_bit:g}: a budget must be a finite number above 0")
        for name in ("clients", "seed", "workers"):
            declared(RunOptions)[name].check(getattr(self, name))

    def load(self) -> Population:
        """Return the people.

        Raises:
            ValueError: one line, for data that are missing or do not fit.
        """
        seed = Seeds.derive(self.seed).population
        return datasets.load(self.dataset, data_dir=self.data_dir, clients=self.clients, seed=seed)
