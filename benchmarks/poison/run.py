"""Measure lying devices on Cora, cell by cell; a stopped measurement goes on where it was.

python -m benchmarks.poison.run [--folder FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from benchmarks.poison.sets import passes
from strategies.attacks.poison.campaign import PoisonCampaign

FOLDER = Path("runs") / "poison-page"


def main() -> None:
    """Run the cells that have no result."""
    torch.set_flush_denormal(True)  # some networks of lpgnn run into subnormal numbers, ten times slower
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    for entry, repeats, shares in passes():
        result = PoisonCampaign(entry.options(repeats, shares)).run(folder)
        print(f"{entry.method} {entry.epsilon} {','.join(entry.attacks)} x{repeats}: {result.seconds:.0f} s",
              *(f"{name}: {failed.line}" for name, failed in result.failures), sep="\n", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
