"""Measure small runs and fit the constants of ``ldpsim plan``: CPU seconds by phase, and memory where there is no law.

    python -m benchmarks.speed.fit_plan [NAME...]    all methods that a plan lists, or these; writes constants.toml

A method that asks volunteers in clear is measured beside them too, as "METHOD with volunteers".

Each run is a child of one warm process, on one thread. The large runs of docs/results/scale.json are fitted too, so
that growth is not extrapolated where it was measured. Constants are 0 or more (non-negative least squares on relative
errors), so a figure never falls when a driver grows. Methods that are not named keep their constants, and the machine
its calibration: seconds are scaled to it. On another kind of machine the file holds the named ones alone.
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

from benchmarks.speed.kept_runs import facts_of_kept, kept_runs, options_of_kept
from benchmarks.speed.process import ONE_THREAD
from ldpsim.curator.methods import find
from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.curator.methods.owner.owner import LabelAnswers
from ldpsim.strategies.engines.usage import forget_peak, peak_rss
from ldpsim.strategies.estimate.asked import largest_question, ones_reported, trials_drawn
from ldpsim.strategies.estimate.fits import asked_of
from ldpsim.strategies.estimate.graph_facts import GraphFacts, known_before
from ldpsim.strategies.estimate.load import CONSTANTS, DRIVERS, drivers, name_of_constants
from ldpsim.strategies.estimate.machine import calibration, machine_in_words
from ldpsim.strategies.planning.listed import LISTED
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import budget_of
from ldpsim.strategies.setup.settings import resolve

KEPT_PHASE = {"population": "start", "enrol": "start", "start": "start", "collect": "collect", "train": "train"}
PHASE = {"population": "start", "collect": "collect", "reconstruct": "reconstruct", "train": "train",
         "reference": "reference", "nulls": "nulls", "teachers": "reconstruct", "rounds": "train"}  # fmt: skip
USED = {  # drivers that a figure may depend on
    "start": ("one", "people", "columns"),
    "collect": ("one", "people", "columns", "ones", "draws", "pairs"),
    "reconstruct": ("one", "people", "columns", "ones", "pairs", "beliefs"),
    "train": ("one", "people", "edges", "columns", "ones", "agreed", "beliefs"),
    "reference": ("one", "people", "columns"),
    "memory": ("one", "people", "columns", "ones"),
}
MANY, LONG = 100_000, 3  # a run of so many people counts so many times: an error there costs the most time
MOST_QUERIES = 60  # of an owner's method: a small public graph has no more
VOLUNTEERS = 0.1  # share of people
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
)
SECONDS = 150  # of CPU time that a run may take; a method whose time grows faster is fitted on smaller ones
LARGER = Case("generated", 30_000)  # left out where a report is a row of numbers


def names() -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return what has constants: the method of each name, and its options."""
    plain: dict[str, tuple[str, Mapping[str, Any]]] = {
        method: (method, {"public_features": find(method).spec.public_features}) for method in LISTED
    }
    beside: dict[str, tuple[str, Mapping[str, Any]]] = {
        name_of_constants(method, volunteers=True): (method, {"volunteers": VOLUNTEERS})
        for method in LISTED if find(method).spec.asks_volunteers
    }  # fmt: skip
    return plain | beside


def options_of(name: str, case: Case) -> RunOptions:
    """Return the options of a measured run."""
    method, more = names()[name]
    kind = find(method)
    given: dict[str, Any] = {**more, **case.more}
    if issubclass(kind, LabelAnswers) and case.clients < LARGER.clients:
        given["settings"] = {**given.get("settings", {}), "queries": str(MOST_QUERIES)}
    return RunOptions(method=method, dataset=case.dataset, clients=case.clients, out=None, nulls=case.whole,
                      reference=case.whole, device="cpu", engine="local", **given)  # fmt: skip


def measure(options: RunOptions, answers: Any) -> None:
    """Run once and put (CPU seconds by phase, peak memory) or the error into a queue."""
    from ldpsim.strategies import simulate

    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    forget_peak()
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
    answers.put((seconds, peak_rss()))


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


def driver_values(options: RunOptions, facts: GraphFacts | None = None) -> dict[str, float]:
    """Return the drivers of a run on paper."""
    facts = facts or known_before(options)
    assert facts is not None
    asked = asked_of(options, facts)
    return drivers(facts, ones_reported(asked, facts.n, facts.mean_degree), trials_drawn(asked, facts.n))


def large_runs(name: str) -> list[tuple[dict[str, float], dict[str, float], int, float]]:
    """Return (drivers, CPU seconds by phase, people, peak in bytes) of the runs that docs/results/scale.json keeps.

    What follows the training (evaluation, losses of the ledgers) does not depend on epochs: it is added to the
    reconstruction.
    """
    found = []
    for run in kept_runs():
        options = options_of_kept(run)
        kept_as = name_of_constants(options.method, volunteers=options.volunteers is not None)
        if kept_as != name or run["drawn"] or run["nulls"]:
            continue
        facts = facts_of_kept(run)
        seconds = dict.fromkeys(("start", "collect", "reconstruct", "train"), 0.0)
        for phase, part in run["phases"].items():
            seconds[KEPT_PHASE.get(phase, "reconstruct")] += part["cpu"]
        if "epochs" in options.settings:
            seconds["train"] *= usual_epochs(options) / run["epochs"]
        found.append((driver_values(options, facts), seconds, run["people"], run["peak"] * 2**20))
    return found


def asks_with_rows(name: str) -> bool:
    """Return whether a question has a row or a group for each person, which every device reads."""
    options = options_of(name, LARGER)
    facts = known_before(options)
    assert facts is not None
    return largest_question(asked_of(options, facts), facts.n) > facts.n


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


def constants_of(name: str, slower: float, process: float) -> dict[str, Any] | None:
    """Measure a method and return its constants; None if no run was possible.

    Args:
        name: The method, perhaps with volunteers (:func:`names`).
        slower: Seconds of the machine as it was calibrated for the constants, for each second of now.
        process: :func:`process_bytes`.
    """
    method, _ = names()[name]
    seen: list[tuple[dict[str, float], dict[str, float], int, Case]] = []
    numbers = "noisy_row" in find(method).spec.mechanisms  # the one mechanism whose reports are a matrix of all pairs
    for case in CASES if numbers else (*CASES, LARGER):
        options = options_of(name, case)
        found = measured(options)
        if isinstance(found, str):
            print(f"{name}, {case}: {found}", file=sys.stderr)
            continue
        seconds, memory = {phase: slower * value for phase, value in found[0].items()}, found[1]
        if (
            "epochs" in options.settings
            and find(method)().in_force().trains_network
            and not issubclass(find(method), Federated)
        ):
            seconds["train"] *= usual_epochs(options) / EPOCHS
        seen.append((driver_values(options), seconds, memory, case))
        print(f"{name} {case.dataset} {case.clients}: {sum(found[0].values()):.2f} s, {found[1] / 2**20:.0f} MiB",
              flush=True)  # fmt: skip
    if len(seen) < 3:
        return None
    large = large_runs(name)
    made: dict[str, Any] = {
        "measured": max(*(case.clients for *_, case in seen), *(people for _, _, people, _ in large))
    }
    squares = {"collect": numbers or asks_with_rows(name), "reconstruct": numbers}  # phases that look at all pairs
    for phase in ("start", "collect", "reconstruct", "train"):
        used = [driver for driver in USED[phase] if driver != "pairs" or squares[phase]]
        small = [(row, seconds.get(phase, 0.0)) for row, seconds, _, _ in seen]
        more = [(row, seconds[phase]) for row, seconds, people, _ in large
                for _ in range(LONG if people >= MANY else 1)]  # fmt: skip
        made[phase] = fit(small + more, used)
    if find(method).spec.memory is None:
        made["memory"] = fit([(row, float(memory)) for row, _, memory, _ in seen]
                             + [(row, peak - process) for row, _, _, peak in large], USED["memory"])  # fmt: skip
    whole = [(row, seconds) for row, seconds, _, case in seen if case.whole]
    made["reference"] = fit([(row, seconds.get("reference", 0.0)) for row, seconds in whole], ("one", "people"))
    again = [sum(seconds.get(phase, 0.0) for phase in ("collect", "reconstruct", "train")) for _, seconds in whole]
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
        command = [sys.executable, "-m", "ldpsim.cli.main", *words, "--out", folder]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert not isinstance(child, str)
    return max(0, int(json.loads(done.stdout)["memory"]["peak_rss_bytes"]) - child[1])


def main() -> None:
    """Measure, fit and write."""
    import tomllib

    import tomli_w

    if os.environ.get("OMP_NUM_THREADS") != "1":  # libraries read it when they are imported
        os.environ.update(ONE_THREAD)
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.speed.fit_plan", *sys.argv[1:]])
    named = sys.argv[1:] or list(names())
    import ldpsim.strategies.runs.simulate  # noqa: F401 - the children share what it imports

    kept: dict[str, Any] = {}
    machine: dict[str, Any] = {}
    if CONSTANTS.is_file():
        before = tomllib.loads(CONSTANTS.read_text())
        if before["machine"]["name"] == machine_in_words():
            kept, machine = before["methods"], before["machine"]
    if not machine:
        machine = {"name": machine_in_words(), "calibration": round(calibration(), 5), "process_bytes": process_bytes()}
    for name in named:
        found = constants_of(name, machine["calibration"] / calibration(), machine["process_bytes"])
        if found is not None:
            kept[name] = found
        document = {"machine": machine, "drivers": list(DRIVERS), "methods": dict(sorted(kept.items()))}
        CONSTANTS.write_text(tomli_w.dumps(document))


if __name__ == "__main__":
    main()
