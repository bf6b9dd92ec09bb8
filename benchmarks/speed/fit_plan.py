"""Measure small runs and fit the constants of ``ldpsim plan``: CPU seconds by phase, and memory.

    python -m benchmarks.speed.fit_plan [METHOD...]    all methods that a plan lists, or these; writes constants.toml

Each run is a child of one warm process, on one thread. Constants are 0 or more (non-negative least squares on relative
errors), so a figure never falls when a driver grows. Methods that are not named keep their constants, unless the
machine is another one: then the file holds the named ones alone.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import queue
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import nnls

from curator.methods import find
from curator.methods.federated.fedavg import Federated
from curator.methods.owner.owner import LabelAnswers
from strategies.estimate.asked import ones_reported, trials_drawn
from strategies.estimate.fits import asked_of
from strategies.estimate.graph_facts import known_before
from strategies.estimate.load import CONSTANTS, DRIVERS, drivers
from strategies.estimate.machine import calibration, described
from strategies.planning.listed import LISTED
from strategies.setup.options import RunOptions
from strategies.setup.run_setup import budget_of
from strategies.setup.sampler import chosen_sampler
from strategies.setup.settings import resolve

PHASE = {"population": "start", "collect": "collect", "reconstruct": "reconstruct", "train": "train",
         "reference": "reference", "nulls": "nulls", "teachers": "reconstruct", "rounds": "train"}  # fmt: skip
USED = {  # drivers that a figure may depend on
    "start": ("one", "people", "columns"),
    "collect": ("one", "people", "columns", "ones", "draws"),
    "reconstruct": ("one", "people", "columns", "ones", "pairs"),
    "train": ("one", "people", "edges", "columns", "ones"),
    "reference": ("one", "people", "columns"),
    "memory": ("one", "people", "columns", "ones", "pairs"),
}
MOST_QUERIES = 60  # of an owner's method: a small public graph has no more
EPOCHS = 20  # of the run with many false neighbours, whose training is scaled up


@dataclass(frozen=True)
class Case:
    """A run: data set, people, and whether null models and the reference are part of it."""

    dataset: str
    clients: int
    whole: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)


CASES = (
    Case("generated", 300, whole=True),
    Case("generated", 1000, whole=True),
    Case("generated", 3000),
    Case("generated", 2000, more={"epsilon": 2.0, "settings": {"epochs": str(EPOCHS)}}),  # many false neighbours
    Case("generated-v1", 3000),
    Case("generated", 3000, more={"sampler": 2}),  # left out where no report has it
)
SECONDS = 150  # of CPU time that a run may take; a method whose time grows faster is fitted on smaller ones
LARGER = Case("generated-v1", 10_000)
TRIED = ("hogs", "rgnn", "lpgnn", "sbp", "vote")  # whose estimates are tried on larger runs


def options_of(method: str, case: Case) -> RunOptions:
    """Return the options of a measured run."""
    kind = find(method)
    given: dict[str, Any] = {"public_features": kind.public_features, **case.more}
    if issubclass(kind, LabelAnswers):
        given["settings"] = {**given.get("settings", {}), "queries": str(MOST_QUERIES)}
    return RunOptions(method=method, dataset=case.dataset, clients=case.clients, out=None, nulls=case.whole,
                      reference=case.whole, device="cpu", engine="local", **given)  # fmt: skip


def measure(options: RunOptions, answers: Any) -> None:
    """Run once and put (CPU seconds by phase, peak memory) or the error into a queue."""
    from strategies import simulate

    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    marks: list[tuple[str, float]] = []

    def tell(phase: str, share: float | None) -> None:
        if not marks or marks[-1][0] != phase:
            marks.append((phase, time.process_time()))

    started = time.process_time()
    try:
        simulate(options, progress=tell, keep_graph=False)
    except ValueError as error:
        answers.put(str(error))
        return
    ends = [*(at for _, at in marks[1:]), time.process_time()]
    seconds: dict[str, float] = {"start": marks[0][1] - started if marks else 0.0}
    for (phase, at), end in zip(marks, ends, strict=True):
        name = PHASE.get(phase, "reconstruct")
        seconds[name] = seconds.get(name, 0.0) + end - at
    with open("/proc/self/status") as lines:
        kib = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    answers.put((seconds, kib * 1024))


def measured(options: RunOptions) -> tuple[dict[str, float], int] | str:
    """Return what :func:`measure` finds, in a child process."""
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    process = fork.Process(target=measure, args=(options, answers))
    process.start()
    found: tuple[dict[str, float], int] | str | None = None
    while found is None:
        with suppress(queue.Empty):
            found = answers.get(timeout=1.0)
        if found is None and not process.is_alive():
            with suppress(queue.Empty):
                found = answers.get(timeout=1.0)
            found = found or f"it took more than {SECONDS} s"
    process.join()
    return found


def driver_values(options: RunOptions) -> dict[str, float]:
    """Return the drivers of a run on paper."""
    facts = known_before(options)
    assert facts is not None
    asked = asked_of(options, facts)
    return drivers(facts, ones_reported(asked, facts.n, facts.mean_degree), trials_drawn(asked, facts.n))


def usual_epochs(options: RunOptions) -> int:
    """Return the number of epochs that the method trains for by default."""
    plain = replace(options, settings={})
    return resolve(plain, find(options.method), budget_of(plain, public_features=plain.public_features)).training.epochs


def fit(rows: Sequence[tuple[Mapping[str, float], float]], used: Sequence[str]) -> dict[str, float]:
    """Return constants of 0 or more that fit the values with small relative errors."""
    values = np.array([[row[name] for name in used] for row, _ in rows])
    aims = np.array([max(value, 1e-3) for _, value in rows])
    scale = values.max(axis=0)
    scale[scale == 0] = 1
    found, _ = nnls(values / scale / aims[:, None], np.ones(len(aims)))
    return {name: float(f"{constant:.4g}") for name, constant in zip(used, found / scale, strict=True) if constant > 0}


def constants_of(method: str) -> dict[str, Any] | None:
    """Measure a method and return its constants; None if no run was possible."""
    seen: list[tuple[dict[str, float], dict[str, float], int, Case]] = []
    for case in (*CASES, LARGER) if method in TRIED else CASES:
        options = options_of(method, case)
        if chosen_sampler(options.sampler, find(method)(), case.clients) != (options.sampler or 1):
            continue
        found = measured(options)
        if isinstance(found, str):
            print(f"{method}, {case}: {found}", file=sys.stderr)
            continue
        seconds, memory = found
        if "epochs" in options.settings and find(method)().trains_network() and not issubclass(find(method), Federated):
            seconds["train"] *= usual_epochs(options) / EPOCHS
        seen.append((driver_values(options), seconds, memory, case))
        print(f"{method} {case.dataset} {case.clients}: {sum(found[0].values()):.2f} s, {found[1] / 2**20:.0f} MiB",
              flush=True)  # fmt: skip
    if len(seen) < 3:
        return None
    made: dict[str, Any] = {"measured": max(case.clients for *_, case in seen)}
    rows = any(row["ones"] for row, *_ in seen)
    numbers = "noisy_row" in find(method).mechanisms  # the one mechanism whose reports are a matrix of all pairs
    for name in ("start", "collect", "reconstruct", "train"):
        used = [driver for driver in USED[name] if driver != "pairs" or rows or numbers]
        made[name] = fit([(row, seconds.get(name, 0.0)) for row, seconds, _, _ in seen], used)
    used = [driver for driver in USED["memory"] if driver != "pairs" or numbers]
    made["memory"] = fit([(row, memory) for row, _, memory, _ in seen], used)
    whole = [(row, seconds) for row, seconds, _, case in seen if case.whole]
    made["reference"] = fit([(row, seconds.get("reference", 0.0)) for row, seconds in whole], ("one", "people"))
    again = [sum(seconds.get(name, 0.0) for name in ("collect", "reconstruct", "train")) for _, seconds in whole]
    shares = [seconds.get("nulls", 0.0) / base for (_, seconds), base in zip(whole, again, strict=True) if base]
    made["nulls"] = round(float(np.mean(shares)), 3) if shares else 0.0
    return made


def process_bytes() -> int:
    """Return what a process of the command line needs beside a child of this one: code that the run never touches."""
    options = RunOptions(clients=300, out=None, nulls=False, reference=False, device="cpu", engine="local")
    child = measured(options)
    words = [
        "run",
        "--clients",
        "300",
        "--no-nulls",
        "--no-reference",
        "--device",
        "cpu",
        "--engine",
        "local",
        "--json",
    ]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cli.main", *words, "--json", "--out", folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert not isinstance(child, str)
    return max(0, int(json.loads(done.stdout)["memory"]["peak_rss_bytes"]) - child[1])


def main() -> None:
    """Measure, fit and write."""
    import tomllib

    import tomli_w

    if os.environ.get("OMP_NUM_THREADS") != "1":  # libraries read it when they are imported
        os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.speed.fit_plan", *sys.argv[1:]])
    named = sys.argv[1:] or list(LISTED)
    import strategies.runs.simulate  # noqa: F401 - the children share what it imports

    kept: dict[str, Any] = {}
    if CONSTANTS.is_file():
        before = tomllib.loads(CONSTANTS.read_text())
        kept = before["methods"] if before["machine"]["name"] == described() else {}
    speed, process = calibration(), process_bytes()
    for method in named:
        found = constants_of(method)
        if found is not None:
            kept[method] = found
        document = {
            "machine": {
                "name": described(),
                "calibration": round(min(speed, calibration()), 5),
                "process_bytes": process,
            },
            "drivers": list(DRIVERS),
            "methods": dict(sorted(kept.items())),
        }
        CONSTANTS.write_text(tomli_w.dumps(document))


if __name__ == "__main__":
    main()
