"""Words for a run that is interrupted: what is kept of it on the disk, and what is done again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ldpsim.devices.enrolment.state import State, is_enrolled
from ldpsim.devices.ledger.rows import LedgerDamaged
from ldpsim.strategies.rounds.checkpoint import finished_rounds
from ldpsim.strategies.setup.run_setup import RunSetup

AGAIN = "the same command goes on"


def may_have_answered(setup: RunSetup, homes: Sequence[Path]) -> bool:
    """Return whether a device may have answered in the present collections of a run: then its folder has to stay."""
    try:
        return any(State(home).answered(setup.digest) for home in homes if is_enrolled(home))
    except (LedgerDamaged, ValueError):
        return True  # nobody can say


def kept_of(setup: RunSetup, folder: Path, homes: Sequence[Path]) -> str:
    """Return the line about a run; it is read from the ledgers and the checkpoint.

    Args:
        setup: The run.
        folder: Its folder.
        homes: Folders of the devices, one for each repeat.
    """
    options = setup.options
    if options.out is None and options.state is None:
        return "nothing is kept: the run has no folder of its own"
    if options.from_reports is not None:
        return f"the reports in {options.from_reports} are as before; {AGAIN} with them"
    rounds = finished_rounds(folder)
    if rounds:
        return f"{rounds:,} rounds are finished and kept in {folder}; {AGAIN} after them"
    try:
        answered = sum(State(home).answered(setup.digest) for home in homes if is_enrolled(home))
    except (LedgerDamaged, ValueError) as error:
        return f"{error}; see {folder}"
    if not answered:
        return f"no device has answered yet; {AGAIN} in {folder}"
    devices = len(setup.population) * len(homes)
    return f"{answered:,} of {devices:,} devices have answered and their answers are kept; {AGAIN} in {folder}"
