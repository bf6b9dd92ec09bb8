from __future__ import annotations

from typing import Any

import pytest

from benchmarks.speed.fit_plan import names
from benchmarks.speed.kept_runs import facts_of_kept, kept_runs, options_of_kept
from ldpsim.curator.methods import find
from ldpsim.strategies.estimate.fits import load_of
from ldpsim.strategies.estimate.graph_facts import GraphFacts, known_before
from ldpsim.strategies.estimate.load import (
    DRIVERS,
    MEMORY_ERROR,
    TIME_ERROR,
    constants,
    drivers,
    expected_load,
    held_bytes,
)
from ldpsim.strategies.setup.options import RunOptions

FACTS = GraphFacts(3000)


def test_constants_are_of_known_drivers_and_phases() -> None:
    known = constants()
    assert known["machine"]["calibration"] > 0 and known["methods"]
    for figures in known["methods"].values():
        assert set(figures) <= {"measured", "nulls", "start", "collect", "reconstruct", "train", "reference", "memory"}
        for figure in figures.values():
            if isinstance(figure, dict):
                assert set(figure) <= set(DRIVERS) and min(figure.values(), default=1) > 0


def test_memory_has_one_source() -> None:
    """A method has a law of memory, or fitted constants for it; not both, and not neither."""
    for name, figures in constants()["methods"].items():
        method, _ = names()[name]
        assert ("memory" in figures) is (find(method).spec.memory is None), name


def test_beside_volunteers_a_method_that_asks_them_has_constants_of_its_own() -> None:
    assert {name for name, (_, more) in names().items() if more.get("volunteers")} == {"vote with volunteers"}
    alone, beside = (expected_load("vote", GraphFacts(10**6), 0.0, 0.0, volunteers=beside) for beside in (False, True))
    assert alone and beside and beside.total < alone.total / 10 and beside.memory_bytes < alone.memory_bytes / 2
    assert expected_load("sbp", FACTS, 1e4, 0.0, volunteers=True) == expected_load("sbp", FACTS, 1e4, 0.0)


MEASURED = [pytest.param(run, id=f"{run['method']}-{run['graph']}-{run['people']}{'-drawn' * run['drawn']}")
            for run in kept_runs()]  # fmt: skip


@pytest.mark.parametrize("run", MEASURED)
def test_the_estimate_is_within_its_error_of_every_measured_run(run: dict[str, Any]) -> None:
    """Peak memory and CPU time, from 3,000 to a million people; where reports are drawn nobody is asked."""
    load = load_of(options_of_kept(run), facts_of_kept(run))
    assert load is not None and not load.extrapolated
    ratio = load.memory_bytes / (run["peak"] * 2**20)
    assert 1 / MEMORY_ERROR < ratio < MEMORY_ERROR
    if not run["drawn"]:
        assert 1 / TIME_ERROR < load.total / run["cpu"] < TIME_ERROR


@pytest.mark.parametrize(("people", "epsilon", "nulls", "peak"), [
    (2500, 1e-4, False, 577), (2500, 0.02, False, 583), (2500, 0.7, False, 451), (2500, 8.0, False, 373),
    (3500, 0.02, False, 774), (5000, 0.00089, True, 1278),
])  # fmt: skip
def test_the_memory_of_hogs_holds_for_all_budgets(people: int, epsilon: float, nulls: bool, peak: int) -> None:
    """Beside measured peaks in MiB; 0.00089 is what 4 for all that one of 5,000 people reports leaves a bit."""
    options = RunOptions(clients=people, epsilon=epsilon, nulls=nulls, out=None)
    facts = known_before(options)
    assert facts is not None
    load = load_of(options, facts)
    assert load is not None and load.memory_known and load.noisy is (epsilon < 1)
    assert 1 / MEMORY_ERROR < load.memory_bytes / (peak * 2**20) < MEMORY_ERROR


@pytest.mark.parametrize("epsilon", [1e-4, 1e-3, 0.02, 0.2, 0.7, 3.0, 8.0])
def test_of_more_noise_than_was_measured_nothing_is_claimed(epsilon: float) -> None:
    """Reports that name more than 15 % of all pairs: time of no method, and memory where a law counts the pairs."""
    for method in ("hogs", "sbp", "blink", "lpgnn", "rr"):
        load = load_of(RunOptions(method=method, clients=3000, epsilon=epsilon, out=None), FACTS)
        assert load is not None
        noisy = method != "lpgnn" and epsilon < 1
        assert (load.noisy, load.memory_known) == (noisy, not noisy or method == "hogs")


def test_a_load_grows_with_people_and_false_neighbours() -> None:
    small = expected_load("hogs", FACTS, 1e4, 0.0)
    large = expected_load("hogs", GraphFacts(30_000), 1e6, 0.0)
    noisy = expected_load("hogs", GraphFacts(30_000), 1e9, 0.0)
    assert small and large and noisy
    assert small.total < large.total < noisy.total
    assert small.memory_bytes < large.memory_bytes < noisy.memory_bytes
    assert noisy.memory_bytes >= held_bytes(GraphFacts(30_000), 1e9) > 4e9


def test_what_is_left_out_costs_nothing() -> None:
    whole = expected_load("hogs", FACTS, 1e4, 0.0)
    bare = expected_load("hogs", FACTS, 1e4, 0.0, nulls=False, reference=False)
    short = expected_load("hogs", FACTS, 1e4, 0.0, nulls=False, reference=False, epochs=0.1, speed=2.0)
    assert whole and bare and short
    assert bare.seconds["nulls"] == bare.seconds["reference"] == 0 < whole.seconds["nulls"]
    assert short.seconds["train"] < 0.21 * bare.seconds["train"]
    assert short.seconds["collect"] == 2 * bare.seconds["collect"]


def test_nothing_is_known_of_a_method_that_was_not_measured() -> None:
    assert expected_load("unheard-of", FACTS, 1e4, 0.0) is None
    assert set(drivers(FACTS, 0.0, 0.0)) == set(DRIVERS)
