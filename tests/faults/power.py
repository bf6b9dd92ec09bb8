"""How many schedules the simulator needs for each broken variant: ``python -m tests.faults.power``.

Results are kept in ``runs/faults/power.json``, so that a stopped search continues; ``--page`` writes the table of
``docs/testing.md`` from them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from pathlib import Path

from tests.faults.run import begin, search
from tests.faults.schedule import again, shrink, told
from tests.faults.variants import broken, every_variant
from tests.faults.world import World

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "runs" / "faults" / "power.json"
PAGE = ROOT / "docs" / "testing.md"
MOST = 100_000
MARKS = "<!-- table of broken variants: start -->", "<!-- table of broken variants: end -->"


def schedules_until_found(world: World, name: str, most: int = MOST) -> tuple[int | None, str]:
    """Return how many schedules it takes to find a variant, None for more than ``most``, and the violation."""
    with world.simulated(), broken(name):
        found, sums = search(world, 0, most)
        return (sums["schedules"], found.violation) if found is not None else (None, "")


def story_of(world: World, name: str) -> str:
    """Return the shrunk story of a variant."""
    with world.simulated(), broken(name):
        found, _ = search(world, 0, MOST)
        return "" if found is None else told(again(world, shrink(world, found.schedule)))


def table(kept: dict[str, int | None]) -> str:
    """Return the table, those that are found first in front."""
    rows = sorted((kept[name] or MOST + 1, name) for name in every_variant() if name in kept)
    lines = [f"| {name} | {f'{count:,}' if count <= MOST else f'not in {MOST:,}'} |" for count, name in rows]
    return "\n".join(["| broken variant | schedules until found |", "|---|--:|", *lines])


def write_page(kept: dict[str, int | None]) -> None:
    """Put the table into the page."""
    start, end = MARKS
    text = PAGE.read_text()
    found = re.sub(f"{start}.*{end}", lambda _: f"{start}\n{table(kept)}\n{end}", text, flags=re.DOTALL)
    PAGE.write_text(found)


def main() -> None:
    """Run the command."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--most", type=int, default=MOST)
    given.add_argument("--only", default="", help="a part of the names of the variants")
    given.add_argument("--anew", action="store_true")
    given.add_argument("--story", action="store_true")
    given.add_argument("--page", action="store_true")
    options = given.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.is_file() and not options.anew else {}
    if options.page:
        write_page(kept)
        return
    world = begin()
    for name in every_variant():
        if options.only not in name:
            continue
        if options.story:
            print(story_of(world, name))
            continue
        if name not in kept:
            count, violation = schedules_until_found(world, name, options.most)
            print(f"{count if count is not None else '-':>7}  {name}: {violation}", flush=True)
            if count is not None or options.most >= MOST:
                kept[name] = count
                KEPT.parent.mkdir(parents=True, exist_ok=True)
                temporary = KEPT.with_suffix(f".{os.getpid()}")
                temporary.write_text(json.dumps(kept, indent=1))
                temporary.replace(KEPT)


if __name__ == "__main__":
    main()
