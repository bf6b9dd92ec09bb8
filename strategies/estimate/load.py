"""CPU seconds and memory of a run: seconds from constants that were measured, memory from the curator's law.

Each figure of seconds is a sum of drivers with constants of its method:

    one      start of the program         people   n                edges   ends of true edges
    columns  n d                          ones     neighbours that all reports name, false ones included
    pairs    n^2                          draws    trials that all devices draw one by one
    agreed   ends of pairs that both ends report          beliefs  the same times classes

``python -m benchmarks.speed.fit_plan`` measures runs, fits the constants and writes ``constants.toml`` with the
machine. A method that asks volunteers in clear has constants of its own beside them, because everybody else then gets
other questions. Seconds are scaled by a quick calibration of this machine. Memory is
:func:`ldpsim.curator.methods.memory.peak_bytes`; a method without a law has fitted constants for it too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ldpsim.curator.methods import find
from ldpsim.curator.methods.memory import Sizes, peak_bytes
from ldpsim.strategies.estimate.graph_facts import GraphFacts

CONSTANTS = Path(__file__).with_name("constants.toml")
DRIVERS = ("one", "people", "edges", "columns", "ones", "pairs", "draws", "agreed", "beliefs")
PHASES = ("start", "collect", "reconstruct", "train")
TRAINED = ("train", "reference")  # phases that grow with the number of epochs
_OF_A_RECORD = 24  # bytes: where its features and neighbours begin, and its label
MEMORY_ERROR, TIME_ERROR = 1.3, 2.0  # factors that the estimates keep on what they were tried on
NEAR = 4  # times the largest measured size, up to which they keep them
FAR_ERROR = 2.0  # factor of fitted memory beyond
# Share of all pairs that reports name in the noisiest runs behind the constants. Beyond it, as at a small loss of a
# whole record, nothing is said of a phase that depends on them, unless a law was tried there (likely_pairs).
NOISIEST = 0.15


@dataclass(frozen=True)
class Load:
    """Load of a run on the curator's machine, with the devices that it simulates.

    Args:
        seconds: CPU seconds by phase, on one thread.
        memory_bytes: Largest resident size of the process.
        measured: Largest number of people of the runs behind the constants.
        people: Number of people of the run.
        by_law: Whether the memory follows from a law, which was tried on up to a million people.
        noisy: Whether reports name a larger share of all pairs than in any measured run: its time is not known.
        knows_pairs: Whether the memory counts the pairs that so much noise makes.
    """

    seconds: Mapping[str, float]
    memory_bytes: float
    measured: int
    people: int
    by_law: bool
    noisy: bool = False
    knows_pairs: bool = False

    @property
    def memory_known(self) -> bool:
        """Whether the memory was tried at such a budget."""
        return not self.noisy or self.knows_pairs

    @property
    def total(self) -> float:
        """CPU seconds of the whole run."""
        return sum(self.seconds.values())

    @property
    def extrapolated(self) -> bool:
        """Whether the run is so far beyond the measured ones that the estimate may not keep its error."""
        return self.people > NEAR * self.measured

    @property
    def memory_error(self) -> float:
        """Factor by which the memory may be off."""
        return MEMORY_ERROR if self.by_law or not self.extrapolated else FAR_ERROR


def name_of_constants(method: str, *, volunteers: bool) -> str:
    """Return the name under which ``constants.toml`` has the constants of a method, or of it beside volunteers."""
    return f"{method} with volunteers" if volunteers and find(method).spec.asks_volunteers else method


@cache
def constants() -> Mapping[str, Any]:
    """Return the measured constants, and the machine that they were measured on."""
    return tomllib.loads(CONSTANTS.read_text())


def drivers(facts: GraphFacts, ones: float, draws: float) -> dict[str, float]:
    """Return the value of each driver."""
    n, true = float(facts.n), facts.n * facts.mean_degree
    agreed = true + (max(0.0, ones - true) / n) ** 2
    values = (1.0, n, true, n * facts.features, ones, n * n, draws, agreed, facts.classes * agreed)
    return dict(zip(DRIVERS, values, strict=True))


def held_bytes(facts: GraphFacts, ones: float) -> float:
    """Return the bytes of the records and of the neighbours that reports name: no run of these people needs less."""
    record = _OF_A_RECORD + 4 * facts.mean_degree + 8 * facts.words
    return facts.n * record + 4 * ones


def expected_load(
    method: str,
    facts: GraphFacts,
    ones: float,
    draws: float,
    *,
    nulls: bool = True,
    reference: bool = True,
    epochs: float = 1.0,
    repeats: int = 1,
    speed: float = 1.0,
    hidden: int = 16,
    heads: int = 0,
    pairs: float | None = None,
    volunteers: bool = False,
    features: bool = True,
) -> Load | None:
    """Return the load of a run; None for a method without constants.

    Args:
        method: Name of the method.
        facts: The people.
        ones: Neighbours that all reports name (:func:`ldpsim.strategies.estimate.asked.ones_reported`).
        draws: Trials that all devices draw one by one (:func:`ldpsim.strategies.estimate.asked.trials_drawn`).
        nulls: Whether null models are taken.
        reference: Whether the reference is trained.
        epochs: Number of epochs as a multiple of the method's default.
        repeats: Number of repeats.
        speed: CPU time of this machine as a multiple of that of the measured one.
        hidden: Hidden units of the network.
        heads: Attention heads of a ``gat``, else 0.
        pairs: Pairs that the method holds at once (:mod:`ldpsim.strategies.estimate.likely_pairs`); None if nobody
        knows.
        volunteers: Whether some people volunteer.
        features: Whether the curator learns of features; else no matrix of them is kept.
    """
    measured = constants()["methods"]
    known = measured.get(name_of_constants(method, volunteers=volunteers)) if method in measured else None
    if known is None:
        return None
    values = drivers(facts, ones, draws)

    def of(name: str) -> float:
        return sum(constant * values[driver] for driver, constant in known.get(name, {}).items())

    seconds = {name: of(name) for name in PHASES}
    seconds["reference"] = of("reference") if reference else 0.0
    for name in TRAINED:
        seconds[name] *= epochs
    again = sum(seconds[name] for name in ("collect", "reconstruct", "train"))
    seconds["nulls"] = known.get("nulls", 0.0) * again if nulls else 0.0
    seconds = {name: value * repeats * speed for name, value in seconds.items()}
    sizes = Sizes(
        n=facts.n, d=facts.features if features else 0, classes=facts.classes, edges=facts.edges, ones=ones,
        pairs=pairs or 0.0, hidden=hidden, heads=heads,
    )  # fmt: skip
    law = find(method).spec.memory
    fitted = constants()["machine"]["process_bytes"] + of("memory")
    memory = fitted if law is None else peak_bytes(law, sizes, nulls=nulls)
    return Load(
        seconds, max(memory, held_bytes(facts, ones)), int(known["measured"]), facts.n, law is not None,
        noisy=is_noisy(facts, ones), knows_pairs=pairs is not None,
    )  # fmt: skip


def is_noisy(facts: GraphFacts, ones: float) -> bool:
    """Return whether reports name a larger share of all pairs than in any measured run."""
    return ones - facts.n * facts.mean_degree > NOISIEST * facts.n * facts.n
