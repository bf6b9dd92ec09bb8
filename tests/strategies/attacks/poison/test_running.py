"""A measurement: cells are kept, a stopped one goes on, and a failed cell does not end the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from devices.datasets.generated import generate
from strategies.attacks.poison import running
from strategies.attacks.poison.options import PoisonCell, PoisonOptions
from strategies.attacks.poison.running import digest_of, poison, settings_in_force
from strategies.experiments.failures import Failed
from strategies.planning.miniature import save

Asked = Callable[..., PoisonOptions]


def test_a_stopped_measurement_goes_on(asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = asked(attacks=("fakes",), lies=("response",))
    done: list[str] = []
    real = running.run_poison_cell

    def counted(cell: PoisonCell) -> dict:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(cell.name)
        return real(cell)

    monkeypatch.setattr(running, "run_poison_cell", counted)
    with pytest.raises(KeyboardInterrupt) as stop:
        poison(options, tmp_path)
    assert stop.value.__notes__ == [f"2 of 3 cells are finished and kept in {tmp_path}; the same command goes on"]
    monkeypatch.setattr(running, "run_poison_cell", lambda cell: done.append(cell.name) or real(cell))
    found = poison(options, tmp_path)
    assert len(done) == len(set(done)) == 3 and found.found == 2
    assert found.passed and not found.failures
    again = poison(options, tmp_path)
    assert again.found == 3 and again.rows == found.rows
    record = json.loads(json.dumps(found.record()))["poison"]
    assert record["schema"] == 1 and record["passed"] is True and len(record["rows"]) == 3
    assert set(record["breakdown"]) == {"hogs fakes response"}


def test_a_failed_cell_is_told(asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = running.run_poison_cell

    def failing(cell: PoisonCell) -> dict:
        if cell.attack == "silent":
            raise ValueError("no device answered")
        return real(cell)

    monkeypatch.setattr(running, "run_poison_cell", failing)
    found = poison(asked(attacks=("silent",)), tmp_path)
    ((name, failed),) = found.failures
    assert name.split("_")[2] == "silent" and failed == Failed("no device answered")
    assert [row["attack"] for row in found.rows] == ["none"]


def test_other_people_in_the_same_file_name_another_folder(asked: Asked, tmp_path: Path) -> None:
    path, digests = tmp_path / "people.npz", set[str]()
    for seed in range(2):
        save(generate(60, seed=seed), path)
        digests.add(digest_of(asked(run={"dataset": str(path), "clients": None})))
    assert len(digests) == 2


def test_settings_name_a_folder(asked: Asked) -> None:
    first, other = asked(attacks=("fakes",)), asked(attacks=("fakes",), shares=(0.1,))
    assert digest_of(first) != digest_of(other)
    assert digest_of(first) == digest_of(asked(attacks=("fakes",)))
    assert settings_in_force(first)["shares"] == [0.0, 0.2] and settings_in_force(first)["dataset"] == "generated"
