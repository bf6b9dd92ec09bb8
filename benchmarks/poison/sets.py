"""Methods, budgets and attacks that are measured: lies on Cora, fake accounts on Cora and CiteSeer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from strategies.attacks.liars.plan import LIES
from strategies.attacks.poison.options import PoisonOptions
from strategies.setup.options import RunOptions

SHARES = (0.0, 0.01, 0.05, 0.1, 0.2)
REPEATED = (0.0, 0.05, 0.2)  # of the second repeat and the third
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
        lies: Kinds of lies.
        defences: Defences beside none.
        dataset: The graph.
        joins: Whether the shares are of accounts that join.
    """

    method: str
    epsilon: float | None
    attacks: tuple[str, ...]
    settings: tuple[tuple[str, str], ...] = ()
    lies: tuple[str, ...] = LIES
    defences: tuple[str, ...] = ()
    dataset: str = "cora"
    joins: bool = False

    def options(self, repeats: int, shares: tuple[float, ...] = SHARES) -> PoisonOptions:
        """Return the options of ``ldpsim poison`` for the first repeats."""
        data = os.environ.get("LDPSIM_DATA")
        run = RunOptions(dataset=self.dataset, data_dir=None if data is None else Path(data), seed=SEED,
                         repeats=repeats, epsilon=self.epsilon, reference=False,
                         settings=dict(self.settings))  # fmt: skip
        return PoisonOptions(methods=(self.method,), run=run, attacks=self.attacks, shares=shares, workers=1,
                             defences=self.defences, lies=self.lies, inject=shares if self.joins else ())  # fmt: skip


_ROUNDS = (("rounds", "20"),)
SETS = (
    Measured("hogs", 8.0, ("fakes",)),
    Measured("blink", 8.0, ("degree-cap",)),
    Measured("rgnn", 8.0, ("one-label",)),
    Measured("solitude", 8.0, ("fakes",)),
    Measured("lpgnn", 8.0, ("one-label",)),
    Measured("fedavg-mlp", None, ("same-direction",), _ROUNDS),
    Measured("hogs", 4.0, ("fakes",)),
    Measured("blink", 4.0, ("degree-cap",)),
)
MORE = (
    Measured("hogs", 8.0, ("mimic",)),
    Measured("rgnn", 8.0, ("extreme-feature",), lies=("response",)),
    Measured("fedavg-mlp", None, ("flip-label",), _ROUNDS),
    Measured("hogs", 8.0, ("extreme-bit",), lies=("response",)),
    Measured("lpgnn", 8.0, ("extreme-feature",), lies=("response",)),
)
DEFENDED = (
    Measured("hogs", 8.0, ("fakes",), lies=("response",), defences=("both-ends", "weight", "disagreement")),
    Measured("blink", 8.0, ("degree-cap",), lies=("response",), defences=("degree",)),
    Measured("fedavg-mlp", None, ("same-direction",), _ROUNDS, lies=("response",), defences=("trim",)),
)
ACCOUNTS = (0.0, 0.01, 0.05, 0.1)  # of the honest people
_ANY = ("response",)  # input lies, the published app on a made-up record, are measured beside defences


def joining(dataset: str) -> tuple[Measured, ...]:
    """Return what is measured with accounts that join; each method's attacks are all that fit."""
    each = [Measured(method, 4.0, (), lies=_ANY) for method in ("sbp", "vote", "blink", "hogs", "lpgnn")]
    each.append(Measured("fedavg-mlp", None, (), _ROUNDS, lies=_ANY))
    return tuple(replace(entry, dataset=dataset, joins=True) for entry in each)


DEFENDED_FROM = (
    Measured("blink", 4.0, ("join-flood",), lies=_ANY, defences=("degree", "weight")),
    Measured("hogs", 4.0, ("join-pairs",), defences=("both-ends", "disagreement")),
    Measured("lpgnn", 4.0, ("join-pairs", "join-class"), lies=_ANY, defences=("trim",)),
    Measured("sbp", 4.0, ("join-flood",), lies=_ANY, defences=("disagreement", "duplicates")),
    Measured("fedavg-mlp", None, ("join-class", "same-direction"), _ROUNDS, lies=_ANY, defences=("trim",)),
)  # fmt: skip


def account_passes() -> Iterator[tuple[Measured, int, tuple[float, ...]]]:
    """Yield what to run with accounts that join: one repeat of both graphs and of the defences first."""
    for repeats in range(1, REPEATS + 1):
        for entry in joining("cora"):
            yield entry, repeats, ACCOUNTS
        if repeats <= 2:
            for entry in (replace(each, joins=True) for each in DEFENDED_FROM):
                yield entry, repeats, (0.0, 0.1)
        for entry in joining("citeseer"):
            yield entry, repeats, ACCOUNTS


def passes() -> Iterator[tuple[Measured, int, tuple[float, ...]]]:
    """Yield what to run: the first repeat of everything, then two more of the shares that are repeated."""
    for repeats in range(1, REPEATS + 1):
        for entry in SETS:
            yield entry, repeats, SHARES if repeats == 1 else REPEATED
        for entry in (*DEFENDED, *MORE):
            yield entry, repeats, REPEATED
