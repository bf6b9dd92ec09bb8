from __future__ import annotations

from strategies.estimate.graph_facts import GraphFacts
from strategies.estimate.load import DRIVERS, constants, drivers, expected_load, held_bytes

FACTS = GraphFacts(3000)


def test_constants_are_of_known_drivers_and_phases() -> None:
    known = constants()
    assert known["machine"]["calibration"] > 0 and known["methods"]
    for figures in known["methods"].values():
        assert set(figures) <= {"measured", "nulls", "start", "collect", "reconstruct", "train", "reference", "memory"}
        for figure in figures.values():
            if isinstance(figure, dict):
                assert set(figure) <= set(DRIVERS) and min(figure.values(), default=1) > 0


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
