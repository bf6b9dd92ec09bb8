"""Options and result of a stress test."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from curator.names import nearest
from strategies.attacks.adversaries import ADVERSARIES
from strategies.attacks.stress.protections import PROTECTIONS
from strategies.attacks.stress.registered import STRIKING
from strategies.attacks.stress.repeating import PLAIN
from strategies.attacks.stress.tallies import milestones
from strategies.setup.option_spec import declared
from strategies.setup.options import RunOptions


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
        out: Parent of the result's folder; None writes nothing.

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
    out: Path | None = Path("runs")

    def __post_init__(self) -> None:
        for option, given, known in (
            ("protection", self.protections, PROTECTIONS),
            ("adversary", self.adversaries, adversaries()),
            ("fault", self.faults, STRIKING),
        ):
            for name in given:
                if name not in known:
                    raise ValueError(f"--{option} {name}: must be one of {', '.join(known)}{nearest(name, known)}")
        milestones(self.asks)
        if not (math.isfinite(self.epsilon_bit) and self.epsilon_bit > 0):
            raise ValueError(f"--epsilon-bit {self.epsilon_bit:g}: a budget must be a finite number above 0")
        for name in ("clients", "seed", "workers"):
            declared(RunOptions)[name].check(getattr(self, name))


@dataclass(frozen=True)
class StressResult:
    """Result of a stress test.

    Args:
        rows: One for each protection, adversary, attribute and number of asks.
        settings: Settings in force.
        seconds: Duration.
        answers: Numbers of answers of the devices by kind, for each comparison.
    """

    rows: list[dict[str, Any]]
    settings: dict[str, Any]
    seconds: float
    answers: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether every row agrees with theory."""
        return all(row["passed"] for row in self.rows)


def adversaries() -> dict[str, str]:
    """Return the description of each adversary by name."""
    return PLAIN | {name: curator.description for name, curator in ADVERSARIES.items()}
