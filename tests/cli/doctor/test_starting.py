from __future__ import annotations

import pytest

from ldpsim.cli.doctor import starting
from ldpsim.strategies.engines import flower


def test_torch_names_its_device() -> None:
    assert starting.torch_device().status == "ok"


def test_ray_runs_a_task_and_stays_if_it_ran_before(ray_here: None) -> None:
    import ray

    found = starting.ray()
    assert found.status == "ok" and "one task" in found.text
    assert ray.is_initialized()


def test_a_superlink_that_does_not_start_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise flower.FlowerFailed(f"the command {name} was not found")

    monkeypatch.setattr(flower, "_executable", missing)
    found = starting.flower()
    assert found.status == "problem" and "flower-superlink was not found" in found.text


@pytest.mark.flower
def test_a_superlink_starts_and_stops() -> None:
    assert starting.flower().status == "ok"
