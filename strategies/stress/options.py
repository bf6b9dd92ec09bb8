"""What a stress test compares, and what comes of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from curator.names import nearest
from strategies.setup.option_spec import declared
from strategies.setup.options import RunOptions
from strategies.stress.protections import PROTECTIONS
from strategies.stress.registered import STRIKING, names
from strategies.stress.repeating import PLAIN
from strategies.stress.tallies import milestones


@dataclass(frozen=True, kw_only=True)
class StressOptions:
    """What to compare.

    Args:
        dataset, clients, data_dir: The population, as in :class:`strategies.RunOptions`.
        seed: Of the population, of the devices' secrets and of the noise of devices without.
        protections: Some of ``none``, ``context-state``, ``refuse``, ``replay``.
        adversaries: Names; empty for all of them, or for none where faults are named.
        faults: Names; empty for all of them, or for none where adversaries are named.
        asks: Numbers of asks after which recovery is measured.
        epsilon_bit: Loss of one bit of a list, of one feature, and of the label.
        workers: How many comparisons run at once, each in a process.
        out: Parent of the result's folder; None writes nothing.

    Raises:
        ValueError: for what does not fit; one line.
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
        for name in self.protections:
            if name not in PROTECTIONS:
                known = ", ".join(PROTECTIONS)
                raise ValueError(f"--protection {name}: must be one of {known}{nearest(name, PROTECTIONS)}")
        for name in self.adversaries:
            if name not in adversaries():
                known = ", ".join(adversaries())
                raise ValueError(f"--adversary {name}: must be one of {known}{nearest(name, adversaries())}")
        for name in self.faults:
            if name not in STRIKING:
                known = ", ".join(STRIKING)
                raise ValueError(f"--fault {name}: must be one of {known}{nearest(name, STRIKING)}")
        milestones(self.asks)
        if not (math.isfinite(self.epsilon_bit) and self.epsilon_bit > 0):
            raise ValueError(f"--epsilon-bit {self.epsilon_bit:g}: a budget must be a finite number above 0")
        for name in ("clients", "seed", "workers"):
            declared(RunOptions)[name].check(getattr(self, name))


@dataclass(frozen=True)
class StressResult:
    """What came of it.

    Args:
        rows: One a protection, adversary, attribute and number of asks.
        settings: What was in force.
        seconds: How long it took.
    """

    rows: list[dict[str, Any]]
    settings: dict[str, Any]
    seconds: float
    answers: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether every row is what it should be."""
        return all(row["passed"] for row in self.rows)


def adversaries() -> dict[str, str]:
    """Return the adversaries there are, by name, with what each does."""
    return PLAIN | dict(names())
