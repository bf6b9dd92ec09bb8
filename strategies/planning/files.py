"""Files of a plan: the plan itself as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from devices.atomic_files import write_atomically
from strategies.planning.plan import Plan
from strategies.results import folder as run_folder


def write_files(made: Plan, out: Path) -> tuple[Path, ...]:
    """Write the files of a plan into a folder of ``out`` and return their paths."""
    folder = out / f"plan-{made.facts.n}"
    run_folder.prepare(folder)
    write_atomically(folder / "plan.json", json.dumps(made.to_dict(), indent=1) + "\n")
    return (folder / "plan.json",)
