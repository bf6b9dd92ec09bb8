"""Settings of silos for published tables: the server's plain steps, silos alone, the whole graph, an early end."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.serverapp.strategy import FedAvg

from ldpsim.curator.methods.federated.silos import SiloFedGCN, Silos
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.facts import IntArray
from ldpsim.devices.federated.members import Members
from ldpsim.devices.network import FloatArray
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.training_task import Task
from ldpsim.strategies.federated import EVERYBODY, ServerSteps
from ldpsim.strategies.outputs.result_view import setting_words
from ldpsim.strategies.rounds.checkpoint import CheckpointFile, TrainingState, run_rounds
from ldpsim.strategies.rounds.training_grid import TrainingGrid
from ldpsim.strategies.runs import simulate as simulation
from ldpsim.strategies.runs.errors import RunFailed
from ldpsim.strategies.setup.options import RunOptions
from tests.strategies.rounds.test_flower_rounds import START, TASK, Counting


def after_rounds(losses: list[float], patience: int, strategy: FedAvg | None = None, **more: Any) -> FloatArray:
    """Return the weights of rounds that each add 1; the losses are of the first weights, then after each round."""
    grid, left = TrainingGrid(Counting(), train=lambda number: [1]), iter(losses)
    state = more.pop("state", None) or TrainingState(START)
    return run_rounds(strategy or FedAvg(**EVERYBODY), grid, state, TASK, rounds=6, patience=patience,
                      loss=lambda weights: next(left), **more)  # fmt: skip


def test_the_weights_with_the_smallest_loss_are_kept_and_the_rounds_end_early() -> None:
    told: list[int] = []
    # The loss after round 4 is above the mean of rounds 2 and 3; the fifth round is not asked.
    found = after_rounds([5.0, 4.0, 2.0, 3.0, 2.6], 2, after=lambda number, weights: told.append(number))
    assert found.tolist() == [2.0, 2.0] and told == [0, 1, 2, 3, 4]
    # 2.4 is below that mean, though above the smallest loss.
    assert after_rounds([5.0, 4.0, 2.0, 3.0, 2.4, 1.0, 1.5], 2).tolist() == [5.0, 5.0]
    assert after_rounds([5.0, 4.0, 2.0, 3.0, 9.0, 9.5, 9.9], 0).tolist() == [2.0, 2.0]  # no early end


def test_a_killed_training_knows_its_losses(tmp_path: Path) -> None:
    def killed(number: int, weights: FloatArray) -> None:
        if number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        after_rounds([5.0, 4.0, 2.0, 3.0], 2, file=CheckpointFile(tmp_path, 0, ("a",)), after=killed)
    file = CheckpointFile(tmp_path, 0, ("a",))
    kept = file.load(2)
    assert kept is not None and kept.losses == [5.0, 4.0, 2.0, 3.0] and kept.done == 3
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


@pytest.mark.parametrize("optimiser", ["average", "none"])
def test_silos_without_a_training_person_are_one_line(optimiser: str, tmp_path: Path) -> None:
    """The one person whose label trains drops out with 80 % of the others; silos get records, and none can train."""
    settings = {"rounds": "2", "silos": "2", "partition": "random", "server_optimiser": optimiser}
    options = RunOptions(method="silo-fedavg-gcn", clients=60, label_rate=0.02, dropout=0.8, seed=0, settings=settings,
                         out=tmp_path, reference=False, nulls=False)  # fmt: skip
    with pytest.raises(RunFailed, match="no silo can train: no training person sent a record"):
        simulation.simulate(options)


def test_the_records_of_a_silo_are_its_owners_alone(tmp_path: Path) -> None:
    members_of(generate(40, seed=3), np.arange(6)).save(tmp_path / "silos" / "silo-1")
    file = tmp_path / "silos" / "silo-1" / "silo.npz"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, *file.parents[:2])] == [0o600, 0o700, 0o700]


def members_of(people: Population, chosen: IntArray) -> Members:
    """Return the members of a silo; every second one trains."""
    records = [people.record(int(person)) for person in chosen]
    features, friends = [r.feature_indices for r in records], [r.neighbours for r in records]
    ends = [np.concatenate([[0], np.cumsum([len(part) for part in parts])]) for parts in (features, friends)]
    return Members(chosen, ends[0], np.concatenate(features).astype(np.int64),
                   np.concatenate([r.feature_values for r in records]), ends[1],
                   np.concatenate(friends).astype(np.int64), people.labels[chosen],
                   np.arange(len(chosen)) % 2 == 0)  # fmt: skip


def test_the_steps_of_a_silos_graphsage_are_autograds() -> None:
    """Without dropout: the written-out gradient equals torch's of a GraphSAGE that is written with its own products."""
    import torch

    people = generate(40, seed=3)
    silo, d, c = members_of(people, np.arange(0, 40, 2)), people.facts.d, people.facts.classes
    assert 0 in silo.means().sum(axis=1) and 1 in silo.means().sum(axis=1)  # some without a neighbour in the silo
    task = Task("one", "own", d, 4, c, 0.5, 3, scaling="none", weight_decay=0.01, seed=1, network="sage")
    flat = task.shape.initial(2, np.float64)
    (found,) = silo.stack(task, None, training=True).trained(flat)
    inside = (people.edges % 2 == 0).all(axis=0)
    adjacency = np.zeros((20, 20))
    left, right = people.edges[:, inside] // 2
    adjacency[left, right] = adjacency[right, left] = 1
    means = torch.tensor(adjacency / np.maximum(adjacency.sum(axis=1, keepdims=True), 1))
    x = torch.tensor(silo.features(d).toarray(), dtype=torch.float64)
    labels, nodes = torch.tensor(silo.labels), np.flatnonzero(silo.training)

    def scores(own: Any) -> Any:
        left1, right1, b1, left2, right2, b2 = torch.split(own, [d * 4, d * 4, 4, 4 * c, 4 * c, c])
        hidden = torch.relu(means @ x @ left1.reshape(d, 4) + x @ right1.reshape(d, 4) + b1)
        return means @ hidden @ left2.reshape(4, c) + hidden @ right2.reshape(4, c) + b2

    own = torch.tensor(flat, requires_grad=True)
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(scores(own)[nodes], labels[nodes]) + 0.005 * (own**2).sum()
        (gradient,) = torch.autograd.grad(loss, own)
        own = (own - 0.5 * gradient).detach().requires_grad_()
    assert np.abs(found - own.detach().numpy()).max() < 1e-6
    (all_scores,) = silo.stack(task, None, training=False).scores(own.detach().numpy())
    assert np.abs(all_scores - scores(own).detach().numpy()).max() < 1e-6


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_the_steps_of_a_silos_attention_are_autograds_of_pygs(mu: float) -> None:
    """Without dropout: scores and steps equal those of PyG's GATConv with one head and the same weights."""
    import torch
    from torch.func import functional_call
    from torch_geometric.nn import GATConv

    people = generate(40, seed=3)
    silo, d, c = members_of(people, np.arange(0, 40, 2)), people.facts.d, people.facts.classes
    task = Task("one", "own", d, 4, c, 0.5, 3, scaling="none", weight_decay=0.01, seed=1, network="gat")
    flat = task.shape.initial(2, np.float64)
    flat += np.random.default_rng(5).normal(0, 0.2, flat.shape)  # biases that count
    x = torch.tensor(silo.features(d).toarray(), dtype=torch.float64)
    inside = people.edges[:, (people.edges % 2 == 0).all(axis=0)] // 2
    edges = torch.tensor(np.concatenate([inside, inside[::-1]], axis=1))
    labels, nodes = torch.tensor(silo.labels), np.flatnonzero(silo.training)
    layers = GATConv(d, 4).double(), GATConv(4, c).double()

    def scores(own: Any) -> Any:
        w1, b1, w2, b2, first, second = torch.split(own, [4 * d, 4, 4 * c, c, 8, 2 * c])

        def layer(number: int, values: Any, weight: Any, bias: Any, vectors: Any) -> Any:
            source, target = vectors.reshape(2, 1, 1, -1)
            named = {"lin.weight": weight.T, "bias": bias, "att_src": source, "att_dst": target}
            return functional_call(layers[number], named, (values, edges))

        hidden = torch.relu(layer(0, x, w1.reshape(d, 4), b1, first))
        return layer(1, hidden, w2.reshape(4, c), b2, second)

    start = own = torch.tensor(flat, requires_grad=True)
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(scores(own)[nodes], labels[nodes])
        loss = loss + 0.005 * (own**2).sum() + mu / 2 * ((own - start.detach()) ** 2).sum()
        (gradient,) = torch.autograd.grad(loss, own)
        own = (own - 0.5 * gradient).detach().requires_grad_()
    (found,) = silo.stack(task, None, training=True).trained(flat, mu=mu)
    assert np.abs(found - own.detach().numpy()).max() < 1e-6
    (all_scores,) = silo.stack(task, None, training=False).scores(own.detach().numpy())
    assert np.abs(all_scores - scores(own).detach().numpy()).max() < 1e-6


def test_a_network_on_one_silo_is_that_on_the_whole_graph(tmp_path: Path) -> None:
    one, whole = (run(tmp_path / on, silos="1", network="sage", scored_on=on) for on in ("silo", "graph"))
    gcn = run(tmp_path / "gcn", silos="1")
    assert one["accuracy"]["per_repeat"] == whole["accuracy"]["per_repeat"]
    gat, gat_whole = (run(tmp_path / f"gat-{on}", silos="1", network="gat", scored_on=on) for on in ("silo", "graph"))
    assert gat["accuracy"]["per_repeat"] == gat_whole["accuracy"]["per_repeat"]
    assert one["federated"]["bytes_between_silos_and_server"] > 1.9 * gcn["federated"]["bytes_between_silos_and_server"]


def test_dropout_of_attention_is_drawn_anew_by_every_step_and_round_from_the_seed() -> None:
    silo = members_of(generate(40, seed=3), np.arange(0, 40, 2))
    task = Task(
        "one", "own", int(silo.columns.max()) + 1, 4, 40, 0.5, 2, scaling="none", seed=1, network="gat", dropout=0.5
    )
    flat, stack = task.shape.initial(2), silo.stack(task, None, training=True)
    first, again, next_round = (np.array(list(stack.trained(flat, seed=(1, 0, number))))[0] for number in (1, 1, 2))
    assert (first == again).all() and (first != next_round).any() and first.dtype == flat.dtype
    plain = np.array(list(silo.stack(replace(task, dropout=0.0), None, training=True).trained(flat)))[0]
    assert (first != plain).any()


def test_the_bytes_of_a_gcns_task_have_no_network() -> None:
    task = Task("one", "own", 3, 2, 2, 0.5, 2, scaling="none", seed=1)
    assert b"network" not in task.to_bytes() and Task.from_bytes(task.to_bytes()) == task
    sage = replace(task, network="sage")
    assert Task.from_bytes(sage.to_bytes()) == sage and sage.shape.size == 2 * 3 * 2 + 2 + 2 * 2 * 2 + 2
    gat = replace(task, network="gat")
    assert Task.from_bytes(gat.to_bytes()) == gat and gat.shape.size == 3 * 2 + 2 + 2 * 2 + 2 + 2 * (2 + 2)
    for wrong in ({"network": "gin"}, {"seed": None}, {"sees": "sums"}):
        with pytest.raises(InvalidQuery):
            replace(sage, **wrong)
