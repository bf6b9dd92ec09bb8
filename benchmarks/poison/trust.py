"""Two proposed checks against fake accounts, tried once: trust by degree, and agreement of pairs.

    python -m benchmarks.poison.trust

Both read rows of bits. *Trust by degree* excludes people whose degree, estimated from the ones that both ends report,
is below one half. *Agreement* excludes people of whose own ones the other ends confirm less than half of the median.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

import curator.defences
from benchmarks.poison.sets import Measured
from curator.defences.base import Defence, Notes, nobody, silent_on
from curator.defences.pair_counts import PairCounts, RowPairs
from curator.reports.reports import Reports
from curator.reports.rows import flipped_rows
from devices.array_types import BoolArray
from devices.facts import PublicKnowledge
from strategies.attacks.poison.campaign import PoisonCampaign

HOME = Path("runs") / "poison-trust"


def checked(low: Callable[[PairCounts, float], BoolArray]) -> Any:
    """Return a judge that flags the people for whom ``low`` is true of their counts and the flip probability."""

    def judge(reports: Reports, public: PublicKnowledge, level: float) -> tuple[BoolArray, Notes]:
        rows = flipped_rows(reports)
        if rows is None or rows.one_end:
            return nobody(reports), silent_on("row of bits that both ends report")
        return low(RowPairs(rows.ones).among(rows.reported), rows.flip) & rows.reported, {}

    return judge


def of_low_degree(counts: PairCounts, flip: float) -> BoolArray:
    """bool (n,): the mean of the ones that both ends report is q^2 N + (p - q) times the degree."""
    return np.asarray((counts.both - counts.others * flip**2) / (1 - 2 * flip) < 0.5)


def of_low_agreement(counts: PairCounts, flip: float) -> BoolArray:
    """bool (n,): less than half of the median share of own ones is confirmed."""
    share = counts.both / np.maximum(counts.own, 1)
    return np.asarray((share < np.median(share[counts.own > 0]) / 2) & (counts.own > 0))


def main() -> None:
    """Measure HoGS and SBP on Cora among accounts in pairs."""
    torch.set_flush_denormal(True)
    tried = {"low-degree": of_low_degree, "agreement": of_low_agreement}
    known = cast(dict[str, Defence], curator.defences.DEFENCES)
    known |= {name: Defence(name, "tried", ("rows",), judge=checked(low)) for name, low in tried.items()}
    for method in ("hogs", "sbp"):
        entry = Measured(method, 4.0, ("join-pairs",), defences=("disagreement", *tried), joins=True)
        for row in PoisonCampaign(entry.options(2, (0.0, 0.1))).run(HOME / method).rows:
            shown = ("attack", "lie", "share", "defence", "accuracy", "std", "goal_value", "found", "false_alarms")
            print(method, *(f"{name} {row[name]}" for name in shown), sep="; ", flush=True)


if __name__ == "__main__":
    main()
