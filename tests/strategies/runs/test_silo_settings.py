"""Settings of silos for published tables: the server's plain steps, silos alone, the whole graph, an early end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.serverapp.strategy import FedAvg

from ldpsim.curator.methods.federated.silos import SiloFedGCN, Silos
from ldpsim.devices.network import FloatArray
from ldpsim.strategies.federated import EVERYBODY, ServerSteps
from ldpsim.strategies.outputs.result_view import setting_words
from ldpsim.strategies.rounds.checkpoint import CheckpointFile, TrainingState, run_rounds
from ldpsim.strategies.rounds.training_grid import TrainingGrid
from ldpsim.strategies.runs import simulate as simulation
from ldpsim.strategies.setup.options import RunOptions
from tests.strategies.rounds.test_flower_rounds import START, TASK, Counting


def after_rounds(losses: list[float], patience: int, strategy: FedAvg | None = None, **more: Any) -> FloatArray:
    """Return the weights of rounds that each add 1 to what the server sent, judged by the losses in turn."""
    grid, left = TrainingGrid(Counting(), train=lambda number: [1]), iter(losses)
    state = more.pop("state", None) or TrainingState(START)
    return run_rounds(strategy or FedAvg(**EVERYBODY), grid, state, TASK, rounds=6, patience=patience,
                      loss=lambda weights: next(left), **more)  # fmt: skip


def test_the_weights_with_the_smallest_loss_are_kept_and_the_rounds_end_early() -> None:
    told: list[int] = []
    # The loss after round 4 is above the mean of rounds 2 and 3; the fifth round is not asked.
    found = after_rounds([4.0, 2.0, 3.0, 2.6], 2, after=lambda number, weights: told.append(number))
    assert found.tolist() == [2.0, 2.0] and told == [0, 1, 2, 3, 4]
    # 2.4 is below that mean, though above the smallest loss.
    assert after_rounds([4.0, 2.0, 3.0, 2.4, 1.0, 1.5], 2).tolist() == [5.0, 5.0]
    assert after_rounds([4.0, 2.0, 3.0, 9.0, 9.5, 9.9], 0).tolist() == [2.0, 2.0]  # no early end


def test_a_killed_training_knows_its_losses(tmp_path: Path) -> None:
    def killed(number: int, weights: FloatArray) -> None:
        if number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        after_rounds([4.0, 2.0, 3.0], 2, file=CheckpointFile(tmp_path, 0, ("a",)), after=killed)
    file = CheckpointFile(tmp_path, 0, ("a",))
    kept = file.load(2)
    assert kept is not None and kept.losses == [4.0, 2.0, 3.0] and kept.done == 3
    assert after_rounds([2.6], 2, file=file, state=kept).tolist() == [2.0, 2.0]  # a round more, then the early end
    ended = file.load(2)
    assert ended is not None and after_rounds([], 2, file=file, state=ended).tolist() == [2.0, 2.0]  # no round more


def test_the_servers_step_is_a_part_of_the_way_to_the_mean() -> None:
    sent: list[float] = []
    strategy, grid = ServerSteps(**EVERYBODY, server_learning_rate=0.25), TrainingGrid(Counting(), train=lambda _: [1])
    run_rounds(strategy, grid, TrainingState(START), TASK, rounds=3, after=lambda _, own: sent.append(float(own[0])))
    assert sent == [0.0, 0.25, 0.5, 0.75]


def run(folder: Path, **settings: str) -> dict[str, Any]:
    options = RunOptions(method="silo-fedavg-gcn", clients=60, out=folder, reference=False, nulls=False, settings={
        "rounds": "8", "silos": "2", "partition": "random", "hidden": "4", **settings})  # fmt: skip
    return dict(simulation.simulate(options).record)


def test_one_silo_on_its_graph_is_one_silo_on_the_whole_graph(tmp_path: Path) -> None:
    one = run(tmp_path / "a", silos="1")
    whole = run(tmp_path / "b", silos="1", scored_on="graph")
    alone = run(tmp_path / "c", silos="1", server_optimiser="none")
    both = run(tmp_path / "d", silos="1", server_optimiser="none", scored_on="graph")
    assert len({str(record["accuracy"]["per_repeat"]) for record in (one, whole, alone, both)}) == 1
    assert one["federated"]["edges_inside"] == 1.0
    assert (
        one["federated"]["bytes_between_silos_and_server"] > 0 == alone["federated"]["bytes_between_silos_and_server"]
    )


def test_silos_alone_are_not_silos_together(tmp_path: Path) -> None:
    """Silos alone send nothing after the handover, and the result is a mean where each has a model of everybody."""
    together, alone = run(tmp_path / "a"), run(tmp_path / "b", server_optimiser="none")
    graph = run(tmp_path / "c", server_optimiser="none", scored_on="graph", patience="2")
    assert set(alone["communication"]["by_phase"]) == {"handover"}
    assert setting_words(alone) == "60 people, 2 silos with their members' records, each trains alone"
    assert set(together["communication"]["by_phase"]) == {"handover", "training"}
    for record in (alone, graph):
        assert 0 < record["accuracy"]["test"] <= 1 and record["accuracy"]["val"] is not None
    assert np.isfinite(graph["accuracy"]["macro_f1"])


def test_settings_that_have_no_meaning_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="server_optimiser=none: must be one of average, adam, sgd"):
        SiloFedGCN(server_optimiser="none")
    with pytest.raises(ValueError, match="partition=ring: must be one of dirichlet, metis, random, louvain"):
        Silos(partition="ring")
    with pytest.raises(ValueError, match="patience=3 has no effect: it is read beside scored_on=graph alone"):
        run(tmp_path, patience="3")
