"""The main job beside its floors, as ratios of CPU seconds on one thread.

    python -m benchmarks.speed.bench_main [--repeats 5] [PART ...]

Parts: ``start``, ``nulls``, ``beside``, ``screen``, ``epoch`` and ``pyg``; ``flower`` and ``large``, a million people,
take minutes and must be named. ``beside``, ``screen`` and ``flower`` have wall seconds and all cores. The two sides of
a ratio run in turn; a ratio is the median of the pairs' ratios. Goals and what was seen stand in docs/measures.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import ROOT
from benchmarks.speed.process import ONE_THREAD, beside

_IMPORTS = (
    "import ldpsim.cli.main\nfrom ldpsim.cli.imports import large_imports\n"
    "with large_imports():\n    from ldpsim.strategies import simulate"
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


def output_of(*words: str, **variables: str) -> str:
    """Return what a Python process of one thread prints; byte code is kept."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=environ | ONE_THREAD | variables, capture_output=True,
                          text=True, check=True)  # fmt: skip
    return done.stdout


def cpu_of(*words: str) -> float:
    """Return the CPU seconds of such a process."""
    before = os.times()
    output_of(*words)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def start(repeats: int) -> list[Seen]:
    """The imports of ``ldpsim run`` beside ``import torch``, both with the interpreter's own start and end."""
    return [in_turn("start: imports of `ldpsim run` beside `import torch`", 1.25,
                    lambda: cpu_of("-c", _IMPORTS), lambda: cpu_of("-c", "import torch"), repeats)]  # fmt: skip


_RUN = """
import json, sys, time
from ldpsim.cli.imports import large_imports
with large_imports():
    from ldpsim.strategies import RunOptions, simulate
from benchmarks.speed.phases import Phases
early, phases = [], Phases("start")
options = RunOptions(method="hogs", clients=3000, feature_share=0.3, out=None, **json.loads(sys.argv[1]))
record = simulate(options, progress=phases, on_accuracy=lambda accuracy: early.append(time.time())).record
cpu = {name: one["cpu"] for name, one in phases.done().items()}
print(json.dumps({"first": early[0], "collect": record["seconds"]["collect"], "cpu": cpu}))
"""
_ALONE = {"nulls": False, "reference": False}
CORES = str(len(os.sched_getaffinity(0)))


def simulated(threads: str, **options: object) -> dict[str, Any]:
    """Return times of a process that makes `make run`'s simulation: of the first figure, and CPU seconds by phase.

    Args:
        threads: Threads that the libraries may use.
        options: Options that differ.
    """
    times: dict[str, Any] = json.loads(
        output_of("-c", _RUN, json.dumps(options), **dict.fromkeys(ONE_THREAD, threads)).splitlines()[-1]
    )
    return times


def wall_of(work: Callable[..., object], *words: str, **options: object) -> float:
    """Return the wall seconds of a call."""
    began = time.perf_counter()
    work(*words, **options)
    return time.perf_counter() - began


def nulls(repeats: int) -> list[Seen]:
    """References and null models of `make run`'s simulation beside the run itself, without its imports."""
    runs: list[dict[str, float]] = []

    def others() -> float:
        runs.append(simulated("1")["cpu"])
        return runs[-1]["reference"] + runs[-1]["nulls"]

    def itself() -> float:
        return sum(cpu for phase, cpu in runs[-1].items() if phase not in ("reference", "nulls"))

    return [in_turn("nulls and references beside the run itself", 1.5, others, itself, repeats)]


def beside_one_another(repeats: int) -> list[Seen]:
    """Wall seconds of `make run`'s simulation with its imports: trainings side by side, and one after another."""
    return [in_turn(f"side by side on {CORES} cores (wall) beside one thread", 0.6,
                    lambda: wall_of(simulated, CORES), lambda: wall_of(simulated, "1"), repeats)]  # fmt: skip


def screen(repeats: int) -> list[Seen]:
    """Wall seconds: that run beside one without null models and reference; its first figure beside `import torch`."""

    def first() -> float:
        began = time.time()
        return float(simulated(CORES)["first"]) - began

    return [
        in_turn(f"run with its first screen (wall, {CORES} cores) beside alone", 1.7,
                lambda: wall_of(simulated, CORES), lambda: wall_of(simulated, CORES, **_ALONE), repeats),
        # 2.5 s, where `import torch` takes 1.8
        in_turn("first figure (wall, from the start) beside `import torch`", 1.4, first,
                lambda: wall_of(output_of, "-c", "import torch"), repeats),
    ]  # fmt: skip


def epoch(repeats: int) -> list[Seen]:
    """An epoch of a GCN beside its products alone."""
    return [_epoch(*size, repeats) for size in ((3_000, 600, 150), (30_000, 256, 20))]


def large(repeats: int) -> list[Seen]:
    """The same for a million people."""
    return [_epoch(1_000_000, 256, 3, repeats)]


def pyg(repeats: int) -> list[Seen]:
    """An epoch of a GCN beside plain PyG's."""
    return [_epoch(3_000, 600, 100, repeats, "--pyg", name="plain PyG's", goal=1.0)]


def _epoch(
    people: int, features: int, epochs: int, repeats: int, *more: str, name: str = "its products", goal: float = 1.5
) -> Seen:
    pairs: list[list[float]] = []

    def ours() -> float:
        words = ("-m", "benchmarks.speed.epoch_floor", str(people), str(features), str(epochs), *more)
        pairs.append([float(word) for word in output_of(*words).split()])
        return pairs[-1][0]

    return in_turn(f"an epoch of {people:,} people beside {name}", goal, ours, lambda: pairs[-1][1], repeats)


PARTS: dict[str, Callable[[int], list[Seen]]] = {
    "start": start, "nulls": nulls, "beside": beside_one_another, "screen": screen, "epoch": epoch, "pyg": pyg,
    "large": large,
}  # fmt: skip
_NAMED_ONLY = ("large",)


def main(words: Sequence[str] | None = None) -> None:
    """Print a line a ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", default=[])
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args(words)
    print(f"the main job beside its floors, CPU seconds, median of {arguments.repeats} pairs; {beside()}")
    for part in arguments.parts or [part for part in PARTS if part not in _NAMED_ONLY]:
        for seen in PARTS[part](arguments.repeats):
            print(seen.line(), flush=True)


if __name__ == "__main__":
    main()
