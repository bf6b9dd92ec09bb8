"""Silos: who is in which, what they compute, what is exchanged.

Covers people/silos.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ldpsim.curator.linear.propagation import adjacency_matrix, gcn_matrix
from ldpsim.devices.data.population import Population
from ldpsim.devices.federated.exchange import read_sums
from ldpsim.devices.federated.local_steps import Stack
from ldpsim.devices.federated.members import Members
from ldpsim.devices.federated.wire import record_of
from ldpsim.devices.training_task import Task
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.runs.set_up import set_up


def test_a_silos_steps_are_autograds(population: Population) -> None:
    """No dropout: the written-out gradient of the GCN equals torch's, weight decay and FedProx's term included."""
    import torch

    members = np.arange(0, 40, 2)
    silo, d, c = _silo(population, members), population.facts.d, population.facts.classes
    task = Task("one", "own", d, 4, c, 0.5, 3, weight_decay=0.01, seed=1)
    flat = task.shape.initial(2, np.float64)
    spread, features = silo.inside(), silo.features(d)
    (found,) = Stack([silo.inputs(task, None, training=True)], task).train(flat, mu=0.3)
    own = torch.tensor(flat, requires_grad=True)
    s, x = torch.tensor(spread.toarray(), dtype=torch.float64), torch.tensor(features.toarray(), dtype=torch.float64)
    labels, nodes = torch.tensor(silo.labels), np.flatnonzero(silo.training)
    for _ in range(3):
        w1, b1, w2, b2 = torch.split(own, [d * 4, 4, 4 * c, c])
        scores = s @ torch.relu(s @ x @ w1.reshape(d, 4) + b1) @ w2.reshape(4, c) + b2
        loss = torch.nn.functional.cross_entropy(scores[nodes], labels[nodes])
        loss = loss + 0.005 * (own**2).sum() + 0.15 * ((own - torch.tensor(flat)) ** 2).sum()
        (gradient,) = torch.autograd.grad(loss, own)
        own = (own - 0.5 * gradient).detach().requires_grad_()
    assert np.abs(found - own.detach().numpy()).max() < 1e-6


def _silo(population: Population, members: np.ndarray) -> Members:
    records = [population.record(int(person)) for person in members]
    ends = [np.concatenate([[0], np.cumsum([len(part) for part in parts])]) for parts in (
        [r.feature_indices for r in records], [r.neighbours for r in records])]  # fmt: skip
    return Members(
        members, ends[0], np.concatenate([r.feature_indices for r in records]).astype(np.int64),
        np.concatenate([r.feature_values for r in records]), ends[1],
        np.concatenate([r.neighbours for r in records]).astype(np.int64), population.labels[members],
        np.arange(len(members)) % 2 == 0,
    )  # fmt: skip


def test_a_silo_sees_no_edge_to_another_silo(population: Population) -> None:
    members = np.arange(10)
    inside = population.edges[:, (population.edges < 10).all(axis=0)]
    expected = gcn_matrix(adjacency_matrix(10, np.concatenate([inside, inside[::-1]], axis=1)))
    assert np.abs(_silo(population, members).inside().toarray() - expected.toarray()).max() < 1e-6


def test_after_fedgcns_exchange_silos_have_the_whole_graphs_rows(population: Population, tmp_path: Path) -> None:
    options = RunOptions(dataset="generated", method="silo-fedgcn", clients=40, out=tmp_path, reference=False,
                         nulls=False, split="random", settings={"rounds": "2", "silos": "4"},
                         seeds={"population": 3})  # fmt: skip
    record = simulate(options)
    people = _people(options)
    both = np.concatenate([people.edges, people.edges[::-1]], axis=1)
    spread = gcn_matrix(adjacency_matrix(40, both))
    from ldpsim.strategies.people.owner_graphs import sparse_features

    whole = (spread @ sparse_features(people)).toarray()
    for number in range(4):
        room = record.folder / "silos" / f"silo-{number}"
        task = Task("one", "sums", people.facts.d, 4, people.facts.classes, 0.5, 3, seed=1)
        with np.load(next(room.glob(f"*/{number}.npz"))) as kept:
            sums = read_sums(record_of(**kept), task)
        rows, ids, degrees = sums.rows.matrix(task.d), sums.more["ids"], sums.more["degrees"]
        assert np.abs(rows.toarray() - whole[ids]).max() < 1e-6 and np.array_equal(degrees, people.degrees[ids])
        silo = Members.load(room)
        full = np.zeros((len(silo.members), 40), np.float32)
        full[:, ids] = silo.outside(ids, degrees).toarray()
        assert np.abs(full - spread[silo.members].toarray()).max() < 1e-6
    phases = record.record["communication"]["by_phase"]
    assert {name: phase["rounds"] for name, phase in phases.items()} == {
        "handover": 1, "contribution": 1, "sums": 1, "training": 2,
    }  # fmt: skip
    assert record.record["devices"]["reported"] == 40 and record.record["privacy"]["trust"] == "trusted curator"
    assert record.record["privacy"]["lifetime_per_device"]["user"]["max"] is None


def _people(options: RunOptions) -> Population:
    from ldpsim.strategies.setup.run_setup import load_population

    return load_population(options)


def test_silos_learn_from_training_people_alone(tmp_path: Path) -> None:
    options = RunOptions(method="silo-fedavg-gcn", clients=40, out=tmp_path, reference=False,
                         settings={"rounds": "1", "silos": "3"})  # fmt: skip
    folder = simulate(options).folder
    silos = [Members.load(folder / "silos" / f"silo-{number}") for number in range(3)]
    learners = np.concatenate([silo.members[silo.training] for silo in silos])
    setup = set_up(options)
    assert np.array_equal(np.sort(learners), setup.repeats[0].split.train)
    everybody = np.concatenate([silo.members for silo in silos])
    assert np.array_equal(np.sort(everybody), np.arange(40))
