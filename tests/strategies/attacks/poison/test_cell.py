"""A cell: share 0 is a plain run, silence is a dropout, and lies leave the honest alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from strategies.attacks.poison import cell as cells_module
from strategies.attacks.poison.cell import liars_of, run_poison_cell, set_up_cell, targets_of, unpacked_classes
from strategies.attacks.poison.options import PoisonCell
from strategies.runs import set_up as set_up_module
from strategies.runs.simulate import simulate

Cells = Callable[..., dict[tuple[str, str, float], PoisonCell]]


@pytest.mark.parametrize("method", ["hogs", "fedavg-mlp"])
def test_share_0_is_the_run(cells: Cells, method: str) -> None:
    """The reports are the same bytes as those of `ldpsim run` with the same options."""
    settings = {"rounds": "2"} if method == "fedavg-mlp" else {"epochs": "3"}
    cell = cells(method, run={"settings": settings})["none", "", 0.0]
    run = simulate(replace(cell.options, out=None, nulls=False), keep_graph=False)
    assert run_poison_cell(cell)["reports_sha256"] == run.record["devices"]["reports_sha256"]


def test_silence_is_a_dropout_of_the_same_devices(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = cells()["silent", "", 0.2]
    found = run_poison_cell(cell)
    liars = frozenset(liars_of(cell, 60).tolist())
    assert len(liars) == 12
    monkeypatch.setattr(set_up_module, "silent_devices", lambda *_: liars)
    run = simulate(replace(cell.options, dropout=0.2, out=None), keep_graph=False)
    assert found["reports_sha256"] == run.record["devices"]["reports_sha256"]
    assert unpacked_classes(found["predictions"]).tolist() == _predictions(cell, liars).tolist()


def _predictions(cell: PoisonCell, silent: frozenset[int]) -> np.ndarray:
    return unpacked_classes(run_poison_cell(cell)["predictions"])


def test_a_defence_names_whom_it_flagged(cells: Cells) -> None:
    cell = cells(attacks=("all-ones",))["all-ones", "response", 0.2]
    assert run_poison_cell(cell)["flagged"] is None
    guarded = replace(cell, options=replace(cell.options, defence="weight"), defence="weight")
    assert run_poison_cell(guarded)["flagged"] == liars_of(cell, 60).tolist()


def test_chosen_people_are_honest_at_every_share(cells: Cells) -> None:
    found = cells(attacks=("fakes",), shares=(0.0, 0.1, 0.4))
    chosen = [targets_of(cell, set_up_cell(cell)).tolist() for cell in found.values()]
    assert chosen.count(chosen[0]) == len(chosen) and len(chosen[0]) == 4
    most = set(liars_of(found["fakes", "input", 0.4], 60).tolist())
    assert not most & set(chosen[0])


def test_measures(cells: Cells) -> None:
    found = cells(attacks=("fakes", "extreme-bit"))
    clean, lied = run_poison_cell(found["none", "", 0.0]), run_poison_cell(found["fakes", "response", 0.2])
    assert set(clean["edges"]) == {"0", "0.2"} and set(lied["edges"]) == {"0.2"}
    assert lied["reports"]["both_ends"]["liars"] == 12
    assert "both_ends" not in clean["reports"]
    assert lied["reports"]["bits"]["liars"] == 0  # the attack is about rows
    assert run_poison_cell(found["extreme-bit", "input", 0.2])["reports"]["bits"]["liars"] == 12


def test_liars_who_hide_claim_nobody(cells: Cells) -> None:
    found = run_poison_cell(cells(attacks=("fakes",), goal="hide")["fakes", "response", 0.2])
    assert found["reports"]["both_ends"]["claims"] == found["reports"]["both_ends"]["found"] == 0
    assert found["edges"]["0.2"]["true_lost"] == found["edges"]["0.2"]["true"] > 0


def test_nobodys_accuracy_is_a_mistake(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = cells()["none", "", 0.0]

    class Silent(type(set_up_module.run_of(set_up_cell(cell).method))):  # type: ignore[misc]
        def work(self, scene: Any) -> Any:
            return replace(super().work(scene), predictions=None)

    monkeypatch.setattr(cells_module, "run_of", lambda _: Silent())
    with pytest.raises(ValueError, match="publishes no class of each person"):
        run_poison_cell(cell)


def test_honest_reports_are_kept_for_the_latest_devices_alone(cells: Cells) -> None:
    setup = set_up_cell(cells("hogs")["none", "", 0.0])
    first = cells_module.memory_of(setup, 0)
    assert first is not None and cells_module.memory_of(setup, 0) is first
    seeds = replace(setup.repeats[0].seeds, noise=7)
    other = replace(setup, repeats=(replace(setup.repeats[0], seeds=seeds),))
    second = cells_module.memory_of(other, 0)
    assert second is not first
    assert cells_module.memory_of(setup, 0) is not first
    secret = replace(setup, repeats=(replace(setup.repeats[0], seeds=replace(seeds, noise=None)),))
    assert cells_module.memory_of(secret, 0) is None
