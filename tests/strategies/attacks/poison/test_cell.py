"""A cell: share 0 is a plain run, silence is a dropout, and a defence sees the liars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ldpsim.strategies.attacks.poison.cell import PoisonCell, run_poison_cell
from ldpsim.strategies.attacks.poison.lies import draw_liars
from ldpsim.strategies.runs import set_up as set_up_module
from ldpsim.strategies.runs.simulate import simulate

Cells = Callable[..., dict[tuple[str, str], PoisonCell]]


@pytest.mark.parametrize(("method", "join"), [("hogs", True), ("fedavg-mlp", False)])
def test_share_0_is_the_run(cells: Cells, method: str, join: bool) -> None:
    """The reports are the same bytes as those of `ldpsim run` with the same options."""
    cell = cells(method, join=join)["none", "none"]
    run = simulate(replace(cell.options, out=None), keep_graph=False)
    assert run_poison_cell(cell)["reports_sha256"] == run.record["devices"]["reports_sha256"]


def test_silence_is_a_dropout_of_the_same_devices(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = cells()["silent", "none"]
    found = run_poison_cell(cell)
    liars = frozenset(draw_liars(60, 0.2, cell.options.seeds_of(0).split, join=False).tolist())
    assert found["liars"] == len(liars) == 12
    monkeypatch.setattr(set_up_module, "silent_devices", lambda *_: liars)
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
