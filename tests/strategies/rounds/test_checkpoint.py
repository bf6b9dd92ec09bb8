"""Checkpoints of trainings: what is written is read back, and nothing else is taken for one."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Message
from flwr.serverapp.strategy import FedAvg

from ldpsim.strategies.federated import EVERYBODY
from ldpsim.strategies.results.folder import remove_unfinished
from ldpsim.strategies.rounds.checkpoint import (
    Best,
    CheckpointFile,
    Standing,
    run_rounds,
)
from ldpsim.strategies.rounds.training_grid import Phase, RoundTally, TrainingGrid
from ldpsim.strategies.seeded import seeded
from tests.strategies.rounds.test_flower_rounds import Counting

KEY = ("config", "collection")


def standing() -> Standing:
    tally = RoundTally(heard=5, rounds_answered=2)
    tally.asked |= {1, 2, 3}
    tally.answered.update([1, 1, 2])
    tally.refused[3] = "POLICY_REFUSED"
    tally.failed[2] = "round 1, training: it sent an error"
    tally.phases["training"] = Phase(2, 12, 100, 200)
    weights = np.arange(4, dtype=np.float32)
    server = {"m_t.weights": np.ones(4), "clipping_norm": np.array(0.25)}
    return Standing(weights, 2, Best(0.5, weights + 1), tally, server, None, 3, 7)


def test_a_training_is_read_back_as_it_was_kept(tmp_path: Path) -> None:
    kept = CheckpointFile(tmp_path, 0, KEY)
    wanted = standing()
    kept.add_model(wanted.weights)
    with seeded(4):
        np.random.normal(size=3)  # leaves a second value for later, which is part of the state
        random.random()
        kept.save(wanted)
        expected = random.random(), np.random.normal(size=3).tolist()
    again = CheckpointFile(tmp_path, 0, KEY)
    found = again.load()
    assert found is not None and found.randomness is not None
    assert (found.done, found.again, found.lost) == (2, 3, 7)
    assert found.tally.to_dict() == wanted.tally.to_dict()
    assert found.weights.dtype == np.float32 and np.array_equal(found.weights, wanted.weights)
    assert found.best.accuracy == 0.5 and found.best.weights is not None
    assert np.array_equal(found.best.weights, wanted.weights + 1)
    assert set(found.server) == {"m_t.weights", "clipping_norm"} and found.server["clipping_norm"] == 0.25
    with seeded(5):
        random.setstate(found.randomness[0])
        np.random.set_state(found.randomness[1])
        assert (random.random(), np.random.normal(size=3).tolist()) == expected
    for file in (kept, again):
        file.add_model(wanted.weights + 1)
    assert again.digest.digest() == kept.digest.digest()
    assert (tmp_path / "checkpoint-0.npz").stat().st_mode & 0o077 == 0
    remove_unfinished(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("key", [("other", "collection"), ("config", "other"), ("config", "collection", "silos")])
def test_a_checkpoint_of_another_training_is_left_aside(tmp_path: Path, key: tuple[str, ...]) -> None:
    CheckpointFile(tmp_path, 0, KEY).save(standing())
    assert CheckpointFile(tmp_path, 0, key).load() is None
    assert CheckpointFile(tmp_path, 1, KEY).load() is None
    assert CheckpointFile(tmp_path, 0, KEY).load() is not None


def test_a_damaged_checkpoint_is_left_aside(tmp_path: Path) -> None:
    kept = CheckpointFile(tmp_path, 0, KEY)
    kept.add_model(standing().weights)
    kept.save(standing())
    path, models = tmp_path / "checkpoint-0.npz", tmp_path / "checkpoint-0.models"
    whole = path.read_bytes()
    at = whole.index(standing().weights.tobytes())
    for data in (b"", whole[:-1], whole[:at] + b"\xff" + whole[at + 1 :], b"\x80\x04."):
        path.write_bytes(data)
        assert CheckpointFile(tmp_path, 0, KEY).load() is None
    path.write_bytes(whole)
    models.write_bytes(models.read_bytes()[:-1])
    assert CheckpointFile(tmp_path, 0, KEY).load() is None


def test_what_a_killed_run_wrote_after_its_checkpoint_is_not_in_the_digest(tmp_path: Path) -> None:
    kept = CheckpointFile(tmp_path, 0, KEY)
    one, two = np.ones(3, np.float32), np.full(3, 2, np.float32)
    kept.add_model(one)
    kept.save(standing())
    expected = kept.digest.copy()
    kept.add_model(two)
    again = CheckpointFile(tmp_path, 0, KEY)
    assert again.load() is not None
    again.add_model(one)
    expected.update(one.tobytes())
    assert again.digest.digest() == expected.digest()
    again.save(standing())
    last = CheckpointFile(tmp_path, 0, KEY)
    assert last.load() is not None and last.digest.digest() == expected.digest()


@pytest.mark.parametrize("killed_after", [1, 3, 4])
def test_a_training_that_goes_on_returns_the_best_weights_of_all_rounds(tmp_path: Path, killed_after: int) -> None:
    """Killed before or after the best round, the training ends with its weights, and runs each round once."""
    asked: list[int] = []

    def go_on(rounds: int) -> np.ndarray:
        kept = CheckpointFile(tmp_path, 0, KEY)
        start = kept.load() or Standing(np.zeros(2, np.float32))
        grid = TrainingGrid(Counting([2]), train=lambda r: [1], evaluate=lambda r: [1])
        return run_rounds(FedAvg(**EVERYBODY), grid, start, b"task", rounds=rounds, kept=kept,
                               after=lambda number, weights: asked.append(number))  # fmt: skip

    go_on(killed_after)
    assert go_on(5).tolist() == [2.0, 2.0]
    assert asked == [*range(killed_after + 1), *range(killed_after, 6)]
    found = CheckpointFile(tmp_path, 0, KEY).load()
    assert found is not None and found.weights.tolist() == [5.0, 5.0] and found.best.accuracy == 1.0


def generators() -> tuple[object, list[int]]:
    state: Any = np.random.get_state()
    return random.getstate(), state[1].tolist()


class Remembering(FedAvg):
    """A strategy whose state counts its rounds."""

    rounds = 0

    def configure_train(self, *given: Any) -> Iterable[Message]:
        self.rounds += 1
        self.seen = getattr(self, "seen", None) or generators()
        return super().configure_train(*given)

    def state(self) -> dict[str, np.ndarray]:
        return {"rounds": np.array(self.rounds)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        self.rounds = int(state["rounds"])


def test_a_round_is_saved_before_it_is_asked_and_told_after_it_was_saved(tmp_path: Path) -> None:
    """The checkpoint has the state of the strategy, and the random numbers, as they were after the round."""
    told: list[tuple[int, int, float, int]] = []
    kept = CheckpointFile(tmp_path, 0, KEY)

    def after(number: int, weights: np.ndarray) -> None:
        found = CheckpointFile(tmp_path, 0, KEY).load()
        assert found is not None
        told.append((number, found.done, float(found.weights[0]), int(found.server["rounds"])))

    def grid() -> TrainingGrid:
        return TrainingGrid(Counting(), train=lambda r: [1])

    start = Standing(np.zeros(2, np.float32), again=2, lost=5)
    with seeded(3):
        run_rounds(Remembering(**EVERYBODY), grid(), start, b"t", rounds=2, kept=kept, after=after)
    assert told == [(0, 0, 0.0, 0), (1, 1, 1.0, 1), (2, 2, 2.0, 2)]
    found = CheckpointFile(tmp_path, 0, KEY).load()
    assert found is not None and (found.again, found.lost, found.tally.rounds_answered) == (2, 5, 2)
    with seeded(8):
        state = found.randomness = (random.Random(5).getstate(), np.random.RandomState(6).get_state())
        strategy, more = Remembering(**EVERYBODY), grid()
        kept = CheckpointFile(tmp_path, 0, KEY)
        assert kept.load() is not None
        run_rounds(strategy, more, found, b"t", rounds=4, kept=kept, after=after)
        assert strategy.rounds == 4
        random.setstate(state[0])
        np.random.set_state(state[1])
        assert strategy.seen == generators()
    assert told[4:] == [(3, 3, 3.0, 3), (4, 4, 4.0, 4)] and more.tally.rounds_answered == 4
    models = np.frombuffer((tmp_path / "checkpoint-0.models").read_bytes(), np.float32)
    assert models.tolist() == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]
