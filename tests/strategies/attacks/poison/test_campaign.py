"""A measurement of lies: its cells and rows; share 0 is a plain run, silence is a dropout, a defence sees the liars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldpsim.strategies.attacks.poison import cell as measuring
from ldpsim.strategies.attacks.poison.campaign import PoisonOptions, campaign_of
from ldpsim.strategies.attacks.poison.cell import PoisonCell, run_poison_cell
from ldpsim.strategies.attacks.poison.lies import draw_liars
from ldpsim.strategies.runs import prepare as preparing
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.simulate import simulate
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import load_population

SMALL = 60


@pytest.fixture(scope="session")
def asked() -> Callable[..., PoisonOptions]:
    """Return options of a small measurement."""

    def options(*methods: str, run: dict[str, Any] | None = None, **given: Any) -> PoisonOptions:
        settings = {"rounds": "2"} if "fed" in " ".join(methods) else {"epochs": "3"}
        one = RunOptions(**{"clients": SMALL, "seed": 3, "nulls": False, "settings": settings, "workers": 1,
                            **(run or {})})  # fmt: skip
        return PoisonOptions(methods=methods or ("hogs",), run=one, **{"shares": (0.2,), **given})

    return options


@pytest.fixture(scope="session")
def cells(asked: Callable[..., PoisonOptions]) -> Callable[..., dict[tuple[str, str], PoisonCell]]:
    """Return cells by attack and defence."""

    def found(*methods: str, **given: Any) -> dict[tuple[str, str], PoisonCell]:
        return {
            (cell.attack, cell.options.defence): cell for cell in campaign_of(asked(*methods, **given)).cells.values()
        }

    return found


Asked = Callable[..., PoisonOptions]


def test_cells_of_a_method(asked: Asked) -> None:
    campaign = campaign_of(asked(shares=(0.2, 0.0, 0.1), attacks=("pairs",), defences=("degree",)))
    assert [(cell.attack, cell.share, cell.options.defence) for cell in campaign.cells.values()] == [
        ("none", 0.0, "none"), ("none", 0.0, "degree"), ("silent", 0.1, "none"), ("silent", 0.2, "none"),
        ("pairs", 0.1, "none"), ("pairs", 0.1, "degree"), ("pairs", 0.2, "none"), ("pairs", 0.2, "degree"),
    ]  # fmt: skip


def test_budgets_and_defences_are_of_methods_that_have_them(asked: Asked) -> None:
    cells = campaign_of(asked("hogs", "fedavg-mlp", epsilons=(2.0, 4.0), attacks=("random",), defences=("degree",)))
    assert {(cell.options.method, cell.options.epsilon, cell.options.defence) for cell in cells.cells.values()} == {
        ("hogs", 2.0, "none"), ("hogs", 4.0, "none"), ("hogs", 2.0, "degree"), ("hogs", 4.0, "degree"),
        ("fedavg-mlp", None, "none"),
    }  # fmt: skip


@pytest.mark.parametrize(("given", "rows"), [
    ({"epsilons": (4.0, 4)}, 3), ({"epsilons": (4.0, 4.0000000001)}, 6), ({"shares": (0.2, 0.2000000001)}, 5),
    ({"defences": ("degree", "degree")}, 5),
])  # fmt: skip
def test_values_twice_and_values_close_together_are_no_repeats(asked: Asked, given: dict[str, Any], rows: int) -> None:
    campaign = campaign_of(asked(attacks=("random",), **given))
    result = {"accuracy": 0.5, "chosen": 0.5, "liars": 12, "found": None, "false_alarms": None, "nulls": {}}
    found = campaign.rows(dict.fromkeys(campaign.cells, result))
    assert [row["repeats"] for row in found] == [1] * rows and len(campaign.cells) == rows


def test_names_of_cells_have_all_digits_and_no_more(asked: Asked) -> None:
    """A campaign that was stopped finds its cells by these names."""
    names = [*campaign_of(asked(epsilons=(4.0, 0.25), shares=(0.05,), attacks=("random",))).cells]
    assert names == [f"hogs_{epsilon}_{attack}_none_0" for epsilon in ("4", "0.25")
                     for attack in ("none_0", "silent_0.05", "random_0.05")]  # fmt: skip


def test_rows_are_over_repeats_and_paired(asked: Asked) -> None:
    campaign = campaign_of(asked(run={"repeats": 2}, attacks=("random",), defences=("degree",)))

    def result(accuracy: float, **more: Any) -> dict[str, Any]:
        return {"accuracy": accuracy, "chosen": 0.5, "liars": 12, "found": None, "false_alarms": None, "nulls": {},
                **more}  # fmt: skip

    level = {"none": 0.8, "silent": 0.7, "random": 0.4}
    results = {cell.name: result(level[cell.attack] + 0.1 * cell.number) for cell in campaign.cells.values()}
    rows = {(row["attack"], row["defence"]): row for row in campaign.rows(results)}
    assert len(rows) == 5 and all(row["repeats"] == 2 for row in rows.values())
    row = rows["random", "degree"]
    assert (row["accuracy"], row["vs_silent"]) == pytest.approx((0.45, -0.3))
    assert row["std"] == pytest.approx(0.0707, abs=1e-4) and row["found"] is None


Cells = Callable[..., dict[tuple[str, str], PoisonCell]]


@pytest.mark.parametrize(("method", "join"), [("hogs", True), ("fedavg-mlp", False)])
def test_share_0_is_the_run(cells: Cells, method: str, join: bool) -> None:
    """The reports are the same bytes as those of `ldpsim run` with the same options."""
    cell = cells(method, join=join)["none", "none"]
    run = simulate(replace(cell.options, out=None), keep_graph=False)
    assert run_poison_cell(cell)["reports_sha256"] == run.record["devices"]["reports_sha256"]


def test_simpler_models_are_scored_on_the_same_people_as_the_method(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside "nobody lies", people who lie elsewhere in the measurement are no test people, of the null models neither.

    The model here is right about everybody but them.
    """
    cell = cells(run={"nulls": True})["none", "none"]
    people = load_population(cell.options)
    guess = people.labels.copy()
    liars = draw_liars(SMALL, 0.2, cell.options.seeds_of(0).split, join=False)
    assert np.isin(liars, prepare(cell.options, population=people).plans[0].split.test).any()
    guess[liars] = (guess[liars] + 1) % people.facts.classes
    monkeypatch.setattr(measuring, "null_models", lambda *_: [("chance", lambda: guess)])
    assert run_poison_cell(cell)["nulls"] == {"chance": 1.0}


def test_silence_is_a_dropout_of_the_same_devices(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = cells()["silent", "none"]
    found = run_poison_cell(cell)
    liars = frozenset(draw_liars(60, 0.2, cell.options.seeds_of(0).split, join=False).tolist())
    assert found["liars"] == len(liars) == 12
    monkeypatch.setattr(preparing, "drawn_dropouts", lambda *_: liars)
    run = simulate(replace(cell.options, dropout=0.2, out=None), keep_graph=False)
    assert found["reports_sha256"] == run.record["devices"]["reports_sha256"]


@pytest.mark.parametrize("join", [False, True])
def test_every_kind_of_method_has_every_attack(cells: Cells, join: bool) -> None:
    """Reports in stages and in batches, a public graph, and a training in rounds."""
    for method in ("lpgnn", "vote") if join else ("ldpgen", "fedavg-mlp"):
        found = cells(method, join=join, attacks=("largest-degree", "pairs"))
        assert ("largest-degree", "none") in found or method in ("lpgnn", "fedavg-mlp")
        for (attack, _), cell in found.items():
            result = run_poison_cell(cell)
            assert 0 <= result["accuracy"] <= 1 and result["liars"] == (0 if attack == "none" else 12)


@pytest.mark.parametrize("join", [False, True])
def test_a_defence_finds_colluders_and_nobody_else(cells: Cells, join: bool) -> None:
    found = cells("rr", attacks=("largest-degree",), defences=("duplicates",), join=join, epsilons=(2.0,))
    assert run_poison_cell(found["largest-degree", "none"])["found"] is None
    guarded = run_poison_cell(found["largest-degree", "duplicates"])
    assert (guarded["found"], guarded["false_alarms"]) == (1.0, 0.0)
