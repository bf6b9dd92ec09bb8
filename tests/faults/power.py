"""How many schedules the simulator needs for each broken variant: ``python -m tests.faults.power``.

Results are kept in ``runs/faults/power.json``, so that a stopped search continues. ``--page`` writes the table of
``docs/testing.md`` from them, and the sentence about the long run. ``--logs`` first adds the
logs of a part of that run to its sums.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ldpsim.devices.atomic_files import write_atomically
from tests.faults.run import COUNTED, begin, search
from tests.faults.schedule import KINDS, again, shrink, told
from tests.faults.variants import KIND, broken, every_variant
from tests.faults.world import World

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "runs" / "faults" / "power.json"
PAGE = ROOT / "docs" / "testing.md"
LONG_RUN = ROOT / "docs" / "results" / "faults.json"  # sums of the long run and its seeds, the one place of its figures
MOST = 100_000
FIGURE = "<!-- figure of the simulator of faults: start -->", "<!-- figure of the simulator of faults: end -->"
_OF_KIND = {"trainings": " (training)", "races": " (race)", "removals": " (removal)"}
_SENTENCE = {
    "reports": "A simulator ran {}, {} second answers.",
    "trainings": "Of federated trainings it ran {}, {} beyond the cap.",
    "races": "Of races between processes it ran {}, {} second answers.",
    "removals": "Of removals of open files it ran {}, {} second answers.",
}
MARKS = "<!-- table of broken variants: start -->", "<!-- table of broken variants: end -->"


def schedules_until_found(world: World, name: str, most: int = MOST, first: int = 0) -> tuple[int | None, str]:
    """Return how many schedules it takes to find a variant, None for more than ``most``, and the violation.

    Args:
        world: The world.
        name: The variant.
        most: How many schedules are run.
        first: Seed to begin with, where a long run found nothing before it.
    """
    with world.simulated(), broken(name):
        found, sums = search(world, first, first + most, KIND[name])
        return (first + sums["schedules"], found.violation) if found is not None else (None, "")


def story_of(world: World, name: str) -> str:
    """Return the shrunk story of a variant."""
    with world.simulated(), broken(name):
        found, _ = search(world, 0, MOST, KIND[name])
        return "" if found is None else told(again(world, shrink(world, found.schedule)))


def table(kept: dict[str, int]) -> str:
    """Return the table, those that are found first in front; a number below 0 is that of schedules without success."""
    rows = sorted((kept[name] < 0, abs(kept[name]), name) for name in every_variant() if name in kept)
    lines = [
        f"| {name}{_OF_KIND.get(KIND[name], '')} | {'not in ' if missed else ''}{count:,} |"
        for missed, count, name in rows
    ]
    return "\n".join(["| broken variant | schedules until found |", "|---|--:|", *lines])


def figure() -> str:
    """Return the sentences about the long run."""
    kept = json.loads(LONG_RUN.read_text())
    return "\n".join(
        _SENTENCE[kind].format(_told(kept[kind]), kept[kind]["second answers"]) for kind in KINDS if kind in kept
    )


def _told(sums: Mapping[str, Any]) -> str:
    counts = {name: f"{sums[name]:,}" for name in COUNTED}
    return (
        f"{counts['schedules']} schedules with {counts['faults']} faults: {counts['asks']} questions, "
        f"{counts['replies']} replies"
    )


def add_up(logs: Sequence[Path]) -> None:
    """Add the logs of a long run to its sums, and note which seeds it has run: the next part begins behind them.

    Raises:
        ValueError: where a block is there twice, or a schedule violated an invariant.
    """
    lines = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    kept = json.loads(LONG_RUN.read_text()) if LONG_RUN.is_file() else {}
    sums = {kind: _added(kept.get(kind, {}), [line for line in lines if line["kind"] == kind]) for kind in KINDS}
    write_atomically(LONG_RUN, json.dumps({kind: found for kind, found in sums.items() if found["seeds"]}) + "\n")


def _added(kept: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    there = [tuple(ends) for ends in kept.get("seeds", [])]
    seeds = sorted([*there, *((line["first"], line["first"] + line["schedules"]) for line in lines)])
    if any(line["violations"] for line in lines) or any(one[1] > other[0] for one, other in pairwise(seeds)):
        raise ValueError("a block is there twice, or a schedule violated an invariant")
    merged: list[list[int]] = []
    for first, last in seeds:
        if merged and merged[-1][1] == first:
            merged[-1][1] = last
        else:
            merged.append([first, last])
    sums = {name: kept.get(name, 0) + sum(line[name] for line in lines) for name in COUNTED}
    return {**sums, "second answers": 0, "seeds": merged}


def write_pages(kept: dict[str, int]) -> None:
    """Put the table and the sentence into the page."""
    if kept:
        _put(PAGE, MARKS, table(kept))
    if LONG_RUN.is_file():
        _put(PAGE, FIGURE, figure())


def _put(page: Path, marks: tuple[str, str], content: str) -> None:
    start, end = marks
    found = re.sub(f"{start}.*{end}", lambda _: f"{start}\n{content}\n{end}", page.read_text(), flags=re.DOTALL)
    page.write_text(found)


def main() -> None:
    """Run the command."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--most", type=int, default=MOST)
    given.add_argument("--first", type=int, default=0, help="seed to begin with: a long run found nothing before it")
    given.add_argument("--only", default="", help="a part of the names of the variants")
    given.add_argument("--anew", action="store_true")
    given.add_argument("--story", action="store_true")
    given.add_argument("--page", action="store_true")
    given.add_argument("--logs", type=Path, nargs="*", default=[])
    options = given.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.is_file() and not options.anew else {}
    if options.logs:
        add_up(options.logs)
    if options.page:
        write_pages(kept)
        return
    world = begin()
    for name in every_variant():
        if options.only not in name:
            continue
        if options.story:
            print(story_of(world, name))
            continue
        if kept.get(name, -1) < 0:
            count, violation = schedules_until_found(world, name, options.most, options.first)
            print(f"{count if count is not None else '-':>7}  {name}: {violation}", flush=True)
            kept[name] = -options.most if count is None else count
            KEPT.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(KEPT, json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
