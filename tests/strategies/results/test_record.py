"""Figures of a record over several repeats (the whole record: runs/test_simulate.py)."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ldpsim.curator.privacy.level import Level
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.results.outcome import Repeat, Score
from ldpsim.strategies.results.record import assemble
from ldpsim.strategies.runs.set_up import run_of, set_up
from ldpsim.strategies.setup.run_setup import RunSetup


def test_each_figure_of_a_record_is_over_the_repeats_that_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three repeats with figures of our own: means, the spread, sums, those of the first and those of the last."""
    seen: list[tuple[RunSetup, Sequence[Repeat], tuple[Any, Any]]] = []

    def watched(
        setup: RunSetup, repeats: Sequence[Repeat], seconds: Mapping[str, float], *spent: Any
    ) -> dict[str, Any]:  # fmt: skip
        seen.append((setup, repeats, spent))
        return assemble(setup, repeats, seconds, *spent)

    monkeypatch.setattr("ldpsim.strategies.runs.simulate.assemble", watched)
    settings = {"epochs": "1"}
    simulate(RunOptions(clients=40, repeats=3, settings=settings, reference=False, nulls=False, out=None))
    ((setup, repeats, spent),) = seen
    figures = (0.2, 0.3, 0.7)
    changed = [
        replace(
            repeat,
            accuracy={"test": figure, "val": figure / 2, "macro_f1": figure / 4},
            reference=None if number == 0 else Score(figure),
            seeded=number != 1,
            device=Score(figure + 0.1),
            outcome=replace(
                repeat.outcome,
                seconds={"collect": figure, "reconstruct": 2 * figure, "train": 3 * figure},
                collected=replace(repeat.outcome.collected, silent=number),
                reconstruction={
                    **repeat.outcome.reconstruction,
                    "edges": 10 * figure,
                    "edge_recall": figure,
                    "posterior": {"figure": figure},
                },
            ),
        )
        for number, (repeat, figure) in enumerate(zip(repeats, figures, strict=True))
    ]
    record = assemble(setup, changed, {"population": 1.0, "total": 9.0, "cpu": 8.0}, *spent)
    assert record["accuracy"] == {
        "test": pytest.approx(0.4), "val": pytest.approx(0.2), "macro_f1": pytest.approx(0.1),
        "per_repeat": list(figures), "std": pytest.approx(statistics.stdev(figures)),
        "curator": pytest.approx(0.4), "device": pytest.approx(0.5),
        "device_std": pytest.approx(statistics.stdev(figures)),
    }  # fmt: skip
    assert record["reference"]["nonprivate_test"] == pytest.approx(0.5)
    assert record["seconds"] == {"population": 1.0, "total": 9.0, "cpu": 8.0, "collect": pytest.approx(1.2),
                                 "reconstruct": pytest.approx(2.4), "train": pytest.approx(3.6)}  # fmt: skip
    assert record["reconstruction"]["edges"] == pytest.approx(4) and record["devices"]["silent"] == 0
    assert record["reconstruction"]["edge_recall"] == pytest.approx(0.4)
    assert record["reconstruction"]["posterior"]["figure"] == figures[0]  # a method's notes: the first repeat's
    assert record["simulation_seeded"] is False
    searched = replace(setup, settings=replace(setup.settings, collections=5))
    privacy = assemble(searched, changed, {"population": 1.0, "total": 9.0, "cpu": 8.0}, *spent)["privacy"]
    assert (privacy["collections"], privacy["searched"]) == (3, 5)
    digests = [hashlib.sha256(repeat.split.test.astype("<i8").tobytes()).hexdigest() for repeat in setup.repeats]
    assert record["dataset"]["scored_sha256"] == digests and len(set(digests)) == 3


def _privacy(**given: Any) -> dict[str, Any]:
    """Return the section about privacy of a small run with three repeats, and of the same with one as ``alone``."""
    made = {"clients": 40, "settings": {"epochs": "1"}, "reference": False, "nulls": False, "out": None, **given}
    once = {name: value for name, value in made.items() if name != "repeats_vary"}  # it needs several repeats
    several = simulate(RunOptions(**made, repeats=3)).record["privacy"]  # type: ignore[arg-type]
    alone = simulate(RunOptions(**once)).record["privacy"]  # type: ignore[arg-type]
    return {**several, "alone": alone}


@pytest.mark.parametrize("vary", ["noise", "all"])
@pytest.mark.parametrize("noise", [None, 5], ids=["os", "seed"])
def test_what_the_same_people_are_asked_again_with_fresh_noise_adds_up(vary: str, noise: int | None) -> None:
    """HoGS at epsilon 4: a bit of a list loses 3.6, and 10.8 in three collections of the same people."""
    privacy = _privacy(method="hogs", epsilon=4.0, repeats_vary=vary, seeds={"noise": noise})
    assert privacy["collections"] == 3 and privacy["repeats"] == ("again" if noise is None else "instead")
    assert privacy["holds"]["bit_adjacency"]["value"] == pytest.approx(10.8)
    for name, level in privacy["holds"].items():
        alone = privacy["alone"]["holds"][name]
        if level["status"] != "bounded":
            assert level["status"] == alone["status"] and level["of_one"] is None
            continue
        assert level["value"] == pytest.approx(3 * alone["value"]), name
        assert level["of_one"] == {"value": alone["value"], "delta": 0.0, "of": 3}, name
    life, once = privacy["lifetime_per_device"], privacy["alone"]["lifetime_per_device"]
    assert life["user"]["max"] == pytest.approx(privacy["holds"]["user"]["value"])
    assert life["user"]["mean"] == pytest.approx(3 * once["user"]["mean"]) and life["complete"]
    assert any("3 times" in reason for reason in privacy["why_they_differ"])


def test_an_owner_that_answers_again_loses_what_three_times_the_queries_lose() -> None:
    def level(queries: int, repeats: int) -> Level:
        vary = "noise" if repeats > 1 else "all"
        options = RunOptions(method="privgnn", clients=120, settings={"queries": str(queries)}, repeats=repeats,
                             repeats_vary=vary, seeds={"noise": None}, out=None)  # fmt: skip
        setup = set_up(options)
        run = run_of(setup.method)
        released = [run.released_before(setup, repeat.split) for repeat in setup.repeats]
        return run.guarantee_of(setup, released).holds["central_node"]

    alone, again, thrice = level(8, 1), level(8, 3), level(24, 1)
    assert (again.value, again.delta) == (thrice.value, alone.delta)
    assert (alone.value or 0) < (again.value or 0) < 3 * (alone.value or 0)
