"""Workers on machines, and the look whether all machines have a folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ldpsim.devices.enrolment.parts import Parts
from ldpsim.strategies.engines import machines as module
from ldpsim.strategies.engines import ray_session
from ldpsim.strategies.engines.machines import Machines, machines_without
from ldpsim.strategies.engines.ray_session import RayFailed
from tests.strategies.engines.one_process_ray import OneProcessRay, Session


def on_two(tmp_path: Path, **given: Any) -> tuple[OneProcessRay, Machines]:
    ray = OneProcessRay({}, {name: tmp_path / name for name in ("one", "two")})
    return ray, Machines(Session(ray, given.pop("cores", 4)), "id", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("workers", "most", "expected"), [(None, 9, 4), (None, 2, 2), (1, 9, 1), (2, 9, 1), (6, 9, 3), (90, 9, 4)]
)
def test_each_machine_has_its_share_of_the_workers(
    tmp_path: Path, workers: int | None, most: int, expected: int
) -> None:
    _, machines = on_two(tmp_path, workers=workers, most=most)
    machines.look()
    assert len(machines.workers) == 2 * expected
    assert all(len(machines.on(name)) == expected for name in machines.shards) and len(machines.shards) == 2
    machines.look()
    assert len(machines.workers) == 2 * expected  # nobody is started a second time


def test_a_machine_that_refuses_connections_is_gone_before_ray_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray, machines = on_two(tmp_path, workers=None, most=3)
    refused: set[str] = set()
    found = {name: SimpleNamespace(cores=3, host=name, is_gone=lambda name=name: name in refused) for name in ray.homes}
    monkeypatch.setattr(Session, "machines", found)
    machines.look()
    assert machines.gone() == set()
    refused.add("two")
    gone = machines.gone()
    assert [machines.workers[worker].node for worker in gone] == ["two"] * 3
    machines.drop(min(gone))  # one of them: all are lost with the machine, as one loss
    machines.look()  # Ray still names it: nothing is started there
    assert {worker.node for worker in machines.workers.values()} == {"one"} and len(ray.actors) == 6
    assert [actor.dead for actor in ray.actors] == [False] * 3 + [True] * 3 and len(machines.shards) == 1
    assert machines.gone() == set()


def test_a_machine_that_took_no_connection_at_first_is_left_to_ray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray, machines = on_two(tmp_path, workers=None, most=1)
    monkeypatch.setattr(
        Session, "machines", {name: SimpleNamespace(cores=1, host=name, is_gone=lambda: True) for name in ray.homes}
    )
    machines.look()
    assert machines.gone() == set() and len(machines.workers) == 2


@pytest.mark.parametrize("hosts", [("10.0.0.1", "10.0.0.2"), ("10.0.0.1", "10.0.0.1")])
def test_a_copy_of_another_machine_s_devices_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosts: tuple[str, str]
) -> None:
    """Two nodes of one host may have one disk."""
    ray, machines = on_two(tmp_path, workers=None, most=1)
    Parts("id", tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    found = {n: SimpleNamespace(cores=1, host=h, is_gone=lambda: False) for n, h in zip(ray.homes, hosts, strict=True)}
    monkeypatch.setattr(Session, "machines", found)
    if hosts[0] == hosts[1]:
        machines.look()
        assert len(machines.workers) == 2 and len(machines.shards) == 1
        return
    with pytest.raises(ValueError, match=r"\A10.0.0.1 and 10.0.0.2 have one LDPSIM_HOME/shards, .* of its own\Z"):
        machines.look()


def test_a_worker_that_cannot_write_says_so_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "two").touch()
    _, machines = on_two(tmp_path, workers=None, most=1)
    with pytest.raises(ValueError, match=r"\A.*two/shards cannot be written \(.*\)\Z"):
        machines.look()


def test_late_workers_end_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray, machines = on_two(tmp_path, workers=None, most=1)
    monkeypatch.setattr(ray, "wait", lambda references, **_: (references[:1], references[1:]))
    monkeypatch.setattr(ray_session, "START_SECONDS", 7.0)
    with pytest.raises(RayFailed, match="Ray started 1 of 2 workers in 7 seconds"):
        machines.look()


def test_a_late_worker_is_given_up_where_another_one_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray, machines = on_two(tmp_path, workers=None, most=1)
    machines.look()
    machines.drop(1)
    monkeypatch.setattr(ray, "wait", lambda references, **_: ([], references))
    machines.look()
    assert list(machines.workers) == [0] and [actor.dead for actor in ray.actors] == [False, True, True]


class Looking(OneProcessRay):
    """A Ray whose second machine looks into a folder of its own."""

    def remote(self, **_: Any) -> Any:
        def kind(look: Any) -> SimpleNamespace:
            def start(machine: str) -> SimpleNamespace:
                def ask(path: str) -> int:
                    self.results[len(self.results)] = "value", (machine, look(path)[1] and machine != "blind")
                    return len(self.results) - 1

                return SimpleNamespace(remote=ask)

            return SimpleNamespace(options=lambda scheduling_strategy: start(scheduling_strategy))

        return kind


@pytest.mark.parametrize(("names", "expected"), [(("one", "two"), []), (("one", "blind"), ["blind"])])
def test_machines_without_the_folder_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], expected: list[str]
) -> None:
    ray = Looking({}, dict.fromkeys(names, tmp_path))
    monkeypatch.setattr(module, "RaySession", lambda *_: Session(ray))
    assert machines_without(tmp_path / "state", "far") == expected
    assert list((tmp_path / "state").iterdir()) == []
