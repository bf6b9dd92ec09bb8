"""The main job beside its floors, as ratios of CPU seconds on one thread.

    python -m benchmarks.speed.bench_main [--repeats 5] [PART ...]

Parts: ``start``. The two sides of a ratio run in turn; a ratio is the median of the pairs' ratios. Goals and what was
seen stand in docs/measures.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks import ROOT
from benchmarks.speed.process import ONE_THREAD, beside

_IMPORTS = (
    "import cli.main\nfrom cli.imports import large_imports\nwith large_imports():\n    from strategies import simulate"
)


@dataclass(frozen=True)
class Seen:
    """Two sides of a ratio.

    Args:
        name: What is compared.
        goal: The largest ratio that is good enough.
        ratio: Median of the pairs' ratios.
        ours, floor: Medians of both sides, in CPU seconds.
    """

    name: str
    goal: float
    ratio: float
    ours: float
    floor: float

    def line(self) -> str:
        """Return the line that is printed."""
        word = "kept" if self.ratio <= self.goal else "missed"
        sides = f"{self.ours:.3f} and {self.floor:.3f} s"
        return f"  {self.name:<58} {self.ratio:5.2f} x (goal {self.goal:.2f}: {word}; {sides})"


def in_turn(name: str, goal: float, ours: Callable[[], float], floor: Callable[[], float], repeats: int) -> Seen:
    """Measure both sides in turn; the first pair, which fills caches, is not counted.

    Args:
        name, goal: Of the result.
        ours, floor: Return CPU seconds.
        repeats: Pairs that count.
    """
    pairs = [(ours(), floor()) for _ in range(repeats + 1)][1:]
    middle = [statistics.median(side) for side in zip(*pairs, strict=True)]
    return Seen(name, goal, statistics.median(one / other for one, other in pairs), middle[0], middle[1])


def cpu_of(*words: str) -> float:
    """Return the CPU seconds of a Python process of one thread, byte code kept."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = os.times()
    subprocess.run([sys.executable, *words], cwd=ROOT, env=kept | ONE_THREAD, capture_output=True, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def start(repeats: int) -> list[Seen]:
    """The imports of ``ldpsim run`` beside ``import torch``, both with the interpreter's own start and end."""
    return [in_turn("start: imports of `ldpsim run` beside `import torch`", 1.25,
                    lambda: cpu_of("-c", _IMPORTS), lambda: cpu_of("-c", "import torch"), repeats)]  # fmt: skip


PARTS: dict[str, Callable[[int], list[Seen]]] = {"start": start}


def main(words: Sequence[str] | None = None) -> None:
    """Print a line a ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", default=[])
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args(words)
    print(f"the main job beside its floors, CPU seconds, median of {given.repeats} pairs; {beside()}")
    for part in given.parts or PARTS:
        for seen in PARTS[part](given.repeats):
            print(seen.line(), flush=True)


if __name__ == "__main__":
    main()
