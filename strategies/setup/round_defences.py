"""Defences of a training in rounds, and the part of the result about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from curator.defences import DUPLICATES, TRIM
from curator.methods.federated.fedavg import Federated
from devices.mechanisms.analytic_gaussian import UNIT
from devices.training_task import STEPS, GaussianUpdate
from strategies.rounds.alike import AlikeUpdates
from strategies.rounds.training_grid import Defend
from strategies.rounds.trimmed import TrimmedUpdates
from strategies.setup.run_setup import RunSetup


@dataclass(frozen=True, eq=False)
class RoundDefences:
    """Defences in force in the rounds of one repeat.

    Args:
        names: The defences that ``--defence`` names.
        false_alarm: As given.
        alike: Finds colluders among updates under noise; None: it does not work on this training.
        no_trim: Reason why there is no robust aggregation.
        trimmed: Robust aggregation; None: it does not work on this training.
    """

    names: tuple[str, ...]
    false_alarm: float
    alike: AlikeUpdates | None = field(default=None, repr=False)
    no_trim: str = ""
    trimmed: TrimmedUpdates | None = field(default=None, repr=False)

    @property
    def steps(self) -> Sequence[Defend]:
        """Steps that the replies of a training round go through."""
        return [step for step in (self.alike, self.trimmed) if step is not None]

    def section(self) -> dict[str, dict[str, Any]]:
        """Return the part ``defence`` of the result, with counts since the last start; nothing without a defence."""
        if not self.names:
            return {}
        notes: dict[str, Any] = {name: {"not_used": "a training in rounds has no reports"} for name in self.names}
        flagged = sorted(node - 1 for node in self.alike.dropped) if self.alike is not None else []
        if DUPLICATES in notes:
            notes[DUPLICATES] = (
                {"not_used": "updates without noise of their own are alike by nature"} if self.alike is None
                else {"compared": ["updates"], "flagged": len(flagged)}
            )  # fmt: skip
        if TRIM in notes:
            notes[TRIM] = (
                {"not_used": self.no_trim} if self.trimmed is None
                else {"updates": self.trimmed.updates, "clipped_updates": self.trimmed.clipped}
            )  # fmt: skip
        return {"defence": {"names": list(self.names), "flagged": flagged, "false_alarm": self.false_alarm,
                            "notes": notes}}  # fmt: skip


def round_defences(setup: RunSetup, noise: GaussianUpdate | None = None) -> RoundDefences:
    """Return the defences of a training in rounds.

    A method with ``no_trim`` has no trimmed aggregation.

    Args:
        setup: The run.
        noise: The devices' own noise on their updates.
    """
    options, names = setup.options, setup.options.defences()
    alike = trimmed = None
    if DUPLICATES in names and noise is not None:
        updates = len(setup.population) * getattr(setup.method, "rounds", 1)
        alike = AlikeUpdates(noise.clip, noise.deviation / UNIT * noise.clip / STEPS, options.false_alarm / updates)
    why_not = cast(Federated, setup.method).no_trim
    if TRIM in names and not why_not:
        trimmed = TrimmedUpdates()
    return RoundDefences(names, options.false_alarm, alike, why_not, trimmed)
