"""Defences of a training in rounds: its trimmed aggregation, and the part of the result about it."""

from __future__ import annotations

from typing import Any

from curator.defences import TRIM
from curator.methods.federated.private import DPFedAvg
from strategies.rounds.trimmed import TrimmedUpdates
from strategies.setup.options import RunOptions
from strategies.setup.run_setup import RunSetup


def trimmed_updates(setup: RunSetup) -> TrimmedUpdates | None:
    """Return the trimmed aggregation if ``--defence`` has it.

    None for dp-fedavg too: its noise is made for the mean of clipped updates, and a trimmed mean moves by more.
    """
    if TRIM not in setup.options.defences() or isinstance(setup.method, DPFedAvg):
        return None
    return TrimmedUpdates()


def trim_section(options: RunOptions, trimmed: TrimmedUpdates | None) -> dict[str, dict[str, Any]]:
    """Return the part ``defence`` of the result; nothing without a defence.

    The counts are those since the last start of the run.
    """
    names = options.defences()
    if not names:
        return {}
    notes: dict[str, Any] = {name: {"not_used": "training in rounds has no reports"} for name in names}
    if trimmed is not None:
        notes[TRIM] = {"updates": trimmed.updates, "clipped_updates": trimmed.clipped}
    elif TRIM in names:
        notes[TRIM] = {"not_used": "the noise is made for the mean of clipped updates"}
    return {"defence": {"names": list(names), "flagged": [], "false_alarm": options.false_alarm, "notes": notes}}
