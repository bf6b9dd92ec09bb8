"""The same labels for any number of workers, any order, and after a kill."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from ldpsim.curator.owner.teachers.answering import Teaching
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.sage import SageSettings
from ldpsim.devices.datasets.generated import generate
from ldpsim.strategies.people.owner_graphs import divide, owned_people, public_graph
from ldpsim.strategies.runs.owner import CHUNK, Classroom
from tests import warm
from tests.waiting import wait_until

QUERIES = 2 * CHUNK + 5


def graphs() -> tuple[PlainGraph, PlainGraph]:
    population = generate(150, seed=4)
    division = divide(population, 1)
    owned = owned_people(population, division)
    private = PlainGraph.build(owned.features, owned.edges, owned.labels)
    return private, public_graph(population, division, labelled=False)


def room(home: Path, *, epochs: int = 4, **given: object) -> Classroom:
    teaching = Teaching(classes=6, neighbours=10, settings=SageSettings(hidden=8, epochs=epochs), noise_seed=1,
                        training_seed=2, **given)  # type: ignore[arg-type]  # fmt: skip
    private, public = graphs()
    return Classroom.open(home, private, public, teaching, np.arange(len(public))[::-1].copy())


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    return room(tmp_path_factory.mktemp("truth")).posteriors(QUERIES, workers=1)


@pytest.mark.slow
def test_two_workers_give_the_same_bytes(tmp_path: Path, truth: np.ndarray) -> None:
    shares: list[float | None] = []
    found = room(tmp_path).posteriors(QUERIES, workers=2, tell=lambda phase, share: shares.append(share))
    assert found.tobytes() == truth.tobytes() and found.shape == (QUERIES, 6)
    assert shares == [1 / 3, 2 / 3, 1.0]


@pytest.mark.slow
def test_ray_gives_the_same_bytes(tmp_path: Path, truth: np.ndarray, ray_here: None) -> None:
    assert room(tmp_path).posteriors(QUERIES, ray_address="auto").tobytes() == truth.tobytes()


def test_only_its_owner_may_read_what_lies_in_clear(tmp_path: Path) -> None:
    folder = room(tmp_path).folder
    for path in (folder, *folder.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
    folder.chmod(0o755)  # as a copy may have it
    assert room(tmp_path).folder.stat().st_mode & 0o077 == 0


_SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_teachers import QUERIES, room
room(Path({home!r}), epochs=4).posteriors(QUERIES, workers=1)
"""


def test_a_killed_run_goes_on_at_the_finished_chunks(tmp_path: Path, truth: np.ndarray) -> None:
    home = tmp_path / "killed"
    script = _SCRIPT.format(tests=str(Path(__file__).parent), home=str(home))
    root = Path(__file__).resolve().parents[3]
    process = warm.Popen([sys.executable, "-c", script], cwd=root, env={**os.environ, "PYTHONPATH": str(root)})
    wait_until(lambda: list(home.glob("*/chunk-00000.npy")), needs=lambda: process.poll() is None)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {path.name: path.stat().st_mtime_ns for path in home.glob("*/chunk-*.npy")}
    assert "chunk-00000.npy" in before
    assert room(home).posteriors(QUERIES, workers=1).tobytes() == truth.tobytes()
    after = {path.name: path.stat().st_mtime_ns for path in home.glob("*/chunk-*.npy")}
    assert {name: after[name] for name in before} == before  # finished chunks were not trained again
