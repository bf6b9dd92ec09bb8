"""Measure lying devices and fake accounts, cell by cell; a stopped measurement goes on where it was.

python -m benchmarks.poison.run [--accounts] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from benchmarks.poison.sets import account_passes, passes
from strategies.attacks.poison.campaign import PoisonCampaign

FOLDER = Path("runs") / "poison-page"


def main() -> None:
    """Run the cells that have no result."""
    torch.set_flush_denormal(True)  # some networks of lpgnn run into subnormal numbers, ten times slower
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--accounts", action="store_true", help="accounts that join, in place of people who lie")
    given = parser.parse_args()
    for entry, repeats, shares in account_passes() if given.accounts else passes():
        folder = given.folder / f"accounts-{entry.dataset}" if given.accounts else given.folder
        result = PoisonCampaign(entry.options(repeats, shares)).run(folder)
        named = f"{entry.dataset} {entry.method} {entry.epsilon} {','.join(entry.attacks)}"
        print(f"{named} x{repeats}: {result.seconds:.0f} s",
              *(f"{name}: {failed.line}" for name, failed in result.failures), sep="\n", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
