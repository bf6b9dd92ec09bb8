"""What is measured: methods, budgets and attacks, on Cora."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from strategies.poison.options import PoisonOptions
from strategies.setup.options import RunOptions

SHARES = (0.0, 0.01, 0.05, 0.1, 0.2)
REPEATS = 3
SEED = 4000


@dataclass(frozen=True)
class Measured:
    """One method at one budget.

    Args:
        method: Its name.
        epsilon: Total budget; None: the method's own.
        attacks: Attacks that fit it, by importance.
        settings: Parameters that differ from the defaults.
    """

    method: str
    epsilon: float | None
    attacks: tuple[str, ...]
    settings: tuple[tuple[str, str], ...] = ()

    def options(self, repeats: int, defences: tuple[str, ...] = ()) -> PoisonOptions:
        """Return the options of ``ldpsim poison`` for the first repeats."""
        data = os.environ.get("LDPSIM_DATA")
        run = RunOptions(dataset="cora", data_dir=None if data is None else Path(data), seed=SEED, repeats=repeats,
                         epsilon=self.epsilon, reference=False, settings=dict(self.settings))  # fmt: skip
        return PoisonOptions(methods=(self.method,), run=run, attacks=self.attacks, shares=SHARES, workers=1,
                             defences=defences)  # fmt: skip


SETS = (
    Measured("hogs", 8.0, ("fakes",)),
    Measured("blink", 8.0, ("degree-cap",)),
    Measured("rgnn", 8.0, ("one-label",)),
    Measured("solitude", 8.0, ("fakes",)),
    Measured("lpgnn", 8.0, ("one-label",)),
    Measured("fedavg-mlp", None, ("same-direction",), (("rounds", "20"),)),
    Measured("hogs", 4.0, ("fakes",)),
    Measured("blink", 4.0, ("degree-cap",)),
    Measured("rgnn", 8.0, ("extreme-feature",)),
    Measured("hogs", 8.0, ("mimic",)),
    Measured("blink", 8.0, ("fakes",)),
    Measured("fedavg-mlp", None, ("flip-label",), (("rounds", "20"),)),
    Measured("hogs", 8.0, ("extreme-bit",)),
)


def passes() -> Iterator[tuple[Measured, int]]:
    """Yield what to run: the first repeat of everything, then the second, and so on."""
    for repeats in range(1, REPEATS + 1):
        for entry in SETS:
            yield entry, repeats
