"""Command of the mutation run: ``make mutants``.

python -m benchmarks.mutants.run                  run the sample, or what is left of it; print score and survivors
python -m benchmarks.mutants.run --page           write the tables of docs/testing.md from the results; run nothing
"""

from __future__ import annotations

import argparse
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.mutants.mutant import Mutant
from benchmarks.mutants.page import summary, write_page
from benchmarks.mutants.results import Result, about, append, inputs_of, known, read
from benchmarks.mutants.sample import draw, mirrored, rooms
from benchmarks.mutants.workshop import Workshop

SEED, SIZE, HOURS = 20262, 200, 3.0
FIRST_LIMIT = 600.0  # seconds for the tests of a module as it is
TIMES, MORE = 5.0, 20.0  # a mutant's tests get so many times the usual duration, and so many seconds more
ENDED_WELL, NO_TESTS = 0, 5


@dataclass
class Run:
    """A run that goes on where it was stopped.

    Args:
        path: File of the results.
        hours: Processor time after which no further mutant is started, what the results say included.
        processes: Number of copies that work at the same time.
    """

    path: Path
    hours: float
    processes: int
    spent: float = 0.0
    _usual: dict[tuple[str, ...], float] = field(default_factory=dict)
    _failing: dict[tuple[str, ...], str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, sample: dict[str, list[Mutant]], *, survivors: bool = False) -> None:
        """Run the mutants that have no result for this module and these tests; if asked, survivors alone.

        Raises:
            RuntimeError: after all others, where tests fail without a mutant: their mutants have no result.
        """
        held, explained = read(self.path), known()
        self.spent = sum(result.cpu for results in held.values() for result in results)
        open_: list[tuple[str, Mutant, tuple[str, ...], str]] = []
        for folder, mutants in sample.items():
            for mutant in mutants:
                tests = mirrored(ROOT, Path(mutant.module))
                inputs, earlier = inputs_of(ROOT, mutant, tests), held.get(mutant.name, [])
                if survivors and not (earlier and not earlier[-1].killed and about(earlier[-1], explained) is None):
                    continue
                if not any(result.inputs == inputs for result in earlier):
                    open_.append((folder, mutant, tests, inputs))
        print(f"{sum(map(len, sample.values()))} mutants, {len(open_)} of them to run")
        if not open_:
            return
        shops = [Workshop(ROOT) for _ in range(self.processes)]
        try:
            self._each(shops, open_, self._one)
        finally:
            for shop in shops:
                shop.close()
        if self._failing:
            raise RuntimeError("\n".join(self._failing.values()))

    def _each(self, shops: list[Workshop], jobs: list[Any], do: Callable[[Workshop, Any], None]) -> None:
        """Give the jobs to the copies; the first error of one ends all."""
        waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        errors: list[BaseException] = []
        for job in jobs:
            waiting.put(job)

        def work(shop: Workshop) -> None:
            try:
                while not errors and self.spent < 3600 * self.hours:
                    do(shop, waiting.get_nowait())
            except queue.Empty:
                return
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(shop,)) for shop in shops]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def _first(self, shop: Workshop, tests: tuple[str, ...]) -> None:
        """Run the tests of a module as it is: how long they take, and that they pass."""
        seen = shop.run(list(tests), FIRST_LIMIT)
        with self._lock:
            self.spent += seen["cpu"]
            if seen["code"] != ENDED_WELL:
                found = f"{' '.join(tests)} fails without a mutant (exit {seen['code']}):\n{seen['tail']}"
                self._failing[tests] = found
            else:
                self._usual[tests] = seen["seconds"]
                found = f"as it is {seen['seconds']:6.1f} s  {' '.join(tests)}"
            print(found, flush=True)

    def _one(self, shop: Workshop, job: tuple[str, Mutant, tuple[str, ...], str]) -> None:
        folder, mutant, tests, inputs = job
        if tests not in self._usual and tests not in self._failing:
            self._first(shop, tests)
        if tests in self._failing:
            return
        seen = shop.run(list(tests), TIMES * self._usual[tests] + MORE, mutant.module, mutant.source)
        if seen["code"] == NO_TESTS:
            raise RuntimeError(f"{' '.join(tests)} has no test to run")
        by = "time limit" if seen["late"] else seen["test"] or f"exit {seen['code']}: no test was reached"
        killed = seen["code"] != ENDED_WELL
        result = Result(
            mutant.name,
            inputs,
            folder,
            mutant.module,
            mutant.function,
            mutant.operator,
            mutant.line,
            mutant.before,
            mutant.after,
            killed,
            by if killed else "",
            seen["seconds"],
            seen["cpu"],
        )
        with self._lock:
            append(self.path, result)
            self.spent += result.cpu
            at = f"{mutant.module}:{mutant.line} {mutant.operator}"
            print(f"{'killed  ' if killed else 'SURVIVED'} {result.seconds:6.1f} s  {at}  {result.by}", flush=True)


def main() -> None:
    """Read the options, run, and print the summary."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants.run", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=SEED, help="of the sample (default %(default)s)")
    parser.add_argument("--sample", type=int, default=SIZE, help="number of mutants (default %(default)s)")
    parser.add_argument("--processes", type=int, default=2, help="copies at the same time (default %(default)s)")
    parser.add_argument("--hours", type=float, default=HOURS, help="most processor time (default %(default)s)")
    parser.add_argument("--folder", nargs="*", choices=rooms(ROOT), metavar="ROOM", help="only these rooms")
    parser.add_argument("--out", type=Path, help="file of the results (default runs/mutants/seed-SEED.jsonl)")
    parser.add_argument(
        "--survivors", action="store_true", help="only survivors without a reason, where tests changed since"
    )
    parser.add_argument("--page", action="store_true", help="run nothing; write the tables of docs/testing.md")
    asked = parser.parse_args()
    path = asked.out or ROOT / "runs" / "mutants" / f"seed-{asked.seed}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    sample = draw(ROOT, asked.sample, asked.seed, asked.folder)
    names = {mutant.name for mutants in sample.values() for mutant in mutants}
    if not asked.page:
        start = time.monotonic()
        Run(path, asked.hours, asked.processes).run(sample, survivors=asked.survivors)
        print(f"{(time.monotonic() - start) / 60:.1f} minutes")
    results = [found for name, found in read(path).items() if name in names]
    if asked.page:
        write_page(results, known(), asked.seed)
    print(summary(results, known(), len(names)))


if __name__ == "__main__":
    main()
