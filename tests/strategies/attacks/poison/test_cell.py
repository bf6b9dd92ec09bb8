"""A cell: share 0 is a plain run, silence is a dropout, and lies leave the honest alone. It covers ``joined`` too."""

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


@pytest.mark.parametrize("method", ["hogs", "lpgnn", "fedavg-mlp"])
def test_no_account_is_the_run(cells: Cells, method: str) -> None:
    """With --inject, share 0 is byte for byte what `ldpsim run` collects, and predicts the same."""
    settings = {"rounds": "2"} if method == "fedavg-mlp" else {"epochs": "3"}
    found = cells(method, run={"settings": settings}, inject=(0.1,), shares=(0.0,))
    cell = found["none", "", 0.0]
    run = simulate(replace(cell.options, out=None, nulls=False), keep_graph=False)
    result = run_poison_cell(cell)
    assert result["reports_sha256"] == run.record["devices"]["reports_sha256"]
    predicted, test = unpacked_classes(result["predictions"]), set_up_cell(cell).repeats[0].split.test
    labels = set_up_cell(cell).population.labels
    assert np.mean(predicted[test] == labels[test]) == pytest.approx(run.record["accuracy"]["test"])


def _answers(cell: PoisonCell) -> tuple[Any, dict[int, Any]]:
    heard: list[Any] = []
    setup = set_up_cell(cell, heard)
    plan = cells_module.plan_of(cell, setup, liars_of(cell, len(setup.population)))
    with cells_module.temporary_scene(setup, cell.number) as scene:
        cells_module.run_of(setup.method).work(replace(scene, around=cells_module.among(plan)))
    ((_, collected),) = heard
    return setup, collected.answers


def test_honest_reports_are_the_same_bytes_whatever_accounts_say(cells: Cells) -> None:
    found = cells("hogs", inject=(0.2,), shares=(0.0,))
    kinds = ("join-random", "input", 0.2), ("join-flood", "response", 0.2), ("join-pairs", "input", 0.2)
    heard = {kind: _answers(found[kind])[1] for kind in kinds}
    first, *others = heard.values()
    assert set(first) == set(range(72))
    for other in others:
        assert all(other[device] == first[device] for device in range(60))
        assert any(other[device] != first[device] for device in range(60, 72))


def test_accounts_are_in_no_accuracy(cells: Cells) -> None:
    found = cells("hogs", inject=(12.0,), shares=(0.0,), attacks=("join-class",))
    clean, cell = set_up_cell(found["none", "", 0.0]), found["join-class", "response", 12.0]
    setup = set_up_cell(cell)
    assert setup.repeats[0].split.test.tolist() == clean.repeats[0].split.test.tolist()
    assert setup.repeats[0].split.train[:-8].tolist() == clean.repeats[0].split.train.tolist()
    assert liars_of(cell, 72).tolist() == list(range(60, 72))
    assert targets_of(cell, setup).tolist() == targets_of(found["none", "", 0.0], clean).tolist()
    assert (
        set_up_cell(found["silent", "", 12.0]).repeats[0].split.train.tolist() == clean.repeats[0].split.train.tolist()
    )


def test_honest_reports_of_a_joined_population_are_kept(cells: Cells) -> None:
    """An account's report of one attack never stands in for its report of another."""
    found = cells("hogs", inject=(0.2,), shares=(0.0,))
    one, other = found["join-flood", "response", 0.2], found["join-class", "response", 0.2]
    alone = run_poison_cell(other)["reports_sha256"]
    run_poison_cell(one)
    assert run_poison_cell(other)["reports_sha256"] == alone
